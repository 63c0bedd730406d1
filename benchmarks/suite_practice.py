"""Incomplete views and new rows on the digits; the time to label new rows of a large mixture, and
to choose the number of clusters.

A share of the (row, view) pairs of the digits is removed at random in three draws. A fifth of the
rows is left out of the fit and labeled afterward, with all views and with three of the six views,
drawn for each row. A model that was fitted on 100,000 rows of the mixture with the defaults labels
10,000 new rows. The mixture with 5000 and with 50,000 rows is fitted with a fixed number of
clusters and with `n_clusters="auto"` (300,000 rows: `--dataset 300000`). `--only` selects what is
measured: "incomplete", "new rows", "many new rows" or "number".
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

SHARES = (0.0, 0.1, 0.3, 0.5)
NUMBERED = (5000, 50_000)
"""Numbers of rows for fits that choose the number of clusters."""
DRAWS = 3
WARM_UP = 2500
AGAIN = 3
"""Additional calls with the same rows."""


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    every = 10 if quick else 1
    for share in SHARES if wanted("incomplete", only) else ():
        for draw in range(DRAWS if share and not quick else 1):
            results.add(
                partial(incomplete, share, draw, every, settings),
                what="incomplete",
                share=share,
                draw=draw,
            )
    for draw in range(1 if quick else DRAWS) if wanted("new rows", only) else ():
        results.add(partial(new_rows, draw, every, settings), what="new rows", share=0.2, draw=draw)
    n_fitted, n_new = (2000, 200) if quick else (100_000, 10_000)
    if wanted("many new rows", only):
        results.add(
            partial(many_new_rows, n_fitted, n_new, settings),
            what="many new rows",
            share=n_new / n_fitted,
            draw=0,
        )
    sizes = (1000,) if quick else tuple(map(int, datasets)) or NUMBERED
    for n in sizes if wanted("number", only) else ():
        results.add(partial(number, n, settings), what="number", n=n)


def wanted(what: str, only: tuple[str, ...]) -> bool:
    return not only or what in only


def observed_pairs(n_rows: int, n_views: int, share: float, draw: int) -> np.ndarray:
    """Which pairs are observed after a share is removed; every row keeps at least one view."""
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


def many_new_rows(n_fitted: int, n_new: int, settings: Settings) -> Row:
    """Times of the first call to `predict`, and of additional calls, for a model that was just
    fitted.
    """
    few = min(WARM_UP, n_fitted // 4)
    model_of(mixture(few).views, 20, settings).predict(mixture(few, seed=1).views)
    data = mixture(n_fitted + n_new)
    fitted, new = (
        {name: X[part] for name, X in data.views.items()}
        for part in (slice(n_fitted), slice(n_fitted, None))
    )
    began = perf_counter()
    model = model_of(fitted, 20, settings)
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
        "widths": [*widths, sum(widths)],
        "n_threads": settings.n_threads,
        "fitted": normalized_mutual_info_score(data.target[:n_fitted], model.labels_),
        "nmi": normalized_mutual_info_score(data.target[n_fitted:], found),
    }


def number(n: int, settings: Settings) -> Row:
    """Times of a fit with a fixed number of clusters, and of a fit that chooses the number."""
    model_of(mixture(WARM_UP).views, "auto", settings)
    data = mixture(n)
    seconds = {}
    for n_clusters in (20, "auto"):
        began = perf_counter()
        model = model_of(data.views, n_clusters, settings)
        seconds[n_clusters] = perf_counter() - began
    chosen = model.number_
    return {
        "status": "ok",
        "seconds": seconds["auto"],
        "fit_seconds": seconds[20],
        "n_threads": settings.n_threads,
        "chosen": chosen.chosen,
        "range": list(chosen.range),
        "nmi": normalized_mutual_info_score(data.target, model.labels_),
    }


def model_of(views: dict[str, np.ndarray], n_clusters: int | str, settings: Settings) -> RMGL:
    """Fit a model with the defaults."""
    return RMGL(n_clusters, random_state=0, n_jobs=settings.n_threads).fit(views)
