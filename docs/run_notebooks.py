"""The notebooks of `examples/notebooks` with their outputs, and the picture of each in the gallery.

The repository has them without outputs. The build runs those that have changed, and keeps the
result in `docs/built/notebooks`.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"
BUILT = Path(__file__).parent / "built" / "notebooks"
INLINE = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
"""Pictures are outputs of their cells; scripts of the gallery have another backend."""
SHOWN = "thumbnail"
"""The tag of the cell whose picture is in the gallery."""


def run_notebooks(app: object) -> None:
    """Run every notebook that is newer than its result."""
    BUILT.mkdir(parents=True, exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        built = BUILT / path.name
        if not built.exists() or built.stat().st_mtime < path.stat().st_mtime:
            notebook = nbformat.read(path, as_version=4)
            NotebookClient(notebook, timeout=None).execute(env=os.environ | INLINE)
            built.with_suffix(".png").write_bytes(thumbnail(notebook))
            nbformat.write(notebook, built)


def thumbnail(notebook: nbformat.NotebookNode) -> bytes:
    """The first picture of the tagged cell, as a PNG file."""
    pictures = [
        output["data"]["image/png"]
        for cell in notebook.cells
        if SHOWN in cell.metadata.get("tags", [])
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    return base64.b64decode(pictures[0])
