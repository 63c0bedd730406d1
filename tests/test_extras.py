"""What is said about a missing package helps, whichever way rmgl was installed."""

import ast

import pytest

from rmgl.extras import not_installed
from tests.declared import EXTRAS, ROOT, extras_of_demo, packages

SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "examples").glob("*")),
]


@pytest.mark.parametrize(
    "path",
    [path for path in [*SOURCES, *PAGES] if path.is_file()],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_command_installs_extras_of_a_package_that_is_not_published(path):
    assert "rmgl[" not in path.read_text(encoding="utf-8")


def named_packages():
    """The packages that calls of `not_installed` name, where the name is in the call."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "not_installed"
                and isinstance(node.args[1], ast.Constant)
            ):
                yield node.args[1].value


def test_what_is_said_to_be_installed_is_declared():
    declared = {requirement.split(">=")[0] for extra in EXTRAS.values() for requirement in extra}
    named = set(named_packages())
    assert named >= {
        "networkx",
        "matplotlib",
        "bokeh",
        "pynndescent",
        "pyarrow",
        "openpyxl",
        "scikit-image",
        "pooch",
        "distributed",
    }
    assert named - declared == {"zarr"}  # read where it is there, and never needed otherwise


def test_the_sentence():
    assert (
        not_installed("graphs need", "networkx")
        == "graphs need networkx, which is not installed: pip install networkx"
    )
    assert (
        not_installed("it needs", "a", "'a[b]' c")
        == "it needs a, which is not installed: pip install 'a[b]' c"
    )


def test_the_readme_and_the_makefile_install_the_same():
    assert f"pip install '.[{','.join(extras_of_demo())}]'" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )


def test_the_packages_of_extras():
    assert packages("images") == {"skimage", "pooch"}
    assert packages("docs") > packages("dask") == {"dask", "distributed"}
