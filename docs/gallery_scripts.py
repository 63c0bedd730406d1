"""The command line of each script of the gallery: its quick form, and a folder for its picture."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any


def arguments(gallery: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """Return the arguments of a script."""
    path = Path(script["src_file"])
    builtins.__file__ = str(path)  # type: ignore[attr-defined]  # which scripts ask for, and sphinx-gallery does not define
    return (
        ["--quick", "--output", str(Path(__file__).parent / "built" / "pictures")]
        if path.parent.name == "examples"
        else []
    )
