"""Scores: how well labels agree with the classes, and how close a layer is to optimal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from rmgl.edges import AllPairs
from rmgl.layer import LayerProblem
from rmgl.metrics import clustering_accuracy


def score_labels(target: NDArray, labels: NDArray) -> dict[str, Any]:
    return {
        "nmi": float(normalized_mutual_info_score(target, labels)),
        "accuracy": float(clustering_accuracy(target, labels)),
        "ari": float(adjusted_rand_score(target, labels)),
        "n_found": len(np.unique(labels)),
    }


def score_layer(X: NDArray, alpha: float, arrays: dict[str, NDArray]) -> dict[str, Any]:
    """KKT residual and objective of problem (P) over all pairs, computed in the same way for every
    method.

    If a method returns both u and W, the better of the two counts.
    """
    edges = AllPairs(len(X))
    problem = LayerProblem(edges, edges.measure(X), alpha)
    points = [problem.at(arrays["u"])] if "u" in arrays else []
    if has_weights(arrays):
        points.append(problem.at(recovered_potentials(problem, read_weights(arrays, len(X)))))
    best = min(points, key=lambda point: point.residual)
    adjacency = problem.weights(best.u)
    objective = problem.objective(adjacency)
    gap = abs(objective - problem.lower_bound(best)) / objective
    return {
        "residual": best.residual,
        "objective": objective,
        "gap": gap,
        "edges_per_node": adjacency.nnz / len(X),
    }


def recovered_potentials(problem: LayerProblem, W: NDArray) -> NDArray[np.float64]:
    """The dual vector that corresponds to the weights.

    At a solution, grad = d + (u - mean(u)) / (2 alpha) - 1 = 0, so the degrees d determine u up to
    a constant, and 2 sum(w(u)) = N determines the constant: with t_ij equal to z_ij minus the known
    parts, s = 2 mean(u) solves sum (s - t)_+ = 2 alpha N. The resulting residual is the error of W
    times half the number of edges per node.
    """
    n, alpha = problem.n_nodes, problem.alpha
    degrees = W.sum(axis=1)
    known = 2 * alpha * (degrees.mean() - degrees)
    i, j = np.triu_indices(n, 1)
    return known + water_level(problem.costs - known[i] - known[j], 2 * alpha * n) / 2


def water_level(heights: NDArray, volume: float) -> float:
    """The s that satisfies sum (s - heights)_+ = volume."""
    heights = np.sort(heights)
    levels = (volume + np.cumsum(heights)) / np.arange(1, heights.size + 1)
    covered = np.flatnonzero(levels > heights)[-1]
    return float(levels[covered])


def score_log_degree(X: NDArray, theta: float, arrays: dict[str, NDArray]) -> dict[str, Any]:
    """A KKT residual of the log-degree model of Kalofolias, whose layers are not comparable with
    layers of (P).

    The model is: minimize 2 theta z'w + ||w||^2 - sum_i log d_i over w >= 0. At its solution, w_ij
    = ((1/d_i + 1/d_j) / 2 - theta z_ij)_+; the residual is the largest difference between d and the
    degrees of the right-hand side, relative to the mean degree.
    """
    n = len(X)
    costs = theta * AllPairs(n).measure(X)
    weights = read_weights(arrays, n)
    degrees = weights.sum(axis=1)
    i, j = np.triu_indices(n, 1)
    implied = squareform(np.maximum((1 / degrees[i] + 1 / degrees[j]) / 2 - costs, 0)).sum(axis=1)
    residual = float(np.abs(implied - degrees).max() / degrees.mean())
    negligible = 1e-6 * degrees.mean()
    return {"residual": residual, "edges_per_node": np.count_nonzero(weights > negligible) / n}


def has_weights(arrays: dict[str, NDArray]) -> bool:
    return "W" in arrays or "W_data" in arrays


def read_weights(arrays: dict[str, NDArray], n: int) -> NDArray:
    if "W" in arrays:
        return arrays["W"]
    return sparse.csr_array(
        (arrays["W_data"], arrays["W_indices"], arrays["W_indptr"]), shape=(n, n)
    ).toarray()
