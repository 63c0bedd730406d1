"""Small problems every test file can draw."""

import copy
import os
import signal
from itertools import count

import hypothesis
import numpy as np
import pytest

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.datasets.uci_digits import PAPER_PARAMETERS
from rmgl.edges import AllPairs
from rmgl.layer import LayerProblem

hypothesis.settings.register_profile("rmgl", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("rmgl")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Where several processes share the cores, each library has one thread in each of them, and in
    what they start.
    """
    for library in ("OPENBLAS", "MKL", "OMP", "NUMBA"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


TOGETHER = (
    "tests/page/",
    "tests/distributed/test_fit.py",
    "tests/distributed/test_stored_views.py",
    "tests/test_benchmarks.py",
    "tests/experiments/test_reproduce.py",
    "tests/experiments/test_uci.py",
)
"""Files and folders whose tests share a costly fixture: one process runs all tests of such a file
or folder, and begins with them.
"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out single tests, and whole files where that saves work; `--dist loadgroup` groups
    nothing with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)

    return Scheduling(config, log)


def pytest_configure():
    """Let child processes be stopped by Ctrl-C, which some tests send: a shell that runs the tests
    in the background makes them ignore it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def loops_are_known(monkeypatch):
    """Whether loops are on disk already depends on what ran before: commands of the tests do not
    print that they compile some.
    """
    monkeypatch.setattr("rmgl.kernels.compiling.tell", lambda folder: None)


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
        centers = (
            distance
            * np.linalg.qr(rng.normal(size=(max(width, len(sizes)), max(width, len(sizes)))))[0][
                : len(sizes), :width
            ]
        )
        views[f"view {m}"] = centers[target] + 0.5 * rng.normal(size=(target.size, width))
    return views, target


def assert_same(one, other):
    """Compare all that two fits have found, bit by bit."""
    for name in (
        "labels_",
        "embedding_",
        "eigenvalues_",
        "alpha_",
        "beta_",
        "view_weights_",
        "outlier_score_",
        "guide_",
        "index_",
        "placed_",
        "fragments_",
    ):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    for ours, theirs in zip(one.layers_, other.layers_, strict=True):
        assert (ours.adjacency != theirs.adjacency).nnz == 0
        np.testing.assert_array_equal(ours.potentials, theirs.potentials)
        np.testing.assert_array_equal(ours.nodes, theirs.nodes)
        for name in ("name", "kkt_residual", "gap", "n_components"):
            assert getattr(ours, name) == getattr(theirs, name)
    assert str(one.report_) == str(other.report_)
    assert [row["objective"] for row in one.history_] == [
        row["objective"] for row in other.history_
    ]


@pytest.fixture
def planted():
    return planted_views()


@pytest.fixture(scope="session")
def fitted_to_planted():
    return RMGL(3, random_state=0).fit(planted_views()[0])


@pytest.fixture
def planted_model(fitted_to_planted):
    """The defaults on `planted_views()`: a copy, which a test may change."""
    return copy.deepcopy(fitted_to_planted)


@pytest.fixture(scope="session")
def digits():
    """The embedded data."""
    return load_uci_digits()


@pytest.fixture(scope="session")
def digits_model(digits):
    """The defaults on the digits. No test changes it."""
    return RMGL(10, random_state=0).fit(digits.views)


@pytest.fixture(scope="session")
def paper_model(digits):
    """The parameters of the paper on the digits. No test changes it."""
    return RMGL(10, **PAPER_PARAMETERS, scale="minmax", random_state=0).fit(digits.views)


@pytest.fixture
def two_blocks():
    """Two views of two clusters of fifteen rows."""
    return planted_views(sizes=(15, 15), columns=(3, 4))[0]


@pytest.fixture
def data_file(two_blocks, tmp_path):
    """They in a file."""
    np.savez(tmp_path / "data.npz", **two_blocks)
    return tmp_path / "data.npz"


class Killed(Exception):
    """What ends a fit of `fit_with_kills`."""


def fit_with_kills(fit, monkeypatch, most=300):
    """The result of fit(callback=...), which is killed after every file of its checkpoint and after
    every step; also the names of the files.
    """
    from rmgl.model.run import Run

    write, written = Run._write, []

    def write_and_die(self, name, *arguments, **options):
        write(self, name, *arguments, **options)
        written.append(name)
        raise Killed

    monkeypatch.setattr(Run, "_write", write_and_die)

    def die_at(last):
        steps = count()

        def callback(row):
            if next(steps) == last:
                raise Killed

        return callback

    for stops in range(most):
        try:
            return fit(callback=die_at(stops - len(written))), written  # each time one step further
        except Killed:
            pass
    raise AssertionError(f"killed {most} times, and no end")
