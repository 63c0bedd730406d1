"""Time needed to compute one layer to a KKT residual of 1e-6.

Newton's method and the paper's dual ascent solve the six views of the digits with the paper's alpha
and with an alpha that leaves about 15 edges per node. Then every solver, including general ones,
solves the pix view with N = 100, 500 and 2000. A solver that runs out of time at some N is not
tried at a larger N.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from benchmarks.judge import Settings, judge
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row
from benchmarks.scores import score_layer, score_log_degree
from rmgl import learn_layer
from rmgl.datasets.uci_digits import PAPER_PARAMETERS, VIEW_NAMES
from rmgl.model.problems import default_alpha

TOL = 1e-6
EDGES_PER_NODE = 15
OWN = ("newton", "newton_all_pairs", "dual_ascent")
SIZES = (100, 500, 2000)


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("layer", only)
    too_slow: dict[tuple[str, str], int] = {}
    for view, n in cells(quick):
        if datasets and view not in datasets:
            continue
        data = prepare(results.path.parent, "digits", n, view)
        for regime in ("paper", "sparse"):
            layer = results.note(f"{view} {n} {regime}", partial(state_layer, data, regime))
            for method in methods:
                if method.name not in OWN and view != "pix":
                    continue
                names = {"view": view, "n": n, "regime": regime, "method": method.name}
                slow_at = too_slow.get((method.name, regime))
                row = results.add(partial(measure, method, data, layer, settings, slow_at), **names)
                if row["status"] == "timeout":
                    too_slow.setdefault((method.name, regime), n)


def cells(quick: bool) -> Iterator[tuple[str, int]]:
    """Views and sizes; the view that all solvers use comes in order of size."""
    if quick:
        yield from (("pix", 100), ("zer", 100))
    else:
        yield from ((view, SIZES[-1]) for view in VIEW_NAMES if view != "pix")
        yield from (("pix", n) for n in SIZES)


def measure(
    method: Method, data: Prepared, layer: dict[str, float], settings: Settings, slow_at: int | None
) -> Row:
    if slow_at is not None:
        return {"status": f"skipped: out of time at N = {slow_at}"}
    arguments: dict[str, Any] = {"alpha": layer["alpha"], "tol": TOL, "theta": layer["theta"]}
    verdict = judge(method, data.path, arguments, settings)
    if not verdict.ok:
        return verdict.row
    log_degree = verdict.row["extra"].get("model") == "log-degree"
    score, parameter = (score_log_degree, "theta") if log_degree else (score_layer, "alpha")
    return {**layer, **verdict.row, **score(data.view(), layer[parameter], verdict.arrays)}


def state_layer(data: Prepared, regime: str) -> dict[str, float]:
    """The alpha of the layer, and the theta at which the log-degree model has as many edges."""
    X = data.view()
    alpha = float(PAPER_PARAMETERS["alpha"]) if regime == "paper" else alpha_for(X, EDGES_PER_NODE)
    return {"alpha": alpha, "theta": theta_for(X, edges_per_node(X, alpha))}


def edges_per_node(X: NDArray, alpha: float) -> float:
    return 2 * learn_layer(X, alpha, tol=TOL).n_edges / len(X)


def alpha_for(X: NDArray, wanted: float) -> float:
    """The alpha at which a node has `wanted` edges on average, within 1%, found by bisection of its
    logarithm.
    """
    low, high = np.log(default_alpha(X, int(wanted))) + np.array([-3.0, 3.0])
    for _ in range(30):
        alpha = float(np.exp((low + high) / 2))
        found = edges_per_node(X, alpha)
        if abs(found / wanted - 1) < 0.01:
            break
        low, high = (low, np.log(alpha)) if found > wanted else (np.log(alpha), high)
    return alpha


def theta_for(X: NDArray, edges: float) -> float:
    """The scale of distances at which a node has k edges on average, according to Kalofolias and
    Perraudin (2019), section 4.
    """
    k = int(np.clip(round(edges), 1, len(X) - 2))
    z = np.sort(squareform(pdist(X, "sqeuclidean")), axis=1)[:, 1:]
    total = z[:, :k].sum(axis=1)
    bounds = [np.mean((k * z[:, m] ** 2 - total * z[:, m]) ** -0.5) for m in (k, k - 1)]
    return float(np.sqrt(bounds[0] * bounds[1]))
