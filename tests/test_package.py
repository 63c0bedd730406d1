"""Import time, side effects, Ctrl-C, memory, metrics and the embedded data."""

import importlib
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import rmgl
from rmgl.datasets import load_uci_digits
from rmgl.metrics import clustering_accuracy
from tests.conftest import DEFAULT_SIGNALS


def python(code, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, **options)


def test_import_is_light_and_silent():
    """Heavy libraries stay out until they are needed: that, not a timing, is what keeps the import quick."""
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


def test_public_names():
    assert sorted(rmgl.__all__) == dir(rmgl)
    assert all(getattr(rmgl, name) is not None for name in dir(rmgl))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rmgl.nothing  # noqa: B018


def test_uci_digits_are_complete():
    data = load_uci_digits()
    assert {name: X.shape for name, X in data.views.items()} == {
        "fac": (2000, 216),
        "fou": (2000, 76),
        "kar": (2000, 64),
        "mor": (2000, 6),
        "pix": (2000, 240),
        "zer": (2000, 47),
    }
    assert list(data.views) == ["fac", "fou", "kar", "mor", "pix", "zer"]
    assert np.bincount(data.target).tolist() == [200] * 10
    assert all(X.dtype == np.float64 and X.flags.c_contiguous for X in data.views.values())
    assert data.views["fou"][0, :3].tolist() == [0.065882, 0.19731, 0.10383]  # as in mfeat-fou.csv
    assert data.views["mor"][0].tolist() == [1.0, 0.0, 0.0, 133.15, 1.3117, 1620.2]
    assert "CC BY 4.0" in data.DESCR


def test_the_version_stands_in_one_place():
    """CITATION.cff must repeat it; nothing else may differ."""
    citation = (Path(__file__).parents[1] / "CITATION.cff").read_text()
    assert f"\nversion: {rmgl.__version__}\n" in citation


def test_accuracy_is_the_best_matching():
    target = [0, 0, 0, 1, 1, 2]
    assert clustering_accuracy(target, [2, 2, 2, 0, 0, 1]) == 1.0
    assert clustering_accuracy(target, [0, 0, 0, 0, 0, 0]) == 0.5
    assert clustering_accuracy(target, [0, 1, 2, 3, 4, 5]) == 0.5


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process")
def test_ctrl_c_stops_at_once_and_leaves_no_thread(n_jobs):
    """A fit of hours (dual ascent with a tiny alpha) is interrupted in the middle of a solver, and ends without its result."""
    code = f"""
    import threading, sys, time
    import numpy as np
    from rmgl import RMGL

    def solving(frame):
        while frame is not None and not frame.f_code.co_filename.endswith("dual_ascent.py"):
            frame = frame.f_back
        return frame is not None

    def tell_when_solving():
        while not any(solving(frame) for frame in sys._current_frames().values()):
            time.sleep(0.01)
        print("solving", flush=True)

    X = [np.random.default_rng(m).normal(size=(1200, 5)) for m in range(2)]
    threading.Thread(target=tell_when_solving, daemon=True).start()
    try:
        RMGL(3, alpha=1e-4, solver="dual-ascent", scale="none", n_jobs={n_jobs}, random_state=0).fit(X)
    except KeyboardInterrupt:
        stray = [t.name for t in threading.enumerate() if t.name.startswith("rmgl")]
        print("interrupted", stray, flush=True)
        sys.exit(0)
    """
    command = [sys.executable, "-W", "ignore", "-c", DEFAULT_SIGNALS + textwrap.dedent(code)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "solving"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=240)  # only so that a test that hangs ends
    finally:
        process.kill()
    assert output.strip() == "interrupted []"
    assert process.returncode == 0


def documented(section):
    """The names in the tables of a section of docs/api.md."""
    text = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    rows = text.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
    return sorted(name for row in rows if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1]))


@pytest.mark.parametrize("module", ["rmgl", "rmgl.baselines", "rmgl.datasets", "rmgl.metrics", "rmgl.plots"])
def test_what_is_public_is_what_is_documented(module):
    public = importlib.import_module(module)
    assert documented(module) == sorted(public.__all__)
    for name in public.__all__:
        assert getattr(public, name).__doc__ or name == "__version__"


def test_no_private_module_of_another_library_is_imported():
    imports = re.compile(r"^\s*(?:from|import) (?!rmgl|__future__)([\w.]*\._\w+)", re.MULTILINE)
    source = Path(rmgl.__file__).parent
    assert {str(path): found for path in source.rglob("*.py") if (found := imports.findall(path.read_text(encoding="utf-8")))} == {}
