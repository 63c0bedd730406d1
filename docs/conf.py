"""The documentation site: `make docs` builds it into docs/_build/html.

Pages are Markdown files that can also be read on their own. Scripts become pages with their output
and figures: the scripts in `examples` are the gallery, and those in `docs/explained` explain the
model and the method. Notebooks in `examples/notebooks` also run (`run_notebooks.py`). The build
writes its files to `docs/built`, which is not committed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

# on a busy machine, threads that wait for one another take many times longer
for library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))

import click  # noqa: E402
from docstrings import prepare_docstring  # noqa: E402
from gallery_scripts import finish_gallery  # noqa: E402
from run_notebooks import run_notebooks  # noqa: E402

import rmgl  # noqa: E402
from rmgl.command_line.cli import cli  # noqa: E402

project = "rmgl"
author = copyright = "the rmgl developers"
version = release = rmgl.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "myst_nb",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "built/**/*.py",
    "built/gallery/*.ipynb",  # for download
    "built/explained/*.ipynb",
    "explained",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
templates_path = ["_templates"]
default_role = "literal"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
nb_execution_mode = "off"  # run_notebooks.py has run them
nb_merge_streams = True
OUTSIDE = {
    "../CHANGELOG.md": "changelog.md",
    "../SECURITY.md": "security.md",
    "../ARCHITECTURE.md": "architecture.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "../benchmarks/README.md": "https://github.com/rmgl/rmgl/blob/main/benchmarks/README.md",
    "../examples/README.md": "built/gallery/index.rst",
}
"""Links to files outside `docs`, and what they become on the site."""

INCLUDE = re.compile(r"```\{include\} \.\./(?P<file>\w+\.md)\n```\n")
COMMANDS = "```{commands}\n```"

autodoc_typehints = "none"
autosummary_generate = True
autosummary_imported_members = False
numpydoc_show_class_members = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"rmgl {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "built/gallery/index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {
    page: [] for page in ("index", "install", "tutorial", "findings", "comparison")
}  # pages without a sidebar: the text takes the full width
html_context = {"default_mode": "auto"}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "explained"],
    "gallery_dirs": ["built/gallery", "built/explained"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__",
    "reset_argv": "gallery_scripts.arguments",
    "within_subsection_order": "gallery_scripts.lesson",
    "image_scrapers": "gallery_scripts.scrape",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "default_thumb_file": str(ROOT / "docs" / "images" / "embedding.png"),
}


def link_inside(app: object, docname: str, source: list[str]) -> None:
    """Insert files from outside `docs`, and replace links to them with links to their pages."""
    included = INCLUDE.fullmatch(source[0])
    if included is not None:
        text = (ROOT / included["file"]).read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\((?!https?:|#|docs/)", "](../", text).replace("](docs/", "](")
    for outside, inside in OUTSIDE.items():
        source[0] = source[0].replace(f"]({outside})", f"]({inside})")
    if COMMANDS in source[0]:
        source[0] = source[0].replace(COMMANDS, "\n\n".join(map(help_text, cli.commands)))


def help_text(command: str) -> str:
    """Return the help text of a command as a section."""
    context = click.Context(
        cli.commands[command],
        info_name=f"rmgl {command}",
        terminal_width=100,
        max_content_width=100,
    )
    context.show_default = True
    return f"## rmgl {command}\n\n```text\n{cli.commands[command].get_help(context)}\n```"


def setup(app: object) -> None:
    app.connect("builder-inited", run_notebooks)
    app.connect("builder-inited", finish_gallery, priority=600)  # after sphinx-gallery
    app.connect("source-read", link_inside)
    app.connect("autodoc-process-docstring", prepare_docstring, priority=100)
