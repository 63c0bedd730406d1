"""Data flows one way: the import contract of pyproject.toml holds, and covers every package."""

import tomllib
from pathlib import Path

import pytest

import rmgl

ROOT = Path(__file__).parents[1]


def contract():
    (found,) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    return found


def test_every_package_has_a_place_in_the_contract():
    listed = {name for layer in contract()["layers"] for name in layer.replace("|", " ").split()}
    source = Path(rmgl.__file__).parent
    modules = {path.stem for path in source.glob("*.py")} | {
        path.parent.name for path in source.glob("*/__init__.py")
    }
    assert listed == modules - {"__init__"}
    assert contract()["exhaustive"]


def test_a_package_imports_only_packages_below_it():
    grimp = pytest.importorskip(
        "grimp", reason="comes with import-linter: pip install import-linter"
    )
    graph = grimp.build_graph("rmgl", cache_dir=None)
    order = {
        name: place
        for place, layer in enumerate(contract()["layers"])
        for name in layer.replace("|", " ").split()
    }
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            ours, theirs = (name.split(".")[1:2] for name in (module, imported))
            if ours and theirs and ours != theirs:
                assert order[ours[0]] < order[theirs[0]], f"{module} imports {imported}"
