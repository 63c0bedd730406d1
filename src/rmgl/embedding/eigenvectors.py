"""The common embedding: eigenvectors for the K smallest eigenvalues of a weighted sum of layers.

    minimize   tr(Q' L Q)   subject to   Q'Q = I_K,       L = sum_m beta_m L_m

A graph with C components has the eigenvalue 0 exactly C times, with the component indicators as
eigenvectors. The indicators come from the components themselves (counted in the graph, not by
thresholding eigenvalues). Only the remaining eigenvectors are computed, orthogonal to the
indicators, because an iterative solver would miss copies of a repeated eigenvalue. With more than K
components, every choice of K null vectors is optimal; the embedding uses the indicators of the K
largest components, so nodes outside them are at the origin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackError
from sklearn.exceptions import ConvergenceWarning

from rmgl.checks import Unsound, sound_numbers
from rmgl.embedding.balance import Balance
from rmgl.embedding.common_graph import Graph, components
from rmgl.embedding.lanczos import DENSE_NODES, Symmetric, laplacian_of, smallest_pairs
from rmgl.matrix import Floats, Indices, Mask
from rmgl.running.checkpoint import Checkpoint, Found, check_arrays, digest_of
from rmgl.running.progress import warn_caller
from rmgl.running.threads import InParts, one_part, require_memory

LARGE_NODES = 100_000
"""Number of nodes beyond which a vector exceeds the cache, so that nodes are sorted first."""
DENSE_RESCUE_NODES = 6000
"""Number of nodes up to which LAPACK is used if the iteration does not converge."""
QUICK_NODES = 10_000
"""Number of nodes up to which eigenvectors are computed again instead of being kept."""
MAX_PRODUCTS = 10_000
LOOSER = 100.0
"""Factor that raises a tolerance not met within `MAX_PRODUCTS` products."""
LONGEST_ENTRY = 1.01
"""Largest valid entry of a unit vector read from a file, with room for rounding."""
RESIDUAL_TOL = 1e-8
"""Tolerance of residuals, relative to a bound on the spectrum."""


@dataclass(frozen=True)
class Embedding:
    """K orthonormal columns and how well they solve the eigenvalue problem."""

    vectors: Floats
    """(N, K), eigenvalues ascending."""
    values: Floats
    residual: float
    """max_k ||L q_k - lambda_k q_k|| divided by 2 max_i L_ii, a bound on the spectrum."""
    n_components: int
    """Connected components of the summed graph."""
    fragments: Mask | None = None
    """Nodes that take no part in the embedding (None: all do); their rows are zero."""

    @property
    def own(self) -> Floats:
        """The rows of the nodes that take part in the embedding."""
        return self.vectors if self.fragments is None else self.vectors[~self.fragments]

    def arrays(self) -> Found:
        """Return the parts of the embedding as arrays, for a checkpoint."""
        return {
            "vectors": self.vectors,
            "values": self.values,
            "quality": np.array([self.residual, self.n_components]),
        }

    @classmethod
    def of(cls, found: Found) -> Embedding:
        """Make the embedding of all nodes from these parts."""
        residual, n_components = found["quality"].tolist()
        return cls(found["vectors"], found["values"], residual, int(n_components))

    def among(self, nodes: Indices, fragments: Mask) -> Embedding:
        """Extend this embedding of the given nodes to all, with rows of zeros for the fragments."""
        vectors = np.zeros((fragments.size, self.vectors.shape[1]))
        vectors[nodes] = self.vectors
        return replace(self, vectors=vectors, fragments=fragments)


def check_embedding(found: Found, shape: tuple[int, int], longest: float = 1.0) -> None:
    """Raise `Unsound` unless these are valid parts of an embedding of that shape.

    `longest` bounds the entries of its columns.
    """
    check_arrays(found, "vectors", "values", "quality")
    sound_numbers("the eigenvectors", found["vectors"], shape)
    sound_numbers("the eigenvalues", found["values"], shape[1:])
    _, n_components = sound_numbers("the quality", found["quality"], (2,), least=0.0).tolist()
    too_long = np.abs(found["vectors"]).max() > LONGEST_ENTRY * longest
    if n_components not in range(1, shape[0] + 1) or too_long:
        raise Unsound(
            "an eigenvector is too long, or the graph cannot have this number of components"
        )


def smallest_eigenvectors(
    adjacency: Graph,
    n_vectors: int,
    *,
    normalized: bool = False,
    tol: float = RESIDUAL_TOL,
    in_parts: InParts = one_part,
    alike: Indices | None = None,
    checkpoint: Checkpoint | None = None,
    balance: Balance | None = None,
) -> Embedding:
    """Compute eigenvectors for the smallest eigenvalues of a weighted graph's Laplacian.

    `n_vectors` is their number. `normalized` uses I - D^-1/2 W D^-1/2 instead of D - W; a node
    without edges then also adds an eigenvalue of 0. `alike` gives each node a number below the
    number of nodes; nodes with the same number have the same edges (None: unknown). A checkpoint
    keeps the eigenvectors of large graphs. With a `balance`, the problem is
    (L + t U) q = lambda C q, and Q' C Q = I.

    Examples
    --------
    Two components: the two eigenvectors with eigenvalue 0 are their indicators.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> graph = sparse.csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> embedding = smallest_eigenvectors(graph, 2)
    >>> embedding.n_components, embedding.values.tolist()
    (2, [0.0, 0.0])
    """
    is_large = sparse.issparse(adjacency) and adjacency.shape[0] > LARGE_NODES
    solver = _in_near_order if is_large else _solved
    solve = partial(
        solver,
        adjacency,
        n_vectors,
        alike,
        balance,
        normalized=normalized,
        tol=tol,
        in_parts=in_parts,
    )
    if checkpoint is None or adjacency.shape[0] <= QUICK_NODES:
        return solve()
    masses = () if balance is None else (balance.mass, balance.uniform)
    name = f"eigenvectors-{digest_of(adjacency, n_vectors, normalized, tol, alike, *masses)}"
    shape = (adjacency.shape[0], n_vectors)
    longest = 1.0 if balance is None else 1 / float(np.sqrt(balance.mass.min()))
    return Embedding.of(
        checkpoint.step(
            name,
            lambda: solve().arrays(),
            lambda found: check_embedding(found, shape, longest),
        )
    )


def _in_near_order(
    adjacency: sparse.csr_array,
    n_vectors: int,
    alike: Indices | None,
    balance: Balance | None,
    **options: Any,
) -> Embedding:
    """Solve with neighbors near each other, so that products find their entries in the cache."""
    order = csgraph.reverse_cuthill_mckee(adjacency, symmetric_mode=True)
    ordered = sparse.csr_array(adjacency[order][:, order])
    alike = None if alike is None else alike[order]
    balance = None if balance is None else balance.among(order)
    embedding = _solved(ordered, n_vectors, alike, balance, **options)
    vectors = np.empty_like(embedding.vectors)
    vectors[order] = embedding.vectors
    return replace(embedding, vectors=vectors)


def _solved(
    adjacency: Graph,
    n_vectors: int,
    alike: Indices | None,
    balance: Balance | None,
    *,
    normalized: bool,
    tol: float,
    in_parts: InParts,
) -> Embedding:
    """Compute the embedding with the nodes in their current order."""
    if balance is not None:
        return _balanced(adjacency, n_vectors, alike, balance, tol, in_parts)
    degrees = adjacency.sum(axis=1)
    n_components, component = components(adjacency)
    profile = np.sqrt(degrees) if normalized else np.ones_like(degrees)
    null = _null_vectors(component, profile, min(n_components, n_vectors))
    if normalized:
        adjacency, degrees = _normalize(adjacency, degrees)
    laplacian = laplacian_of(adjacency, degrees, in_parts)
    bound = 2 * float(degrees.max(initial=0.0))
    block, n_null = null, null.shape[1]
    if n_null < n_vectors:
        spectrum = (0.0, bound if normalized else _largest_eigenvalue_bound(adjacency, degrees))
        rest = smallest_beyond(
            laplacian, null, n_vectors - n_null, spectrum=spectrum, tol=tol * bound, alike=alike
        )
        block = np.hstack([null, rest])
    return _judged(laplacian, block, n_null, bound, n_components)


def _balanced(
    adjacency: Graph,
    n_vectors: int,
    alike: Indices | None,
    balance: Balance,
    tol: float,
    in_parts: InParts,
) -> Embedding:
    """Compute Q = C^-1/2 V from the eigenvectors V of C^-1/2 (L + t U) C^-1/2.

    The uniform graph joins all nodes, so only the constant vector has eigenvalue 0.
    """
    matrix, bound = balance.laplacian(adjacency, in_parts)
    block = balance.orthonormal(np.ones((balance.mass.size, 1)))
    block /= np.linalg.norm(block)
    if n_vectors > 1:
        options: dict[str, Any] = {"spectrum": (0.0, bound), "tol": tol * bound, "alike": alike}
        block = np.hstack([block, smallest_beyond(matrix, block, n_vectors - 1, **options)])
    found = _judged(matrix, block, 1, bound, components(adjacency)[0])
    return replace(found, vectors=block / np.sqrt(balance.mass)[:, None])


def smallest_beyond(
    matrix: Symmetric,
    null: Floats,
    count: int,
    *,
    spectrum: tuple[float, float],
    tol: float | None = None,
    alike: Indices | None = None,
) -> Floats:
    """Compute eigenvectors for the `count` smallest eigenvalues, orthogonal to known ones (`null`).

    All eigenvalues lie in the interval `spectrum`. The residuals are at most `tol`, by default 1e-8
    times the length of that interval. `alike` is as in `smallest_eigenvectors`.
    """
    n = null.shape[0]
    if n <= min(max(DENSE_NODES, 10 * (count + null.shape[1])), DENSE_RESCUE_NODES):
        return _dense_rest(matrix, null, count, spectrum)
    if tol is None:
        tol = RESIDUAL_TOL * (spectrum[1] - spectrum[0])
    while True:
        try:
            return smallest_pairs(
                matrix, spectrum, null, count, tol=tol, max_products=MAX_PRODUCTS, alike=alike
            )
        except ArpackError:
            if n <= DENSE_RESCUE_NODES:
                return _dense_rest(matrix, null, count, spectrum)
            warn_caller(
                f"the eigenvectors did not converge in {MAX_PRODUCTS} matrix products; "
                "continuing with a larger tolerance",
                ConvergenceWarning,
            )
            tol *= LOOSER


def signed(vectors: Floats) -> Floats:
    """Flip the signs of columns so that their largest entries are positive.

    The sign of an eigenvector is arbitrary, and figures should be reproducible.
    """
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def unit_rows(vectors: Floats) -> Floats:
    """Scale rows to length one; rows of zeros stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def _null_vectors(component: Indices, profile: Floats, count: int) -> Floats:
    """Return unit vectors with the entries of `profile` on each of the `count` largest components.

    The largest component comes first.
    """
    sizes = np.bincount(component)
    vectors = np.zeros((component.size, count))
    for column, label in enumerate(np.argsort(-sizes, kind="stable")[:count]):
        inside = component == label
        values = profile[inside] if profile[inside].any() else np.ones(sizes[label])
        vectors[inside, column] = values / np.linalg.norm(values)
    return vectors


def normalized_laplacian(adjacency: sparse.csr_array) -> sparse.csr_array:
    """Return I - D^-1/2 W D^-1/2; the row of a node without edges is zero."""
    scaled, diagonal = _normalize(adjacency, adjacency.sum(axis=1))
    return sparse.csr_array(sparse.diags_array(diagonal) - scaled)


def _normalize(adjacency: sparse.csr_array, degrees: Floats) -> tuple[sparse.csr_array, Floats]:
    """Return D^-1/2 W D^-1/2 and the diagonal of its Laplacian: 1, or 0 at nodes without edges."""
    root = np.zeros_like(degrees)
    root[degrees > 0] = 1 / np.sqrt(degrees[degrees > 0])
    scaling = sparse.diags_array(root)
    return sparse.csr_array(scaling @ adjacency @ scaling), (degrees > 0).astype(np.float64)


def _largest_eigenvalue_bound(adjacency: Graph, degrees: Floats) -> float:
    """Return max_i d_i + (mean degree of i's neighbors), a bound on the eigenvalues of D - W.

    It follows from the Gershgorin discs of D^-1 (D - W) D.
    """
    means = (adjacency @ degrees) / np.where(degrees > 0, degrees, 1.0)
    return float((degrees + means).max(initial=0.0))


def judged(
    adjacency: Graph,
    embedding: Embedding,
    in_parts: InParts = one_part,
    balance: Balance | None = None,
) -> Embedding:
    """Compute eigenvalues, residual and number of components of an embedding on another graph."""
    n_components, _ = components(adjacency)
    if balance is not None:
        matrix, bound = balance.laplacian(adjacency, in_parts)
        vectors = balance.orthonormal(embedding.vectors)
        found = _judged(matrix, vectors, 0, bound, n_components)
        return replace(found, vectors=embedding.vectors, values=np.maximum(found.values, 0.0))
    degrees = adjacency.sum(axis=1)
    bound = 2 * float(degrees.max(initial=0.0))
    laplacian = laplacian_of(adjacency, degrees, in_parts)
    judged = _judged(laplacian, embedding.vectors, 0, bound, n_components)
    return replace(judged, values=np.maximum(judged.values, 0.0))


def _judged(
    laplacian: Symmetric, vectors: Floats, n_null: int, bound: float, n_components: int
) -> Embedding:
    """Judge orthonormal columns as eigenvectors; the first `n_null` eigenvalues are 0."""
    image = laplacian.times(vectors)
    values = np.einsum("nk,nk->k", vectors, image)
    values[:n_null] = 0.0
    errors = np.linalg.norm(image - vectors * values, axis=0)
    residual = errors.max() / max(bound, np.finfo(float).tiny)
    return Embedding(vectors, values, float(residual), n_components)


def _dense_rest(
    matrix: Symmetric, null: Floats, count: int, spectrum: tuple[float, float]
) -> Floats:
    """Compute the other eigenvectors by LAPACK, with known eigenvalues moved above the spectrum."""
    n = null.shape[0]
    if n > DENSE_NODES:
        purpose = f"eigenvectors of a graph of {n:,} nodes"
        require_memory(5 * 8 * n * n, purpose, "use fewer clusters or fewer rows")
    beyond = 2 * max(map(abs, spectrum)) or 1.0
    shifted = matrix.toarray() + beyond * null @ null.T
    try:
        _, vectors = linalg.eigh(shifted, subset_by_index=[0, count - 1])
    # the subset driver can fail on many equal eigenvalues; the driver for all eigenvalues does not
    except linalg.LinAlgError:
        _, vectors = linalg.eigh(shifted, driver="evd")
    rest: Floats = vectors[:, :count]
    return rest
