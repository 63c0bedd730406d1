"""The notebooks in `examples/notebooks` with their outputs, and their thumbnails in the gallery.

The repository stores notebooks without outputs. The build runs those that have changed and keeps
the results in `docs/built/notebooks`.
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
"""Figures are cell outputs here; scripts in the gallery use a different backend."""
SHOWN = "thumbnail"
"""The tag of the cell whose figure is the thumbnail in the gallery."""


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
    """Return the first figure of the tagged cell as a PNG file."""
    pictures = [
        output["data"]["image/png"]
        for cell in notebook.cells
        if SHOWN in cell.metadata.get("tags", [])
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    return base64.b64decode(pictures[0])
