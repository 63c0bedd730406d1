"""Take a screenshot of a report page for the README: `python scripts/picture_of_page.py
demo/report.html docs/images/report.png`.

Needs Chromium (`apt-get install chromium`) and playwright. `make pictures` runs this script.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", type=Path, help="the HTML file")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--width", type=int, default=1280, help="width of the window in pixels")
    parser.add_argument(
        "--height",
        type=int,
        default=900,
        help="height of the screenshot in pixels; 0 for the whole page",
    )
    args = parser.parse_args()
    browser_path = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if browser_path is None:
        sys.exit("no browser was found: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": args.width, "height": args.height or 900})
        page.goto(args.page.resolve().as_uri())
        page.wait_for_timeout(5000)  # until Bokeh has drawn
        args.picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=args.picture, full_page=args.height == 0)
        browser.close()
    print(f"Screenshot: {args.picture}")


if __name__ == "__main__":
    main()
