"""The optional packages that pyproject.toml declares, and what is missing in an environment with
some extras only.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
FOR_DEVELOPERS = {"test", "bench", "dev", "docs", "release"}
IMPORTED_AS = {"scikit-image": "skimage"}


def packages(extra):
    """The names by which the packages of an extra, and of those in it, are imported."""
    found = set()
    for requirement in EXTRAS[extra]:
        name, inner = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if name == "rmgl":
            found |= {package for own in inner.split(",") for package in packages(own)}
        else:
            found.add(IMPORTED_AS.get(name, name))
    return found


def missing_with(*extras):
    """The optional packages that an environment with these extras does not have."""
    optional = {package for extra in EXTRAS.keys() - FOR_DEVELOPERS for package in packages(extra)}
    return sorted(optional - {package for extra in extras for package in packages(extra)})


def extras_of_demo():
    """The extras that `make demo` installs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return re.search(r"^demo: \.venv/installed-(\S+)$", makefile, re.MULTILINE)[1].split(",")
