"""What is quick to answer is answered before a numerical library is loaded. That, and no timing, is
what is asserted here.
"""

import subprocess
import sys
import textwrap

import pytest

from rmgl import RMGL
from rmgl.command_line import options
from rmgl.command_line.cli import cluster
from rmgl.layer.certified import SOLVERS
from rmgl.views.scaling import SCALES

PROGRAM = """
    import sys
    import rmgl

    code = None
    if sys.argv[1:]:
        from rmgl.__main__ import main

        try:
            main(sys.argv[1:])
        except SystemExit as stop:
            code = stop.code
    heavy = {"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "tqdm"}
    print(code, sorted(heavy & set(sys.modules)))
"""


QUICK = {
    "": (None, ""),
    "--help": (0, ""),
    "--version": (0, ""),
    "cluster --help": (0, ""),
    "doctor --help": (0, ""),
    "cluster nosuch.csv -k 3": (2, "rmgl: Missing option '-o' / '--output'."),
    "cluster nosuch.csv -k 3 -o out": (2, "rmgl: nosuch.csv: no such file"),
    "predict nosuch.rmgl nosuch.csv -o out.csv": (2, "rmgl: nosuch.rmgl: no such file"),
    "demo -o nowhere/out": (
        2,
        "rmgl: nowhere/out: its parent folder does not exist: create it first",
    ),
}
"""Arguments of the command (none: `import rmgl` alone), its exit code, and what it prints on
standard error.
"""


@pytest.mark.parametrize("arguments", QUICK)
def test_no_numerical_library_is_loaded_for_a_quick_answer(arguments, tmp_path):
    code, told = QUICK[arguments]
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), *arguments.split()]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert found.stdout.splitlines()[-1] == f"{code} []"
    assert found.stderr.strip() == told


def test_the_choices_of_the_command_are_those_of_the_estimator():
    assert set(options.SOLVERS) == set(SOLVERS)
    assert set(options.SCALES) == {"auto", *SCALES}


def test_the_defaults_of_the_command_are_those_of_the_estimator():
    ours = RMGL().get_params()
    parsed = cluster.make_context("cluster", ["some.csv", "-k", "3", "-o", "out"]).params
    shared = {name: value for name, value in parsed.items() if name in ours}
    assert shared.keys() >= {
        "alpha",
        "beta",
        "scale",
        "n_neighbors",
        "components",
        "solver",
        "tol",
        "max_iter",
        "max_seconds",
    }
    assert shared == {name: ours[name] for name in shared}
