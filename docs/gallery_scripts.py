"""The scripts in the gallery: their order, command line and thumbnails.

A thumbnail shows one panel of the script's figure, drawn at the size of a card, so that its text is
legible.
"""

from __future__ import annotations

import builtins
import shutil
from pathlib import Path
from typing import Any

BUILT = Path(__file__).parent / "built"
LESSONS = (
    "quick_start",
    "which_view_matters",
    "heat_map",
    "survival_curves",
    "new_samples",
    "incomplete_views",
    "choosing_k",
    "why_this_number",
    "silhouettes",
    "found_together",
    "two_answers",
    "multi_omics",
    "given_graphs",
    "million_nodes",
    "dask_workers",
    "the_model",
    "how_it_works",
)
"""The scripts, in the order in which readers should see them."""
WHOLE = {"heat_map"}
"""Scripts whose thumbnail shows all panels of the figure."""
PANEL = {"given_graphs": 3}
"""The panel in a thumbnail, if it is not the first one."""
CARD_INCHES = (4.4, 3.2)
LARGER = {"heat_map": 1.5, "new_samples": 1.3, "choosing_k": 1.2}
"""Factors that enlarge panels with a lot of text."""


def lesson(file_name: str) -> int:
    """Return the position of a script in the gallery."""
    return LESSONS.index(Path(file_name).stem)


def arguments(gallery: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """Return the arguments of a script: its quick form, and a folder for its figure."""
    path = Path(script["src_file"])
    builtins.__file__ = str(path)  # type: ignore[attr-defined]  # scripts use it, but sphinx-gallery does not define it
    return (
        ["--quick", "--output", str(BUILT / "pictures")] if path.parent.name == "examples" else []
    )


def scrape(block: Any, script: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Save the figures from a block of code, and draw the thumbnail from the first one."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    figures = [plt.figure(number) for number in plt.get_fignums()]
    text: str = matplotlib_scraper(block, script, gallery)
    stem = Path(script["src_file"]).stem
    if figures:
        draw_thumbnail(figures[0], stem)
    return text


def draw_thumbnail(figure: Any, stem: str) -> None:
    """Draw one panel of a figure at the size of a card, without a title: cards have their own."""
    from matplotlib.gridspec import GridSpec

    if stem not in WHOLE:
        kept = figure.axes[PANEL.get(stem, 0)]
        for ax in figure.axes:
            if ax is not kept:
                ax.remove()
        kept.set_title("")
        kept.set_subplotspec(GridSpec(1, 1, figure=figure)[0])
    figure.suptitle("")
    larger = LARGER.get(stem, 1.0)
    figure.set_size_inches([larger * inches for inches in CARD_INCHES])
    (BUILT / "thumbnails").mkdir(parents=True, exist_ok=True)
    figure.savefig(BUILT / "thumbnails" / f"{stem}.png", dpi=130 / larger, bbox_inches="tight")


def finish_gallery(app: object) -> None:
    """Replace the images that sphinx-gallery has scaled down with the thumbnails, and move the
    notebooks below the scripts.
    """
    for path in (BUILT / "thumbnails").glob("*.png"):
        for gallery in ("gallery", "explained"):
            thumbnail = BUILT / gallery / "images" / "thumb" / f"sphx_glr_{path.stem}_thumb.png"
            if thumbnail.exists():
                shutil.copy(path, thumbnail)
    index = BUILT / "gallery" / "index.rst"
    text = index.read_text(encoding="utf-8")
    before, begin, rest = text.partition(".. notebooks-begin\n")
    notebooks, end, after = rest.partition(".. notebooks-end\n")
    if begin and end:
        index.write_text(f"{before}{after.rstrip()}\n\n{notebooks}", encoding="utf-8")
