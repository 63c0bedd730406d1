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
from sklearn.exceptions import ConvergenceWarning

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


def weighted_sum(adjacencies: Sequence[sparse.csr_array], weights: Sequence[float]) -> sparse.csr_array:
    """sum_m beta_m W_m, without the views of weight zero."""
    used = [weight * adjacency for adjacency, weight in zip(adjacencies, weights, strict=True) if weight > 0]
    return sparse.csr_array(sum(used[1:], start=used[0]))


def smallest_eigenvectors(
    adjacency: sparse.csr_array,
    n_vectors: int,
    *,
    normalized: bool = False,
    start: NDArray | None = None,
    random_state: np.random.RandomState | None = None,
) -> Embedding:
    """Eigenvectors of the `n_vectors` smallest eigenvalues of the Laplacian of a weighted graph.

    `normalized` takes I - D^-1/2 W D^-1/2 in place of D - W; a node without edges then has eigenvalue 0, too.

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
    degrees = adjacency.sum(axis=1)
    n_components, component = csgraph.connected_components(adjacency, directed=False)
    null = _null_vectors(component, np.sqrt(degrees) if normalized else np.ones_like(degrees), min(n_components, n_vectors))
    if normalized:
        adjacency, degrees = _normalize(adjacency, degrees)
    laplacian = _laplacian(adjacency, degrees)
    bound = 2 * float(degrees.max(initial=0.0))
    block = null
    if null.shape[1] < n_vectors:
        missing = n_vectors - null.shape[1]
        rest = smallest_beyond(laplacian, null, missing, diagonal=degrees, bound=bound, start=start, random_state=random_state)
        block = np.hstack([null, rest])
    return _judged(laplacian, block, n_vectors, null.shape[1], bound, int(n_components))


def smallest_beyond(
    matrix: Any,
    null: NDArray[np.float64],
    count: int,
    *,
    diagonal: NDArray[np.float64],
    bound: float,
    start: NDArray | None = None,
    random_state: np.random.RandomState | None = None,
) -> NDArray[np.float64]:
    """Eigenvectors of the `count` smallest eigenvalues of a symmetric matrix or operator, orthogonal to the known
    eigenvectors `null`, and a few more columns to start the next solve from.

    `bound` bounds the eigenvalues in size; the diagonal preconditions the iteration.
    """
    n = null.shape[0]
    if n <= max(DENSE_NODES, 10 * (count + null.shape[1])):
        return _dense_rest(matrix, null, count, bound)
    guess = _starting_block(null, count, start, random_state)
    return _iterated_rest(matrix, diagonal, null, count, guess, bound)


def _null_vectors(component: NDArray[np.intp], profile: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The profile cut to each of the `count` largest components, of length one; the largest first, ties by first node."""
    sizes = np.bincount(component)
    vectors = np.zeros((component.size, count))
    for column, label in enumerate(np.argsort(-sizes, kind="stable")[:count]):
        inside = component == label
        values = profile[inside] if profile[inside].any() else np.ones(sizes[label])
        vectors[inside, column] = values / np.linalg.norm(values)
    return vectors


def normalized_laplacian(adjacency: sparse.csr_array) -> sparse.csr_array:
    """I - D^-1/2 W D^-1/2; the row of a node without edges is zero."""
    scaled, diagonal = _normalize(adjacency, adjacency.sum(axis=1))
    return sparse.csr_array(sparse.diags_array(diagonal) - scaled)


def _normalize(adjacency: sparse.csr_array, degrees: NDArray) -> tuple[sparse.csr_array, NDArray]:
    """D^-1/2 W D^-1/2, and the diagonal that goes with it: 1, or 0 for a node without edges."""
    root = np.zeros_like(degrees)
    root[degrees > 0] = 1 / np.sqrt(degrees[degrees > 0])
    scaling = sparse.diags_array(root)
    return sparse.csr_array(scaling @ adjacency @ scaling), (degrees > 0).astype(np.float64)


def _laplacian(adjacency: sparse.csr_array, diagonal: NDArray) -> Any:
    """diag - W; dense where products with it are then faster."""
    n = adjacency.shape[0]
    if n <= DENSE_NODES or adjacency.nnz > n * n / 10:
        return np.diag(diagonal) - adjacency.toarray()
    return sparse.csr_array(sparse.diags_array(diagonal) - adjacency)


def _judged(laplacian: Any, block: NDArray, n_vectors: int, n_null: int, bound: float, n_components: int) -> Embedding:
    vectors = block[:, :n_vectors]
    image = laplacian @ vectors
    values = np.einsum("nk,nk->k", vectors, image)
    values[:n_null] = 0.0
    residual = np.linalg.norm(image - vectors * values, axis=0).max() / max(bound, np.finfo(float).tiny)
    return Embedding(vectors, values, float(residual), n_components, block)


def _dense_rest(matrix: Any, null: NDArray, count: int, bound: float) -> NDArray[np.float64]:
    """LAPACK, with the known eigenvectors moved above the spectrum."""
    n = null.shape[0]
    dense = matrix if isinstance(matrix, np.ndarray) else matrix @ np.eye(n)
    last = min(count + GUARD_VECTORS, n - null.shape[1]) - 1
    beyond = 2 * bound if bound > 0 else 1.0
    shifted = dense + beyond * null @ null.T
    try:
        return linalg.eigh(shifted, subset_by_index=[0, last])[1]
    except linalg.LinAlgError:  # the subset driver can fail on many equal eigenvalues; all of them always come out
        return linalg.eigh(shifted, driver="evd")[1][:, : last + 1]


def _starting_block(null: NDArray, count: int, start: NDArray | None, random_state: np.random.RandomState | None) -> NDArray[np.float64]:
    """The last block without its part along the known eigenvectors, filled up with random columns."""
    n, width = null.shape[0], count + GUARD_VECTORS
    if start is None:
        start = np.empty((n, 0))
    start = start - null @ (null.T @ start)
    left, strength, _ = linalg.svd(start, full_matrices=False)
    left = left[:, strength > 0.1][:, :width]
    generator = random_state if random_state is not None else np.random.RandomState(0)
    filler = generator.standard_normal((n, width - left.shape[1]))
    return np.hstack([left, filler / np.sqrt(n)])


def _iterated_rest(matrix: Any, diagonal: NDArray, null: NDArray, count: int, guess: NDArray, bound: float) -> NDArray[np.float64]:
    """LOBPCG with Jacobi preconditioner, orthogonal to the known eigenvectors; LAPACK where it does not arrive."""
    n = null.shape[0]
    inverse = 1 / np.where(diagonal > 0, diagonal, 1.0)
    jacobi = LinearOperator((n, n), matvec=lambda v: v.ravel() * inverse, matmat=lambda V: V * inverse[:, None], dtype=float)
    tol = RELATIVE_TOL * bound
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what it reached is judged below
        known = null if null.shape[1] else None
        values, vectors = lobpcg(matrix, guess, M=jacobi, Y=known, tol=tol, maxiter=MAX_ITER, largest=False)
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    wanted = vectors[:, :count]
    residual = np.linalg.norm(matrix @ wanted - wanted * values[:count], axis=0).max()
    if not residual <= 10 * tol:
        if n <= DENSE_RESCUE_NODES:
            return _dense_rest(matrix, null, count, bound)
        warnings.warn(f"eigenvectors missed their tolerance in {MAX_ITER} iterations", ConvergenceWarning, stacklevel=2)
    return vectors
