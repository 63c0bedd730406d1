"""Data flows one way: the import contracts of pyproject.toml hold, and cover every module."""

import tomllib
from pathlib import Path

import pytest

import rmgl

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]


def container(contract):
    (found,) = contract["containers"]
    return found


def places(contract):
    """The layer of every module of a contract, counted from the top."""
    return {
        name: place
        for place, layer in enumerate(contract["layers"])
        for name in layer.replace("|", " ").split()
    }


@pytest.mark.parametrize("contract", CONTRACTS, ids=container)
def test_every_module_has_a_place_in_the_contract(contract):
    folder = Path(rmgl.__file__).parent.joinpath(*container(contract).split(".")[1:])
    modules = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    assert places(contract).keys() == modules - {"__init__"}
    assert contract["exhaustive"]


@pytest.mark.parametrize("contract", CONTRACTS, ids=container)
def test_a_module_imports_only_modules_below_it(contract):
    grimp = pytest.importorskip(
        "grimp", reason="comes with import-linter: pip install import-linter"
    )
    graph = grimp.build_graph("rmgl", cache_dir=None)
    order, inside = places(contract), f"{container(contract)}."
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if module.startswith(inside) and imported.startswith(inside):
                ours, theirs = (name[len(inside) :].split(".")[0] for name in (module, imported))
                assert ours == theirs or order[ours] < order[theirs], f"{module} imports {imported}"
