"""Checkpoints, callbacks and time limits."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rmgl import RMGL, Policy
from rmgl.embedding import eigenvectors
from tests.conftest import Killed, assert_same, fit_with_kills, planted_views


@pytest.fixture(scope="module")
def three_views():
    return planted_views(columns=(4, 5, 6))[0]


LISTS = {"candidates": 12}
VARIANTS = {
    "defaults": {},
    "candidates": LISTS,
    "auto": {**LISTS, "n_clusters": "auto"},
    "numbers": {"alpha": 0.5, "beta": 2.0},
    "numbers, candidates": {"alpha": 0.5, "beta": 2.0, "candidates": 10, "tol": 0, "max_iter": 6},
    "components": {**LISTS, "alpha": 2.0, "beta": 1.0, "components": True},
    "no seed": {**LISTS, "random_state": None},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", VARIANTS)
def test_a_run_stopped_after_every_step_ends_the_same(name, three_views, tmp_path, monkeypatch):
    parameters = {"n_clusters": 3, "random_state": 0, "n_jobs": 1, **VARIANTS[name]}
    observed = np.random.default_rng(0).random((90, 3)) < 0.9
    observed[:, 0] |= ~observed.any(axis=1)
    fit = partial(
        RMGL(**parameters).fit, three_views, observed=observed, checkpoint=tmp_path / "steps"
    )
    model, written = fit_with_kills(fit, monkeypatch)
    assert written[0] == "run"
    assert len(set(written)) == len(written)  # no search was done twice
    # which takes all pairs
    assert any(step.startswith("nearest-") for step in written) == (name != "numbers")
    monkeypatch.undo()
    whole = (
        fit()
        if parameters["random_state"] is None
        else RMGL(**parameters).fit(three_views, observed=observed)
    )
    assert_same(model, whole)


def test_a_checkpoint_of_another_run_is_refused(three_views, tmp_path):
    RMGL(3, random_state=0).fit(three_views, checkpoint=tmp_path / "steps")
    # the same run
    RMGL(3, random_state=0, n_jobs=2, verbose=0).fit(three_views, checkpoint=tmp_path / "steps")
    with pytest.raises(ValueError, match="has a run with different data, parameters or versions"):
        RMGL(4, random_state=0).fit(three_views, checkpoint=tmp_path / "steps")
    changed = {name: X + (name == "view 1") * np.eye(*X.shape) for name, X in three_views.items()}
    with pytest.raises(ValueError, match="has a run with different data"):
        RMGL(3, random_state=0).fit(changed, checkpoint=tmp_path / "steps")
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"contains '.*', which is not part of a checkpoint"):
        RMGL(3, random_state=0).fit(three_views, checkpoint=tmp_path)


def test_a_damaged_step_is_named(three_views, tmp_path):
    fit = partial(RMGL(3, random_state=0, **LISTS).fit, three_views, checkpoint=tmp_path / "steps")
    fit()
    step = next((tmp_path / "steps").glob("nearest-*.step"))
    step.write_bytes(b"nonsense")
    with pytest.raises(
        ValueError,
        match=rf"{step.name}: not a readable rmgl checkpoint.*delete it to recompute this step",
    ):
        fit()


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_the_callback_hears_of_every_step(n_clusters, three_views):
    rows = []
    model = RMGL(n_clusters, random_state=0).fit(three_views, callback=rows.append)
    steps = [row["step"] for row in rows]
    chosen = ["views", "consensus", *["number of clusters"] * (n_clusters == "auto"), "guidance"]
    assert steps[: len(chosen)] == chosen
    assert steps[len(chosen) :] == [row["step"] for row in model.history_]
    assert rows[-1]["objective"] == model.history_[-1]["objective"]
    assert (np.diff([row["seconds"] for row in rows]) >= 0).all()


def test_the_callback_may_stop_the_fit(three_views):
    with pytest.warns(
        ConvergenceWarning,
        match=(
            "stopped after 1 rounds because the callback requested it; this is the best result "
            "so far"
        ),
    ):
        model = RMGL(3, alpha=0.5, beta=5.0, random_state=0, tol=0).fit(
            three_views, callback=lambda row: row.get("iteration") == 1
        )
    assert model.n_iter_ == 1
    assert not model.converged_
    assert model.labels_.shape == (90,)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-8)


def test_time_is_kept(three_views):
    with pytest.warns(ConvergenceWarning, match="because max_seconds=0 was reached"):
        model = RMGL(3, max_seconds=0, random_state=0).fit(three_views)
    assert model.n_iter_ == 0
    assert "did not converge" in str(model.report_)
    assert len(set(model.labels_)) == 3
    assert RMGL(3, max_seconds=1000, random_state=0).fit(three_views).converged_


def test_a_run_that_was_out_of_time_resumes_when_it_has_more(three_views, tmp_path):
    with pytest.warns(ConvergenceWarning, match="max_seconds=0"):
        RMGL(3, random_state=0, max_seconds=0, **LISTS).fit(
            three_views, checkpoint=tmp_path / "steps"
        )
    resumed = RMGL(3, random_state=0, max_seconds=1000, **LISTS).fit(
        three_views, checkpoint=tmp_path / "steps"
    )
    assert_same(resumed, RMGL(3, random_state=0, **LISTS).fit(three_views))


def test_a_search_that_was_kept_is_not_done_again(three_views, tmp_path, monkeypatch):
    from rmgl.edges.search import Rows

    fit = partial(RMGL(3, random_state=0, **LISTS).fit, three_views, checkpoint=tmp_path / "steps")
    whole = fit()

    def search(self, *arguments, **options):
        raise AssertionError("searched again")

    for method in ("nearest", "within"):
        monkeypatch.setattr(Rows, method, search)
    resumed = fit()
    monkeypatch.undo()  # the report searches, too
    assert_same(resumed, whole)


def test_an_error_in_the_callback_reaches_the_caller(three_views):
    def broken(row):
        raise Killed("mine")

    with pytest.raises(Killed, match="mine"):
        RMGL(3, random_state=0).fit(three_views, callback=broken)


@pytest.mark.parametrize("removed", ["none", "within-*", "nearest-*", "*-*[0-7].step", "*-*"])
def test_few_entities_and_many_clusters_resume_with_the_same_bits(removed, tmp_path):
    """Eigenvectors of few entities come from LAPACK, which orders their numbers by columns."""
    rng = np.random.default_rng(0)
    grid = np.repeat(np.arange(9), 20)
    views = [np.eye(5)[part] * 5 + rng.normal(size=(180, 5)) for part in (grid // 3, grid % 3)]
    policy = Policy(guidance=(0.1, 0.3, 1.0))
    fit = partial(
        RMGL(9, policy=policy, candidates=12, random_state=0).fit,
        views,
        checkpoint=tmp_path / "steps",
    )
    whole = fit()
    for step in (tmp_path / "steps").glob(removed):
        step.unlink()
    again = fit()
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)
    for layer, other in zip(again.layers_, whole.layers_, strict=True):
        assert (layer.adjacency != other.adjacency).nnz == 0


@pytest.mark.parametrize(
    "candidates", [pytest.param("approximate", marks=pytest.mark.extended), 12]
)
def test_what_is_found_for_sparse_rows_is_kept(candidates, tmp_path):
    if candidates == "approximate":
        pytest.importorskip("pynndescent")
    X = sparse.random(120, 15, 0.4, format="csr", random_state=0)
    fit = partial(
        RMGL(3, candidates=candidates, random_state=0).fit, [X], checkpoint=tmp_path / "steps"
    )
    whole = fit()
    kept = {path.name.partition("-")[0] for path in (tmp_path / "steps").glob("*-*.step")}
    assert {"nearest", "approximate" if candidates == "approximate" else "within"} <= kept
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "steps").glob("*.step")}
    assert_same(fit(), whole)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "steps").glob("*.step")} == before


@pytest.fixture
def all_eigenvectors_kept(monkeypatch):
    """Those of small graphs, too, which are computed again otherwise."""
    monkeypatch.setattr(eigenvectors, "QUICK_NODES", 10)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "parameters", [{}, {"n_clusters": "auto"}, {"alpha": 2.0, "beta": 1.0, "min_cluster_size": 40}]
)
@pytest.mark.parametrize("n_rows", [90, 600])
@pytest.mark.usefixtures("all_eigenvectors_kept")
def test_eigenvectors_are_kept(parameters, n_rows, tmp_path, monkeypatch):
    """From LAPACK, which orders their numbers by columns, and from the iteration."""
    views = planted_views(sizes=(n_rows // 3,) * 3, columns=(4, 5, 6))[0]
    model = RMGL(**{"n_clusters": 3, "random_state": 0, **LISTS, **parameters})
    whole, fit = clone(model).fit(views), partial(model.fit, views, checkpoint=tmp_path / "steps")
    with monkeypatch.context() as patch:
        first = (
            fit_with_kills(fit, patch)[0]
            if n_rows < 100 and "n_clusters" not in parameters
            else fit()
        )
    assert any((tmp_path / "steps").glob("eigenvectors-*.step"))
    assert_same(first, whole)

    def solve(*arguments, **options):
        raise AssertionError("solved again")

    with monkeypatch.context() as patch:
        patch.setattr(eigenvectors, "_solved", solve)
        resumed = fit()
    assert_same(resumed, whole)
