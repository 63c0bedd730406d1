"""What a layer claims is true over all pairs, for the embedding of its model, in every way a fit can end.

`exact`, `status`, `kkt_residual` and `gap` are compared with the definitions (`tests.laws.problems.certificate`) on random problems.
"""

import warnings

import numpy as np
import pytest

from rmgl import RMGL, learn_layer
from tests.laws.problems import KINDS, certificate, costs_of, random_views

ROUNDING = 1e-6
"""Relative rounding errors of sums over hundreds of pairs, in units of the degrees, which are one on average."""


def check_claims(model):
    """Compare all claims of the layers of a model with brute force; return how many layers claim to be exact."""
    n_exact = 0
    for place, layer in enumerate(model.layers_):
        if layer.given:
            continue
        assert layer.exact or layer.doubt
        if not layer.exact:
            continue
        n_exact += 1
        costs = costs_of(model, place)
        residual, gap, missing = certificate(layer, costs)
        scale = max(1.0, float(costs.max()) / layer.alpha * 1e-9)
        assert layer.status == "converged"
        assert residual <= layer.kkt_residual + ROUNDING * scale, (layer.name, residual, layer.kkt_residual)
        assert gap <= layer.gap + ROUNDING * scale, (layer.name, gap, layer.gap)
        assert missing <= ROUNDING * scale, (layer.name, missing)
    return n_exact


def stop_after(n_steps):
    """A callback that asks to stop after so many steps."""
    seen = []

    def callback(row):
        seen.append(row)
        return len(seen) >= n_steps

    return callback


def random_model(rng, kind, n):
    """An estimator with random parameters."""
    options = {"random_state": int(rng.integers(5)), "candidates": [10, "all", "auto"][rng.integers(3)]}
    if rng.random() < 0.6:
        options |= {"alpha": float(10 ** rng.uniform(-1, 1)), "beta": float(10 ** rng.uniform(-1, 5)), "scale": "minmax"}
        if kind != "incomplete" and rng.random() < 0.3:
            options["components"] = True
        if rng.random() < 0.3:
            options["min_cluster_size"] = float(0.15 * n / 3)
    if rng.random() < 0.3:
        options |= {"max_iter": int(rng.integers(1, 4)), "tol": 0.0}
    return RMGL(int(rng.integers(2, 5)), **options)


def fit_somehow(model, views, options, rng, folder):
    """Fit with a random end: to convergence, by a callback, by the clock, interrupted and resumed, or saved and loaded."""
    way = rng.integers(5)
    if way == 1:
        return model.fit(views, **options, callback=stop_after(int(rng.integers(1, 14))))
    if way == 2:
        return model.set_params(max_seconds=float(rng.choice([0.0, 1e-3, 0.02]))).fit(views, **options)
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


def one_case(seed, folder):
    rng = np.random.default_rng(seed)
    kind, n = KINDS[seed % len(KINDS)], int(rng.integers(30, 301 if seed % 10 == 0 else 90))
    views, options = random_views(kind, n, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_claims(fit_somehow(random_model(rng, kind, n), views, options, rng, folder))


@pytest.mark.parametrize("seed", range(42))
def test_every_claim_is_true_however_a_fit_ends(seed, tmp_path):
    one_case(seed, tmp_path)


@pytest.mark.slow
def test_five_hundred_more_claims(tmp_path):
    claims = 0
    for seed in range(1000, 1500):
        folder = tmp_path / str(seed)
        folder.mkdir()
        claims += one_case(seed, folder)
    assert claims > 500


@pytest.mark.parametrize("stop", [1, 2, 3])
@pytest.mark.parametrize("beta", [1e4, 1e5])
def test_a_fit_that_is_stopped_in_a_coarse_round(stop, beta):
    """Coarse rounds do not extend candidates: hundreds of pairs were missing from layers that said they were exact."""
    rng = np.random.default_rng(0)
    views = {name: 4 * rng.integers(0, 3, (300, 1)) + rng.normal(size=(300, 5)) for name in "ab"}
    model = RMGL(3, alpha=1.0, beta=beta, candidates=10, scale="none", random_state=0)
    with pytest.warns(UserWarning, match="was stopped"):
        model.fit(views, callback=lambda row: row["step"] == "embedding" and row["iteration"] >= stop)
    assert model.n_iter_ == stop
    assert check_claims(model) == 2


def test_a_layer_that_has_not_converged_is_not_exact(rng):
    with pytest.warns(UserWarning, match="did not converge"):
        layer = learn_layer(rng.normal(size=(60, 3)), 0.5, max_iter=1)
    assert (layer.status, layer.exact) == ("max_iter", False)
    assert "did not converge" in layer.doubt
