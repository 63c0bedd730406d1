"""What a layer claims is true over all pairs, for the embedding of its model, in every way a fit
can end.

`exact`, `status`, `kkt_residual` and `gap` are compared with the definitions
(`tests.laws.problems.certificate`) on random problems.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL, Network, learn_layer
from tests.laws.problems import (
    KINDS,
    MORE_GIVEN,
    NETWORKS,
    allowed_pairs,
    certificate,
    costs_of,
    random_problem,
)

ROUNDING = 1e-6
"""Relative rounding errors of sums over hundreds of pairs, in units of the degrees, which are one
on average.
"""


def check_claims(model, problem=None):
    """Compare all claims of the layers of a model with brute force; return how many layers claim to
    be exact.

    A learned network is exact over its links, and a layer with given candidates is the solution
    over these, which is not called exact.
    """
    n_exact = 0
    for place, layer in enumerate(model.layers_):
        if layer.given:
            continue
        assert layer.exact or layer.doubt
        among = pairs_given(problem, layer)
        if not layer.exact and (among is None or layer.status != "converged"):
            continue
        n_exact += layer.exact
        costs = costs_of(model, place, problem)
        scale = max(1.0, float(costs.max()) / layer.alpha * 1e-9)
        costs = (
            costs if among is None else np.where(among, costs, 2 * layer.own_potentials.max() + 1)
        )
        residual, gap, missing = certificate(layer, costs)
        assert layer.status == "converged"
        assert residual <= layer.kkt_residual + ROUNDING * scale, (
            layer.name,
            residual,
            layer.kkt_residual,
        )
        assert gap <= layer.gap + ROUNDING * scale, (layer.name, gap, layer.gap)
        assert missing <= ROUNDING * scale, (layer.name, missing)
    return n_exact


def pairs_given(problem, layer):
    """The pairs that a layer is restricted to; None if there is no such restriction."""
    given = (
        None
        if problem is None
        else {**problem.views, **problem.parameters.get("candidates", {})}.get(layer.name)
    )
    return (
        allowed_pairs(given)
        if isinstance(given, Network) or (sparse.issparse(given) and layer.candidates == "given")
        else None
    )


def stop_after(n_steps):
    """A callback that asks to stop after so many steps."""
    seen = []

    def callback(row):
        seen.append(row)
        return len(seen) >= n_steps

    return callback


def random_model(rng, kind, n, parameters):
    """An estimator with the given parameters, others random."""
    options = {
        "random_state": int(rng.integers(5)),
        "candidates": [10, "all", "auto"][rng.integers(3)],
    }
    if rng.random() < 0.6:
        options |= {
            "alpha": float(10 ** rng.uniform(-1, 1)),
            "beta": float(10 ** rng.uniform(-1, 5)),
            "scale": "minmax",
        }
        if kind != "incomplete" and rng.random() < 0.3:
            options["components"] = True
        if rng.random() < 0.3:
            options["min_cluster_size"] = float(0.15 * n / 3)
    if rng.random() < 0.3:
        options |= {"max_iter": int(rng.integers(1, 4)), "tol": 0.0}
    return RMGL(int(rng.integers(2, 5)), **options | parameters)


def fit_somehow(model, views, options, rng, folder):
    """Fit with a random end: to convergence, by a callback, by the clock, interrupted and resumed,
    or saved and loaded.
    """
    way = rng.integers(5)
    if way == 1:
        return model.fit(views, **options, callback=stop_after(int(rng.integers(1, 14))))
    if way == 2:
        return model.set_params(max_seconds=float(rng.choice([0.0, 1e-3, 0.02]))).fit(
            views, **options
        )
    if way == 3:

        def interrupt(row):
            if rng.random() < 0.3:
                raise KeyboardInterrupt

        try:
            return model.fit(views, **options, checkpoint=folder / "checkpoint", callback=interrupt)
        except KeyboardInterrupt:
            return model.fit(views, **options, checkpoint=folder / "checkpoint")
    model.fit(views, **options)
    if way == 4:
        model.save(folder / "model.rmgl")
        return RMGL.load(folder / "model.rmgl")
    return model


def one_case(seed, folder, kinds=KINDS, **parameters):
    rng = np.random.default_rng(seed)
    kind, n = kinds[seed % len(kinds)], int(rng.integers(30, 301 if seed % 10 == 0 else 90))
    problem = random_problem(kind, n, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = random_model(rng, kind, n, problem.parameters | parameters)
        return check_claims(
            fit_somehow(model, problem.views, problem.options, rng, folder), problem
        )


@pytest.mark.parametrize("seed", range(42))
def test_every_claim_is_true_however_a_fit_ends(seed, tmp_path):
    one_case(seed, tmp_path)


@pytest.mark.parametrize("seed", range(40))
def test_every_claim_is_true_of_networks_and_with_other_metrics_known_labels_and_given_candidates(
    seed, tmp_path
):
    one_case(seed, tmp_path, (*MORE_GIVEN, *NETWORKS))


@pytest.mark.parametrize("seed", range(2001, 2019))
def test_every_claim_of_the_iteration_of_the_paper_is_true(seed, tmp_path):
    one_case(seed, tmp_path, (*KINDS, *MORE_GIVEN, *NETWORKS), solver="dual-ascent")


@pytest.mark.parametrize("seed", range(2101, 2119))
def test_the_iteration_of_the_paper_claims_nothing_where_it_does_not_converge(
    seed, tmp_path, monkeypatch
):
    monkeypatch.setattr("rmgl.layer.dual_ascent.MAX_ASCENT_STEPS", 5)
    assert one_case(seed, tmp_path, (*KINDS, *MORE_GIVEN, *NETWORKS), solver="dual-ascent") == 0


@pytest.mark.extended
def test_five_hundred_more_claims(tmp_path):
    claims = 0
    for seed in range(1000, 1500):
        folder = tmp_path / str(seed)
        folder.mkdir()
        claims += one_case(
            seed,
            folder,
            (*KINDS, *MORE_GIVEN, *NETWORKS),
            solver="dual-ascent" if seed % 5 == 1 else "newton",
        )
    assert claims > 500


@pytest.mark.parametrize("stop", [1, 2, 3])
@pytest.mark.parametrize("beta", [1e4, 1e5])
def test_a_fit_that_is_stopped_in_a_coarse_round(stop, beta):
    """Coarse rounds do not extend candidates: hundreds of pairs were missing from layers that said
    they were exact.
    """
    rng = np.random.default_rng(0)
    views = {name: 4 * rng.integers(0, 3, (300, 1)) + rng.normal(size=(300, 5)) for name in "ab"}
    model = RMGL(3, alpha=1.0, beta=beta, candidates=10, scale="none", random_state=0)
    with pytest.warns(UserWarning, match="was stopped"):
        model.fit(
            views, callback=lambda row: row["step"] == "embedding" and row["iteration"] >= stop
        )
    assert model.n_iter_ == stop
    assert check_claims(model) == 2


def test_a_layer_that_has_not_converged_is_not_exact(rng):
    with pytest.warns(UserWarning, match="did not converge"):
        layer = learn_layer(rng.normal(size=(60, 3)), 0.5, max_iter=1)
    assert (layer.status, layer.exact) == ("max_iter", False)
    assert "did not converge" in layer.doubt
