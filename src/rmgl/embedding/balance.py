"""Masses of the entities, which weight hubs and leaves of networks by their degrees.

    minimize   tr(Q' (L + t U) Q)   subject to   Q' C Q = I_K,       L = sum_m beta_m L_m

Learned layers have nearly equal degrees, and C = I, t = 0 is the paper's problem. Networks
have hubs and leaves, and the smallest eigenvectors of L alone concentrate on a few leaves. With
C = (D + t I) / c, D the degrees of L, a cut is compared with the degrees on its smaller side, as in
the normalized cut. U = I - 11'/N is the uniform graph, in which an edge of weight 1/N joins any two
entities. With t a tenth of the mean degree, it joins components, and small parts with few links to
others cost more than they gain. The constant c makes the mean mass one.

With equal degrees, C = I and U does not change the eigenvectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_numbers
from rmgl.embedding.common_graph import Graph
from rmgl.embedding.lanczos import Symmetric, laplacian_of
from rmgl.matrix import Floats, Indices
from rmgl.running.threads import InParts, one_part

UNIFORM = 0.1
"""Degree of an entity in the uniform graph, as a share of the mean degree."""


@record
@dataclass(frozen=True, eq=False)
class Balance:
    """The masses of the entities, and the weight of the uniform graph.

    Examples
    --------
    A star with three leaves: the degrees are 3, 1, 1 and 1, and their mean is 1.5.

    >>> import numpy as np
    >>> star = np.zeros((4, 4))
    >>> star[0, 1:] = star[1:, 0] = 1.0
    >>> balance = Balance.of(star)
    >>> round(balance.uniform, 3), balance.mass.round(3).tolist()
    (0.15, [1.909, 0.697, 0.697, 0.697])
    """

    mass: Floats
    """The diagonal of C, with a mean of one over all entities."""
    uniform: float
    """The degree t of every entity in the uniform graph."""
    unit: float
    """The constant c: the degree of an entity of mass one, including the uniform graph."""

    @classmethod
    def of(cls, graph: Graph) -> Balance:
        """Compute the masses of the nodes of a graph from their degrees."""
        degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
        mean = float(degrees.mean()) or 1.0
        unit = float((degrees + UNIFORM * mean).mean())
        return cls((degrees + UNIFORM * mean) / unit, UNIFORM * mean, unit)

    def among(self, nodes: Indices) -> Balance:
        """Return the masses of the given nodes, in the order of `nodes`."""
        return replace(self, mass=self.mass[nodes])

    def orthonormal(self, vectors: Floats) -> Floats:
        """Return C^1/2 Q, whose columns are orthonormal."""
        return np.sqrt(self.mass)[:, None] * vectors

    def laplacian(self, graph: Graph, in_parts: InParts = one_part) -> tuple[Symmetric, float]:
        """Return C^-1/2 (L + t U) C^-1/2 of a graph, and a bound on its spectrum."""
        root = 1 / np.sqrt(self.mass)
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        diagonal = (degrees + self.uniform) / self.mass
        if sparse.issparse(graph):
            own = sparse.csr_array(sparse.diags_array(root) @ graph @ sparse.diags_array(root))
        else:
            own = root[:, None] * graph * root
        vector = np.sqrt(self.uniform / root.size) * root
        # L is at most 2 D, and U at most I
        bound = 2 * float(diagonal.max())
        return WithUniform(laplacian_of(own, diagonal, in_parts), vector), bound

    def uniform_term(self, vectors: Floats) -> float:
        """Compute t tr(Q' U Q) from the rows of Q."""
        centered = vectors - vectors.mean(axis=0)
        return self.uniform * float(np.square(centered).sum())

    def place(self, sums: Floats, degrees: Floats, mean: Floats, values: Floats) -> Floats:
        """Return rows of Q that solve the eigenvector equation at new nodes with these degrees.

            q = (sum_j w_j q_j + t mean(q)) / ((d + t) (1 - lambda / c))

        `sums` are the sums over their edges and `mean` is the mean row of all entities. The
        divisor is at least half of d + t.
        """
        total = (degrees + self.uniform)[:, None]
        return (sums + self.uniform * mean) / (total * np.maximum(1 - values / self.unit, 0.5))

    def check(self, n_rows: int) -> None:
        """Raise `Unsound` unless masses and weights are valid for `n_rows` entities."""
        sound_numbers("the masses of the entities", self.mass, (n_rows,), least=0.0)
        if not self.mass.min() > 0 or not self.uniform > 0 or not np.isfinite(self.unit):
            raise Unsound("the mass of an entity or the weight of the uniform graph is not above 0")
        if not self.unit > 0:
            raise Unsound("the degree of an entity of mass one is not above 0")


@dataclass(frozen=True)
class WithUniform:
    """A symmetric matrix minus v v': the uniform graph among nodes with masses."""

    matrix: Symmetric
    vector: Floats
    """v_i = sqrt(t / (N c_i))."""

    def times(self, V: Floats) -> Floats:
        return self.matrix.times(V) - (
            self.vector * (self.vector @ V)
            if V.ndim == 1
            else np.outer(self.vector, self.vector @ V)
        )

    def toarray(self) -> Floats:
        return self.matrix.toarray() - np.outer(self.vector, self.vector)
