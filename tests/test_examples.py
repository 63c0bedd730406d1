"""Every script in `examples/` runs in its quick form, draws its figure and stays short."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.declared import missing_with
from tests.processes import HANGING

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS = {"multi_omics": ("mudata", "anndata"), "dask_workers": ("distributed",)}
BLOCKED = "raise ImportError('this package is not in the environment that builds the site')"
MOST_STATEMENTS = 65
"""The longest example had as many when 79 lines of 140 columns were the limit."""
pytestmark = pytest.mark.extended


def run(path, output, **environment):
    """The script in a process of its own, with one thread for each library: others may run beside
    it.
    """
    quiet = {
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    command = [sys.executable, str(path), "--quick", "--output", str(output)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | quiet | environment,
        timeout=HANGING,
    )


def with_blocked(folder, packages):
    """A search path on which these packages cannot be imported."""
    folder.mkdir()
    for package in packages:
        (folder / f"{package}.py").write_text(BLOCKED)
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_there_are_examples():
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path, tmp_path):
    for package in ("matplotlib", *NEEDS.get(path.stem, ())):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{path.name} needs {package}, which is not installed")
    done = run(
        path,
        tmp_path / "new" / "folder",
        PYTHONPATH=with_blocked(tmp_path / "blocked", missing_with("docs")),
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    picture = tmp_path / "new" / "folder" / f"{path.stem}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in picture.parent.iterdir()] == [picture.name]
    assert done.stdout.splitlines()[-1] == f"Figure: {picture}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_listed(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""')
    n_statements = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))
    assert n_statements <= MOST_STATEMENTS
    assert f"({path.name})" in (path.parent / "README.md").read_text(encoding="utf-8")


def test_multi_omics_says_what_it_needs(tmp_path):
    """Without MuData it ends with advice, not with a traceback."""
    done = run(
        EXAMPLES[0].parent / "multi_omics.py",
        tmp_path,
        PYTHONPATH=with_blocked(tmp_path / "blocked", ["mudata"]),
    )
    assert "pip install mudata" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
