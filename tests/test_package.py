"""Import time, side effects, metrics and the embedded data."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import rmgl
from rmgl.metrics import clustering_accuracy
from tests.processes import python


def test_import_is_light_and_silent():
    """Heavy libraries stay out until they are needed: that, not a timing, is what keeps the import
    quick.
    """
    found = python(
        """
        import sys
        import sklearn  # brings pandas where it is installed
        before = set(sys.modules)
        import rmgl
        from rmgl import RMGL, learn_layer
        from rmgl.datasets import load_uci_digits
        heavy = {"numba", "matplotlib", "pandas", "networkx", "tqdm", "click", "cvxpy"}
        print(sorted(heavy & (set(sys.modules) - before)))
        """
    )
    assert found.stdout.strip() == "[]"
    assert found.stderr == ""


def test_the_command_takes_over_ctrl_c_before_it_loads_anything_large():
    """Until then Ctrl-C prints a traceback."""
    found = python(
        """
        import sys
        import __future__, os, signal, threading, typing
        before = set(sys.modules)
        from rmgl.__main__ import main
        print(sorted(set(sys.modules) - before))
        """
    )
    assert found.stdout.strip() == "['rmgl', 'rmgl.__main__']"


def test_import_leaves_global_state_alone():
    python(
        """
        import warnings, logging, signal, threading
        import numpy as np
        import sklearn
        before = (list(warnings.filters), logging.root.handlers[:], logging.root.level, np.random.get_state()[1].tolist(),
                  np.geterr(), signal.getsignal(signal.SIGINT), threading.active_count())
        from rmgl import RMGL
        after = (list(warnings.filters), logging.root.handlers[:], logging.root.level, np.random.get_state()[1].tolist(),
                 np.geterr(), signal.getsignal(signal.SIGINT), threading.active_count())
        assert before == after, (before, after)
        """
    )


def test_no_module_changes_the_umask_when_it_is_loaded():
    python(
        """
        import os
        os.umask = lambda mask: 1 / 0
        import rmgl.archive, rmgl.storage.output, rmgl.command_line.cli, rmgl.command_line.commands, rmgl.experiments.cells
        """
    )


def test_public_names():
    assert sorted(rmgl.__all__) == dir(rmgl)
    assert all(getattr(rmgl, name) is not None for name in dir(rmgl))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rmgl.nothing  # noqa: B018


def test_uci_digits_are_complete(digits):
    assert {name: X.shape for name, X in digits.views.items()} == {
        "fac": (2000, 216),
        "fou": (2000, 76),
        "kar": (2000, 64),
        "mor": (2000, 6),
        "pix": (2000, 240),
        "zer": (2000, 47),
    }
    assert list(digits.views) == ["fac", "fou", "kar", "mor", "pix", "zer"]
    assert np.bincount(digits.target).tolist() == [200] * 10
    assert all(X.dtype == np.float64 and X.flags.c_contiguous for X in digits.views.values())
    # as in mfeat-fou.csv
    assert digits.views["fou"][0, :3].tolist() == [0.065882, 0.19731, 0.10383]
    assert digits.views["mor"][0].tolist() == [1.0, 0.0, 0.0, 133.15, 1.3117, 1620.2]
    assert "CC BY 4.0" in digits.DESCR


def test_accuracy_is_the_best_matching():
    target = [0, 0, 0, 1, 1, 2]
    assert clustering_accuracy(target, [2, 2, 2, 0, 0, 1]) == 1.0
    assert clustering_accuracy(target, [0, 0, 0, 0, 0, 0]) == 0.5
    assert clustering_accuracy(target, [0, 1, 2, 3, 4, 5]) == 0.5


def documented(section):
    """The names in the tables of a section of docs/api.md."""
    text = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    rows = text.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
    return sorted(
        name
        for row in rows
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    )


@pytest.mark.parametrize(
    "module",
    ["rmgl", "rmgl.baselines", "rmgl.datasets", "rmgl.metrics", "rmgl.plots", "rmgl.scverse"],
)
def test_what_is_public_is_what_is_documented(module):
    public = importlib.import_module(module)
    assert documented(module) == sorted(public.__all__)
    for name in public.__all__:
        assert getattr(public, name).__doc__ or name == "__version__"


def test_no_private_module_of_another_library_is_imported():
    imports = re.compile(r"^\s*(?:from|import) (?!rmgl|__future__)([\w.]*\._\w+)", re.MULTILINE)
    source = Path(rmgl.__file__).parent
    assert {
        str(path): found
        for path in source.rglob("*.py")
        if (found := imports.findall(path.read_text(encoding="utf-8")))
    } == {}


def methods(public):
    """The methods of a class that users call; the package alone calls those of views, of rules and
    of layers that are moved or read from files.
    """
    for name, member in inspect.getmembers(public):
        function = getattr(member, "__func__", member)
        ours = (getattr(function, "__module__", None) or "").startswith("rmgl")
        if inspect.isfunction(function) and ours and not name.startswith("_"):
            yield name, member


OF_THE_PACKAGE = {
    "Layer": {"among_all", "check", "in_order", "of_own"},
    "SigRepLayer": {"among_all", "check", "in_order", "of_own"},
    "Network": {"labels", "matrix", "placed", "to_view"},
    "Policy": {
        "choose_number",
        "has_consensus",
        "named",
        "share_of_consensus",
        "wants_consensus",
        "weigh",
    },
    "Precomputed": {"in_order", "to_view"},
}


@pytest.mark.parametrize(
    "module", ["rmgl", "rmgl.baselines", "rmgl.datasets", "rmgl.metrics", "rmgl.plots"]
)
def test_every_public_function_class_and_method_has_an_example(module):
    public = importlib.import_module(module)
    objects = {
        name: value
        for name in public.__all__
        if callable(value := getattr(public, name)) and value.__module__.startswith("rmgl")
    }
    for name, value in list(objects.items()):
        if inspect.isclass(value):
            found = dict(methods(value))
            assert OF_THE_PACKAGE.get(name, set()) <= found.keys()
            objects |= {
                f"{name}.{method}": function
                for method, function in found.items()
                if method not in OF_THE_PACKAGE.get(name, set())
            }
    assert [name for name, value in objects.items() if ">>> " not in (value.__doc__ or "")] == []
