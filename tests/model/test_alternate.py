"""Algorithm 1: what every half step does to the objective, and where the rounds end."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rmgl import RMGL
from rmgl.model.alternate import (
    COARSE,
    TIGHT,
    Setup,
    alternate,
    first_state,
    has_settled,
    subspace_change,
    update_embedding,
    update_layers,
)
from rmgl.model.problems import given_problems
from rmgl.model.run import Run
from rmgl.running.threads import team_of
from rmgl.views.views import Views


@pytest.fixture
def team():
    with team_of(1) as team:
        yield team


def random_views(seed, n=30):
    rng = np.random.default_rng(seed)
    return {
        "a": rng.normal(size=(n, 3)),
        "b": rng.random((n, 5)),
        "c": rng.normal(size=(n, 2)) + np.repeat([0, 4], n // 2)[:, None],
    }


def state_problems(views, alpha, beta, team, candidates="all"):
    options = {
        "candidates": candidates,
        "n_clusters": 3,
        "n_neighbors": 10,
        "team": team,
        "run": Run(),
    }
    return given_problems(Views.of(views), alpha, beta, **options)


def solve(problems, team, n_clusters=3, solver="newton", run=None, **options):
    return alternate(problems, n_clusters, Setup(team, solver, run=run or Run()), **options)


def slow_terms(views, layers, Q, alpha, beta):
    """tr(L_m S_m), alpha ||L_m||_F^2 and beta tr(Q'L_mQ) of every view, as written."""
    rows = []
    for X, layer, a, b in zip(views.values(), layers, alpha, beta, strict=True):
        L = layer.laplacian.toarray()
        rows.append([np.trace(L @ X @ X.T), a * np.sum(L**2), b * np.trace(Q.T @ L @ Q)])
    return np.array(rows)


ALPHA, BETA = [0.5, 0.3, 1.0], [2.0, 5.0, 1.0]


@pytest.mark.parametrize("candidates", ["all", 8])
def test_the_objective_is_the_slow_formula(team, candidates):
    views = random_views(0)
    outcome = solve(state_problems(views, ALPHA, BETA, team, candidates), team)
    terms = slow_terms(views, outcome.state.layers, outcome.state.embedding.vectors, ALPHA, BETA)
    np.testing.assert_allclose(outcome.state.terms, terms, rtol=1e-9, atol=1e-12)
    assert outcome.state.objective == pytest.approx(terms.sum(), rel=1e-12)
    last = outcome.history[-1]
    assert last["objective"] == outcome.state.objective
    np.testing.assert_allclose(
        [last["smoothness"], last["ridge"], last["coupling"]], terms.sum(axis=0), rtol=1e-9
    )


def test_the_objective_follows_from_the_attributes_of_a_model():
    views = random_views(1)
    model = RMGL(3, alpha=ALPHA, beta=BETA, scale="none", random_state=0).fit(views)
    terms = slow_terms(views, model.layers_, model.embedding_, model.alpha_, model.beta_)
    assert model.history_[-1]["objective"] == pytest.approx(terms.sum(), rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_no_half_step_raises_the_objective(seed, team):
    rng = np.random.default_rng(100 + seed)
    alpha, beta = 10.0 ** rng.uniform(-1, 1, 3), 10.0 ** rng.uniform(-1, 2, 3)
    problems = state_problems(random_views(seed), alpha, beta, team, candidates=["all", 6, "all"])
    assert_falls(solve(problems, team, tol=0, max_iter=12))


def test_the_iteration_of_the_paper_never_raises_the_objective_either(team):
    problems = state_problems(random_views(0, n=16), 5.0, 5.0, team)
    assert_falls(solve(problems, team, solver="dual-ascent", tol=0, max_iter=3))


def assert_falls(outcome):
    values = [row["objective"] for row in outcome.history]
    assert [row["step"] for row in outcome.history] == [
        "start",
        *["layers", "embedding"] * outcome.n_iter,
        "certificate",
    ]
    assert all(after <= before for before, after in pairwise(values))
    assert values[-1] < values[0]
    for row in outcome.history:
        assert row["smoothness"] + row["ridge"] + row["coupling"] == pytest.approx(
            row["objective"], rel=1e-12
        )


def test_a_half_step_for_the_layers_changes_no_embedding_and_the_other_way_round(team):
    start = first_state(state_problems(random_views(2), ALPHA, BETA, team), 3, TIGHT, Setup(team))
    layers = update_layers(start, TIGHT)
    assert layers.embedding is start.embedding
    assert layers.objective < start.objective
    embedding = update_embedding(layers, TIGHT)
    assert embedding.layers is layers.layers
    assert embedding.objective < layers.objective
    np.testing.assert_array_equal(embedding.terms[:, :2], layers.terms[:, :2])


def test_each_layer_is_the_best_for_the_embedding_it_was_given(team):
    """No mixture with another graph of the same trace has a smaller objective."""
    views = random_views(3)
    start = first_state(state_problems(views, ALPHA, BETA, team), 3, TIGHT, Setup(team))
    state = update_layers(start, TIGHT)
    rng, Q = np.random.default_rng(0), start.embedding.vectors
    for X, layer, alpha, beta in zip(views.values(), state.layers, ALPHA, BETA, strict=True):

        def objective(L, X=X, alpha=alpha, beta=beta):
            return np.trace(X.T @ L @ X) + alpha * np.sum(L**2) + beta * np.trace(Q.T @ L @ Q)

        best = layer.laplacian.toarray()
        assert np.trace(best) == pytest.approx(len(X), rel=1e-12)
        for share in (1e-3, 0.1, 1.0):
            W = rng.random(best.shape) * (rng.random(best.shape) < 0.3)
            W = np.triu(W, 1) + np.triu(W, 1).T
            other = len(X) / W.sum() * (np.diag(W.sum(axis=1)) - W)
            assert objective((1 - share) * best + share * other) > objective(best) - 1e-7


def test_the_embedding_is_the_best_for_the_layers_it_was_given(team):
    outcome = solve(state_problems(random_views(4), ALPHA, BETA, team), team)
    Q = outcome.state.embedding.vectors
    combined = sum(
        beta * layer.laplacian.toarray()
        for beta, layer in zip(BETA, outcome.state.layers, strict=True)
    )
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-10)
    assert np.trace(Q.T @ combined @ Q) == pytest.approx(
        np.linalg.eigvalsh(combined)[:3].sum(), rel=1e-8, abs=1e-10
    )


def test_a_solution_is_not_left(team):
    """From where the rounds ended, neither half step finds anything lower than rounding."""
    outcome = solve(
        state_problems(random_views(5), ALPHA, BETA, team), team, tol=1e-12, max_iter=300
    )
    assert outcome.converged
    state = outcome.state
    again = update_embedding(update_layers(state, TIGHT), TIGHT)
    assert again.objective <= state.objective
    assert again.objective == pytest.approx(state.objective, rel=1e-9)
    assert subspace_change(state.embedding.vectors, again.embedding.vectors) < 1e-4


def test_a_worse_layer_is_not_taken(team, monkeypatch):
    """A solver that returns the layer of other costs must not undo what was reached."""
    problems = state_problems(random_views(6), ALPHA, BETA, team)
    state = solve(problems, team).state
    honest = update_layers(state, TIGHT)
    from rmgl.model import alternate as module

    solve_certified = module.solve_certified

    def without_coupling(*given, added, **options):
        return solve_certified(*given, added=lambda edges: 0 * added(edges), **options)

    monkeypatch.setattr(module, "solve_certified", without_coupling)
    misled = update_layers(state, TIGHT)
    np.testing.assert_array_equal(misled.terms, state.terms)
    for ours, theirs in zip(misled.layers, state.layers, strict=True):
        assert ours.adjacency is theirs.adjacency
    assert honest.objective <= state.objective


def test_potentials_to_start_from_do_not_change_the_result(team):
    """Each layer problem is strictly convex, so it has one solution wherever its solver starts."""
    problems = state_problems(random_views(7), ALPHA, BETA, team)
    cold = solve(problems, team, tol=1e-10, max_iter=300)
    rng = np.random.default_rng(0)
    for starts in (
        [layer.potentials for layer in cold.state.layers],
        [rng.normal(size=30) for _ in problems],
    ):
        warm = solve(
            [replace(view, start=start) for view, start in zip(problems, starts, strict=True)],
            team,
            tol=1e-10,
            max_iter=300,
        )
        assert warm.state.objective == pytest.approx(cold.state.objective, rel=1e-7)
        for ours, theirs in zip(warm.state.layers, cold.state.layers, strict=True):
            assert abs(ours.adjacency - theirs.adjacency).max() < 1e-3
        assert subspace_change(cold.state.embedding.vectors, warm.state.embedding.vectors) < 1e-3


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_an_outcome_says_that_the_rounds_were_too_few(max_iter, team):
    outcome = solve(
        state_problems(random_views(8), ALPHA, BETA, team), team, tol=0, max_iter=max_iter
    )
    assert not outcome.converged
    assert not outcome.stopped
    assert outcome.n_iter == max_iter
    assert outcome.history[-1]["iteration"] == max_iter
    assert outcome.history[-1]["kkt_residual"] <= TIGHT.layer < COARSE.layer


def test_a_model_says_that_the_rounds_were_too_few():
    with pytest.warns(
        ConvergenceWarning,
        match=r"did not converge in max_iter=2 rounds; raise max_iter, or use a larger tol \(now 0\)",
    ):
        model = RMGL(3, alpha=0.5, beta=5.0, tol=0, max_iter=2, random_state=0).fit(random_views(8))
    assert (model.converged_, model.n_iter_) == (False, 2)
    assert "the alternating optimization did not converge" in str(model.report_)
    assert "the alternating optimization did not converge" in model.report_.warnings


def test_a_run_that_is_over_ends_before_the_next_round(team):
    run = Run(max_seconds=0.0)
    outcome = solve(state_problems(random_views(9), ALPHA, BETA, team), team, run=run)
    assert (outcome.stopped, outcome.converged, outcome.n_iter) == (True, False, 0)
    assert [row["step"] for row in outcome.history] == ["start", "certificate"]


def test_progress_hears_every_row_of_the_history(team):
    heard = []
    outcome = solve(
        state_problems(random_views(10), ALPHA, BETA, team), team, progress=heard.append
    )
    assert heard == outcome.history
    assert [row["step"] for row in heard[:3]] == ["start", "layers", "embedding"]


def test_the_change_of_a_subspace(rng):
    basis = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    one, other = basis[:, :3], basis[:, 3:6]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert subspace_change(one, one @ turn) == pytest.approx(0, abs=1e-12)
    assert subspace_change(one, other) == pytest.approx(1, rel=1e-12)
    mixed = np.column_stack([one[:, :2], other[:, 0]])  # one direction of three is lost
    assert subspace_change(one, mixed) == pytest.approx(np.sqrt(1 / 3), rel=1e-12)


def test_settled_needs_both_a_small_decrease_and_a_small_turn(team):
    state = solve(state_problems(random_views(11), ALPHA, BETA, team), team).state
    assert has_settled(state, state, 1e-12)
    lower = replace(state, terms=state.terms * (1 - 1e-3))
    assert has_settled(state, lower, 2e-3)
    assert not has_settled(state, lower, 5e-4)
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=state.embedding.vectors.shape))[0]
    turned = replace(state, embedding=replace(state.embedding, vectors=vectors))
    assert not has_settled(state, turned, 1e-2)
    assert has_settled(state, turned, 1.0)
