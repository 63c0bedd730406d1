"""Check that every internal link of a built site leads somewhere: `python scripts/check_links.py
docs/_build/html`.

Looks at every href and src in every HTML file: the file must exist and, if the link names an
anchor, contain an element with that id. Links to other sites are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and anchors in one file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")


def pages_of(site: Path) -> list[Path]:
    """Return all HTML files except the templates that a theme leaves among its static files."""
    return sorted(
        path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts
    )


def dead_links(site: Path) -> list[str]:
    """Return one sentence for each link that leads nowhere."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in pages_of(site)}
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{path.relative_to(site.resolve())}: {link} does not exist")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                found.append(f"{path.relative_to(site.resolve())}: {link} has no such anchor")
    return found


def main() -> None:
    site = Path(sys.argv[1])
    n_pages, found = len(pages_of(site)), dead_links(site)
    for sentence in found:
        print(sentence)
    print(f"{n_pages} pages, {len(found)} dead internal links")
    sys.exit(1 if found or not n_pages else 0)


if __name__ == "__main__":
    main()
