"""Small problems every test file can draw."""

import os
import signal

import numpy as np
import pytest

from rmgl.edges import AllPairs
from rmgl.layer import LayerProblem

DEFAULT_SIGNALS = """\
import signal
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
"""
"""First lines of a program that is sent signals: a process inherits ignored ones, as in the background of a shell script."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Where several processes share the cores, each library has one thread in each of them, and in what they start."""
    for library in ("OPENBLAS", "MKL", "OMP", "NUMBA"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


TOGETHER = (
    "tests/page/test_browser.py",
    "tests/distributed/test_fit.py",
    "tests/distributed/test_stored_views.py",
    "tests/test_benchmarks.py",
    "tests/experiments/test_reproduce.py",
    "tests/experiments/test_uci.py",
)
"""Files whose tests share a costly fixture: one process runs all tests of such a file, and begins with them."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out single tests, and whole files where that saves work; `--dist loadgroup` groups nothing with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file in TOGETHER else nodeid

    return Scheduling(config, log)


def pytest_configure():
    """Let child processes be stopped by Ctrl-C, which some tests send: a shell that runs the tests in the background makes them ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def loops_are_known(monkeypatch):
    """Whether loops are on disk already depends on what ran before: commands of the tests do not print that they compile some."""
    monkeypatch.setattr("rmgl.kernels.cache._told", True)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def make_problem():
    def make(n=30, columns=4, alpha=0.5, seed=0, X=None):
        X = np.random.default_rng(seed).normal(size=(n, columns)) if X is None else X
        edges = AllPairs(len(X))
        return LayerProblem(edges, edges.measure(X), alpha)

    return make


def planted_views(sizes=(30, 30, 30), columns=(3, 5), distance=6.0, seed=0):
    """Views of well separated Gaussian blocks, and the blocks."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(len(sizes)), sizes)
    views = {}
    for m, width in enumerate(columns):
        centers = distance * np.linalg.qr(rng.normal(size=(max(width, len(sizes)), max(width, len(sizes)))))[0][: len(sizes), :width]
        views[f"view {m}"] = centers[target] + 0.5 * rng.normal(size=(target.size, width))
    return views, target


@pytest.fixture
def planted():
    return planted_views()
