"""The site: the order of its gallery, its pictures, and the formulas that it typesets."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
MARKUP = re.compile(r"\\(text|begin|end|operatorname)\{[^}]*\}|\\[a-zA-Z]+")
MOST_BYTES = 60_000
"""A picture of a card is loaded with the first page that people see."""


@pytest.fixture
def site(monkeypatch):
    """Import a module of the folder `docs`."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield importlib.import_module
    for name in ("gallery_scripts", "formulas"):
        sys.modules.pop(name, None)


def test_the_gallery_has_a_place_for_every_script(site):
    gallery = site("gallery_scripts")
    scripts = {
        path.stem
        for folder in ("examples", "docs/explained")
        for path in (ROOT / folder).glob("*.py")
    }
    assert sorted(gallery.LESSONS) == sorted(scripts)
    assert sorted(scripts, key=gallery.lesson)[0] == "quick_start"
    assert gallery.lesson("dask_workers.py") == max(
        gallery.lesson(path.name) for path in (ROOT / "examples").glob("*.py")
    )
    assert set(gallery.PANEL) | set(gallery.LARGER) | set(gallery.WHOLE) <= scripts


def test_notebooks_come_below_scripts(site, monkeypatch, tmp_path):
    gallery = site("gallery_scripts")
    monkeypatch.setattr(gallery, "BUILT", tmp_path)
    header = (ROOT / "examples" / "GALLERY_HEADER.txt").read_text(encoding="utf-8")
    (tmp_path / "gallery").mkdir()
    index = tmp_path / "gallery" / "index.rst"
    index.write_text(header + "\nthe scripts\n", encoding="utf-8")
    for _ in range(2):  # once more changes nothing
        gallery.finish_gallery(None)
        text = index.read_text(encoding="utf-8")
        assert text.index("Scripts\n") < text.index("the scripts") < text.index("Notebooks\n")
        assert text.startswith("Gallery\n")


@pytest.mark.parametrize("name", ["patients", "cells", "documents", "images", "networks"])
def test_a_card_has_a_small_picture_on_the_landing_page(name):
    path = IMAGES / f"card_{name}.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size < MOST_BYTES
    assert f"images/{path.name}" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("minimize  alpha_m ||L_m||_F^2", r"\text{minimize} \quad & \alpha_{m} \|L_{m}\|_F^{2}"),
        ("subject to  Q'Q = I_K", r"\text{subject to} \quad & Q^\top Q = I_{K}"),
        ("maximize  (K + epsilon I)^-1", r"\text{maximize} \quad & (K + \epsilon I)^{-1}"),
        ("minimize  ridge/2 tr(L)", r"& \tfrac{\text{ ridge}\ }{2} \operatorname{tr}(L)"),
        (
            "subject to  L a graph Laplacian, sum(w) = N",
            r"& L \text{ a graph Laplacian}, \quad \sum w = N",
        ),
    ],
)
def test_a_problem_is_typeset(site, text, latex):
    assert latex in site("formulas").as_latex([text])


def test_constraints_stand_below_what_is_minimized(site):
    formulas = site("formulas")
    one, two = (
        formulas.as_latex(lines)
        for lines in (["minimize  x   subject to  y"], ["minimize  x", "subject to  y"])
    )
    assert one == two
    assert one.count(r"\\") == 1


def test_every_name_in_a_problem_of_a_docstring_is_typeset(site):
    """A word of several letters would be set as a product of variables."""
    formulas = site("formulas")
    found = 0
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            lines = (ast.get_docstring(node) or "").splitlines()
            for place, line in enumerate(lines):
                if line.startswith("    ") and formulas.is_problem(line):
                    end = next(
                        i
                        for i in range(place, len(lines) + 1)
                        if i == len(lines) or not lines[i].strip()
                    )
                    latex = formulas.as_latex(lines[place:end])
                    assert re.findall(r"[a-z]{2,}", MARKUP.sub(" ", latex)) == [], path
                    found += 1
    assert found >= 6
