"""Incomplete views and new rows on the digits, and how long labeling new rows of a large mixture
takes.

A share of the (row, view) pairs of the digits is removed at random, five draws; a fifth of the rows
is left out of the fit and labeled afterwards, with all views and with three of six, drawn for each
row; 10 000 new rows of the mixture are labeled by models of 100 000, one learned at the defaults
and one with alpha and beta given, which takes less time to learn and has no consensus. `--only`
names what is measured: "incomplete", "new rows", "many new rows", "many new rows, given
parameters".
"""

from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.datasets import mixture
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.metrics import normalized_mutual_info_score
from rmgl.model.problems import default_alpha, default_beta

SHARES = (0.0, 0.1, 0.3, 0.5)
MANY = {"many new rows, given parameters": True, "many new rows": False}
"""Whether alpha and beta are given."""
WARM_UP = 2500
AGAIN = 3
"""Further calls with the same rows."""


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    every = 10 if quick else 1
    for share in SHARES if wanted("incomplete", only) else ():
        for draw in range(5 if share and not quick else 1):
            results.add(
                partial(incomplete, share, draw, every, settings),
                what="incomplete",
                share=share,
                draw=draw,
            )
    for draw in range(1 if quick else 5) if wanted("new rows", only) else ():
        results.add(partial(new_rows, draw, every, settings), what="new rows", share=0.2, draw=draw)
    n_fitted, n_new = (2000, 200) if quick else (100_000, 10_000)
    for what, given in MANY.items():
        if wanted(what, only):
            results.add(
                partial(many_new_rows, n_fitted, n_new, given, settings),
                what=what,
                share=n_new / n_fitted,
                draw=0,
            )


def wanted(what: str, only: tuple[str, ...]) -> bool:
    return not only or what in only


def observed_pairs(n_rows: int, n_views: int, share: float, draw: int) -> np.ndarray:
    """Truth values without a share of the pairs; every row keeps at least one view."""
    rng = np.random.default_rng(draw)
    observed = np.ones(n_rows * n_views, dtype=bool)
    observed[rng.permutation(observed.size)[: round(share * observed.size)]] = False
    observed = observed.reshape(n_rows, n_views)
    nowhere = np.flatnonzero(~observed.any(axis=1))
    observed[nowhere, rng.integers(n_views, size=nowhere.size)] = True
    return observed


def incomplete(share: float, draw: int, every: int, settings: Settings) -> Row:
    data = load_uci_digits()
    views, target = {name: X[::every] for name, X in data.views.items()}, data.target[::every]
    observed = observed_pairs(target.size, len(views), share, draw)
    began = perf_counter()
    labels = RMGL(10, random_state=0, n_jobs=settings.n_threads).fit_predict(
        views, observed=observed
    )
    return {
        "status": "ok",
        "seconds": perf_counter() - began,
        "nmi": normalized_mutual_info_score(target, labels),
    }


def new_rows(draw: int, every: int, settings: Settings) -> Row:
    data = load_uci_digits()
    order = np.random.default_rng(draw).permutation(2000)[::every]
    old, new = order[: 4 * order.size // 5], order[4 * order.size // 5 :]
    model = RMGL(10, random_state=0, n_jobs=settings.n_threads).fit(
        {name: X[old] for name, X in data.views.items()}
    )
    rows = {name: X[new] for name, X in data.views.items()}
    half = (
        np.argsort(np.random.default_rng(draw).random((new.size, len(rows))), axis=1)
        < len(rows) // 2
    )
    began = perf_counter()
    found = model.predict(rows)
    seconds = perf_counter() - began
    known = model.predict({name: X[old] for name, X in data.views.items()})
    return {
        "status": "ok",
        "seconds": seconds,
        "fitted": normalized_mutual_info_score(data.target[old], model.labels_),
        "nmi": normalized_mutual_info_score(data.target[new], found),
        "half": normalized_mutual_info_score(data.target[new], model.predict(rows, observed=half)),
        "agreement": float((known == model.labels_).mean()),
    }


def many_new_rows(n_fitted: int, n_new: int, given: bool, settings: Settings) -> Row:
    """Seconds of the first call of `predict`, and of further ones, by a model that has just been
    fitted.
    """
    few = min(WARM_UP, n_fitted // 4)
    model_of(mixture(few).views, given, settings).predict(mixture(few, seed=1).views)
    data = mixture(n_fitted + n_new)
    fitted, new = (
        {name: X[part] for name, X in data.views.items()}
        for part in (slice(n_fitted), slice(n_fitted, None))
    )
    began = perf_counter()
    model = model_of(fitted, given, settings)
    fit_seconds = perf_counter() - began
    seconds = []
    for _ in range(1 + AGAIN):
        began = perf_counter()
        found = model.predict(new)
        seconds.append(perf_counter() - began)
    widths = [X.shape[1] for X in fitted.values()]
    return {
        "status": "ok",
        "seconds": seconds[0],
        "again": float(np.median(seconds[1:])),
        "fit_seconds": fit_seconds,
        "n_fitted": n_fitted,
        "n_new": n_new,
        "widths": widths if given else [*widths, sum(widths)],
        "n_threads": settings.n_threads,
        "fitted": normalized_mutual_info_score(data.target[:n_fitted], model.labels_),
        "nmi": normalized_mutual_info_score(data.target[n_fitted:], found),
    }


def model_of(views: dict[str, np.ndarray], given: bool, settings: Settings) -> RMGL:
    """A model at the defaults, or with alpha for about 20 edges a node and a light coupling."""
    if not given:
        return RMGL(20, random_state=0, n_jobs=settings.n_threads).fit(views)
    alpha = np.array([default_alpha(X) for X in views.values()])
    beta = default_beta(alpha, len(next(iter(views.values()))), 20)
    return RMGL(
        20, alpha=alpha, beta=beta, scale="none", random_state=0, n_jobs=settings.n_threads
    ).fit(views)
