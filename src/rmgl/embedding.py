"""The common embedding: eigenvectors of the K smallest eigenvalues of a weighted sum of layers.

    minimise   tr(Q' L Q)   subject to   Q'Q = I_K,       L = sum_m beta_m L_m

A graph with C components has the eigenvalue 0 exactly C times, with the component indicators as eigenvectors. They are
put in from the components themselves (counted on the graph, not by a threshold on eigenvalues), and only the rest is
computed, orthogonal to them: an iterative solver would miss copies of a repeated eigenvalue. With more than K
components every choice of K null vectors is optimal; the indicators of the K largest components are taken, so that
nodes outside them sit at the origin.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, lobpcg

DENSE_NODES = 1000  # up to here LAPACK is faster than any iteration
DENSE_RESCUE_NODES = 6000  # up to here it takes over where the iteration does not arrive
GUARD_VECTORS = 4
MAX_ITER = 400
RELATIVE_TOL = 1e-8


@dataclass(frozen=True)
class Embedding:
    """K orthonormal columns and how well they solve the eigenvalue problem."""

    vectors: NDArray[np.float64]
    """(N, K), eigenvalues ascending."""
    values: NDArray[np.float64]
    residual: float
    """max_k ||L q_k - lambda_k q_k|| divided by the bound 2 max_i L_ii of the spectrum."""
    n_components: int
    """Connected components of the summed graph."""
    block: NDArray[np.float64]
    """The vectors and a few beyond them: where the next solve starts."""

    @property
    def trace(self) -> float:
        """tr(Q' L Q)."""
        return float(self.values.sum())


def weighted_sum(adjacencies: Sequence[sparse.csr_array], weights: Sequence[float]) -> sparse.csr_array:
    """sum_m beta_m W_m, without the views of weight zero."""
    used = [weight * adjacency for adjacency, weight in zip(adjacencies, weights, strict=True) if weight > 0]
    return sparse.csr_array(sum(used[1:], start=used[0]))


def smallest_eigenvectors(
    adjacency: sparse.csr_array, n_vectors: int, *, start: NDArray | None = None, random_state: np.random.RandomState | None = None
) -> Embedding:
    """Eigenvectors of the `n_vectors` smallest eigenvalues of the Laplacian of a weighted graph.

    Examples
    --------
    Two pairs of nodes, not connected: the two eigenvectors of eigenvalue 0 are their indicators.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> graph = sparse.csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> embedding = smallest_eigenvectors(graph, 2)
    >>> embedding.n_components, embedding.values.tolist()
    (2, [0.0, 0.0])
    """
    n = adjacency.shape[0]
    degrees = adjacency.sum(axis=1)
    n_components, component = csgraph.connected_components(adjacency, directed=False)
    indicators = _largest_indicators(component, min(n_components, n_vectors))
    missing = n_vectors - indicators.shape[1]
    block = indicators
    if missing:
        laplacian = _laplacian(adjacency, degrees)
        if n <= max(DENSE_NODES, 10 * n_vectors):
            rest = _dense_rest(laplacian, indicators, missing)
        else:
            guess = _starting_block(indicators, missing, start, random_state)
            rest = _iterated_rest(laplacian, degrees, indicators, missing, guess)
        block = np.hstack([indicators, rest])
    vectors = block[:, :n_vectors]
    image = degrees[:, None] * vectors - adjacency @ vectors
    values = np.einsum("nk,nk->k", vectors, image)
    values[: indicators.shape[1]] = 0.0
    residual = np.linalg.norm(image - vectors * values, axis=0).max() / max(2 * degrees.max(), np.finfo(float).tiny)
    return Embedding(vectors, values, float(residual), int(n_components), block)


def _largest_indicators(component: NDArray[np.intp], count: int) -> NDArray[np.float64]:
    """Unit indicators of the `count` largest components, the largest first, ties by first node."""
    sizes = np.bincount(component)
    chosen = np.argsort(-sizes, kind="stable")[:count]
    indicators = np.zeros((component.size, count))
    for column, label in enumerate(chosen):
        indicators[component == label, column] = 1 / np.sqrt(sizes[label])
    return indicators


def _laplacian(adjacency: sparse.csr_array, degrees: NDArray) -> NDArray | sparse.csr_array:
    """Dense where products with it are then faster."""
    n = adjacency.shape[0]
    if n <= DENSE_NODES or adjacency.nnz > n * n / 10:
        return np.diag(degrees) - adjacency.toarray()
    return sparse.csr_array(sparse.diags_array(degrees) - adjacency)


def _dense_rest(laplacian: Any, indicators: NDArray, missing: int) -> NDArray[np.float64]:
    """LAPACK, with the indicators moved above the spectrum."""
    matrix = laplacian.toarray() if sparse.issparse(laplacian) else laplacian
    beyond = 2 * np.trace(matrix) + 1
    last = min(missing + GUARD_VECTORS, matrix.shape[0] - indicators.shape[1]) - 1
    _, vectors = linalg.eigh(matrix + beyond * indicators @ indicators.T, subset_by_index=[0, last])
    return vectors


def _starting_block(
    indicators: NDArray, missing: int, start: NDArray | None, random_state: np.random.RandomState | None
) -> NDArray[np.float64]:
    """The last block without its part along the indicators, filled up with random columns."""
    n, width = indicators.shape[0], missing + GUARD_VECTORS
    if start is None:
        start = np.empty((n, 0))
    start = start - indicators @ (indicators.T @ start)
    left, strength, _ = linalg.svd(start, full_matrices=False)
    left = left[:, strength > 0.1][:, :width]
    generator = random_state if random_state is not None else np.random.RandomState(0)
    filler = generator.standard_normal((n, width - left.shape[1]))
    return np.hstack([left, filler / np.sqrt(n)])


def _iterated_rest(laplacian, degrees: NDArray, indicators: NDArray, missing: int, guess: NDArray) -> NDArray[np.float64]:
    """LOBPCG with Jacobi preconditioner, orthogonal to the indicators; LAPACK where it does not arrive."""
    n = degrees.size
    inverse = 1 / np.where(degrees > 0, degrees, 1.0)
    jacobi = LinearOperator((n, n), matvec=lambda v: v.ravel() * inverse, matmat=lambda V: V * inverse[:, None], dtype=float)
    tol = RELATIVE_TOL * 2 * degrees.max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what it reached is judged below
        values, vectors = lobpcg(laplacian, guess, M=jacobi, Y=indicators, tol=tol, maxiter=MAX_ITER, largest=False)
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    wanted = vectors[:, :missing]
    residual = np.linalg.norm(laplacian @ wanted - wanted * values[:missing], axis=0).max()
    if not residual <= 10 * tol and n <= DENSE_RESCUE_NODES:
        return _dense_rest(laplacian, indicators, missing)
    return vectors
