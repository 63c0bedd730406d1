"""Count the files and functions that a fit passes through: how much code a reader has to know.

    python scripts/files_of_a_fit.py            # two dense views with the defaults
    python scripts/files_of_a_fit.py --list     # also print their names

Compiled loops are counted as the functions that Python calls.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import rmgl

HOME = Path(rmgl.__file__).parent


def passed_through(model: rmgl.RMGL, views: Any) -> set[tuple[str, str]]:
    """Return the file and the name of every Python function in the package that a fit calls, in one
    thread.
    """
    found = set()

    def watch(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(HOME):
            found.add((str(path.relative_to(HOME)), frame.f_code.co_qualname))

    sys.setprofile(watch)
    try:
        model.fit(views)
    finally:
        sys.setprofile(None)
    return {
        (file, name)
        for file, name in found
        if not name.endswith(("<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"))
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Count the files and functions that a fit passes through."
    )
    parser.add_argument("--list", action="store_true", help="Also print their names.")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    centers = np.repeat(np.eye(3), 100, axis=0) * 6
    views = [centers + rng.normal(size=(300, 3)) for _ in range(2)]
    # anything loaded or compiled on first use is not counted
    rmgl.RMGL(3, random_state=0).fit(views)
    found = passed_through(rmgl.RMGL(3, random_state=0, n_jobs=1), views)
    if arguments.list:
        print("\n".join(f"{file}: {name}" for file, name in sorted(found)))
    print(f"{len({file for file, _ in found})} files, {len(found)} functions")


if __name__ == "__main__":
    main()
