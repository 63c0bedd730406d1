"""SC-GED: spectral clustering of layers by generalized eigen-decomposition (Dong et al., 2012).

With L_i = I - D_i^-1 W_i = V_i Lambda_i V_i^-1 and ascending eigenvalues, the joint spectrum P and
its inverse Q solve

    minimize   1/2 sum_i ||L_i - P Lambda_i Q||_F^2 + ridge/2 (||P||_F^2 + ||Q||_F^2)
               + inverse/2 ||P Q - I||_F^2

Each block is a ridge regression with a closed-form solution (the gradient for Q in the paper is
incorrect, as finite differences show). With G = sum_i lambda_i lambda_i' + inverse, entry by entry:

    P ((Q Q') o G + ridge I) = sum_i L_i Q' Lambda_i + inverse Q'
    ((P' P) o G + ridge I) Q = sum_i Lambda_i P' L_i + inverse P'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score

from rmgl.baselines.baseline import spectral_rows
from rmgl.baselines.given_layers import LayersClusterer
from rmgl.baselines.gl_sigrep import DEFAULT_ALPHA
from rmgl.embedding.eigenvectors import normalized_laplacian, smallest_eigenvectors
from rmgl.embedding.labels import cluster_rows
from rmgl.estimators.base import number, whole_number
from rmgl.matrix import Floats
from rmgl.running.progress import warn_caller
from rmgl.running.threads import require_memory, team_of


class SCGED(LayersClusterer):
    """Spectral clustering by generalized eigen-decomposition: joint eigenvectors of all layers.

        minimize   1/2 sum_i ||L_i - P Lambda_i Q||_F^2 + ridge/2 (||P||_F^2 + ||Q||_F^2)
                   + inverse/2 ||P Q - I||_F^2

    where L_i is the random-walk Laplacian of layer i, and Lambda_i is the diagonal matrix of its
    eigenvalues. k-means clusters the first K columns of P. P starts at the eigenvectors of the
    layer whose spectral clustering agrees most with those of the other layers. The method needs
    several dense N x N matrices.

    Parameters
    ----------
    n_clusters : int
    ridge, inverse : float > 0
        Weights of the norms of P and Q, and of the difference between Q and the inverse of P.
    precomputed : bool
        Whether `fit` accepts adjacency matrices. Their diagonals are ignored. `fit` always
        recognizes `Layer` objects.
    alpha, beta, scale : parameters of the GL-SigRep layers, which `fit` learns from views
    views : column blocks of one table, optional
    tol : float
        Stop when the relative decrease in the objective is at most this value.
    max_iter : int
        Maximum number of rounds.
    n_init, n_jobs, random_state : as in `RMGL`

    Attributes
    ----------
    labels_, embedding_, view_names_, n_features_in_, n_iter_, converged_
    history_ : list of float
        Objective at the start and after every block step.
    first_layer_ : str
        Name of the layer from which P is initialized.
    layers_ : list of SigRepLayer, if `fit` learned layers

    References
    ----------
    X. Dong, P. Frossard, P. Vandergheynst and N. Nefedov, "Clustering with Multi-Layer Graphs: A
    Spectral Perspective", IEEE Transactions on Signal Processing, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl.baselines import SCGED
    >>> group = np.repeat([0, 1, 2], 5)
    >>> first = (group[:, None] == group) + 0.1 * ((group[:, None] < 2) & (group < 2))
    >>> second = (group[:, None] == group) + 0.1 * ((group[:, None] > 0) & (group > 0))
    >>> labels = SCGED(3, precomputed=True, random_state=0).fit_predict([first, second])
    >>> [len(set(labels[group == g])) for g in range(3)]
    [1, 1, 1]
    """

    _allowed = {
        **LayersClusterer._allowed,
        "ridge": (number(above=0),),
        "inverse": (number(above=0),),
        "tol": (number(least=0),),
        "max_iter": (whole_number(least=1),),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        ridge: float = 0.5,
        inverse: float = 100.0,
        precomputed: bool = False,
        alpha: float = DEFAULT_ALPHA,
        beta: float | str = "auto",
        scale: Any = "minmax",
        views: Any = None,
        tol: float = 1e-5,
        max_iter: int = 200,
        n_init: int = 10,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.ridge = ridge
        self.inverse = inverse
        self.precomputed = precomputed
        self.alpha = alpha
        self.beta = beta
        self.scale = scale
        self.views = views
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _embed(self, X: Any, random_state: np.random.RandomState) -> Floats:
        with team_of(self._n_threads(X)) as team:
            layers = self._check_layers(X, team)
        require_memory(
            8 * (8 + len(layers.names)) * layers.n_nodes**2,
            f"the dense matrices of SC-GED on {layers.n_nodes:,} nodes",
        )
        spectra = [random_walk_spectrum(adjacency) for adjacency in layers.adjacencies]
        first = most_informative(layers.adjacencies, self.n_clusters, random_state)
        start = random_walk_eigenvectors(layers.adjacencies[first])
        joint = joint_spectrum(
            spectra, *start, self.ridge, self.inverse, tol=self.tol, max_iter=self.max_iter
        )
        if not joint.converged:
            warn_caller(
                f"SC-GED did not converge in max_iter={self.max_iter} rounds: raise max_iter or "
                "tol",
                ConvergenceWarning,
            )
        self.first_layer_ = layers.names[first]
        self.history_, self.n_iter_ = joint.history, joint.n_rounds
        self.converged_ = joint.converged
        return joint.P[:, : self.n_clusters]


@dataclass(frozen=True)
class Spectrum:
    """L = I - D^-1 W and its eigenvalues in ascending order."""

    laplacian: Any
    values: Floats


def random_walk_laplacian(adjacency: sparse.csr_array) -> Any:
    """Return I - D^-1 W, as a dense array if more than a tenth of the entries are nonzero. A node
    without edges has a row of zeros.
    """
    degrees = adjacency.sum(axis=1)
    connected = (degrees > 0).astype(np.float64)
    laplacian = sparse.csr_array(
        sparse.diags_array(connected)
        - sparse.diags_array(connected / np.where(degrees > 0, degrees, 1.0)) @ adjacency
    )
    return laplacian.toarray() if laplacian.nnz > laplacian.shape[0] ** 2 / 10 else laplacian


def random_walk_spectrum(adjacency: sparse.csr_array) -> Spectrum:
    """Return the random-walk Laplacian of a graph with its eigenvalues."""
    values = linalg.eigvalsh(normalized_laplacian(adjacency).toarray())
    return Spectrum(random_walk_laplacian(adjacency), np.maximum(values, 0.0))


def random_walk_eigenvectors(adjacency: sparse.csr_array) -> tuple[Floats, Floats]:
    """Return V = D^-1/2 V_sym (real) and V^-1 = V_sym' D^1/2, with ascending eigenvalues.

    The eigenvectors for eigenvalue 0 belong to the components of the graph, largest first, so the
    leading columns do not mix components. A node without edges gets degree one.
    """
    degrees = adjacency.sum(axis=1)
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    symmetric = smallest_eigenvectors(adjacency, adjacency.shape[0], normalized=True).vectors
    return symmetric / root[:, None], symmetric.T * root


def most_informative(
    adjacencies: Sequence[sparse.csr_array],
    n_clusters: int,
    random_state: np.random.RandomState | None = None,
) -> int:
    """Return the layer whose spectral clustering agrees most with those of the others (NMI)."""
    if len(adjacencies) == 1:
        return 0
    labels = [
        cluster_rows(spectral_rows(A, n_clusters), n_clusters, random_state=random_state)
        for A in adjacencies
    ]
    agreement = np.array([[normalized_mutual_info_score(a, b) for b in labels] for a in labels])
    return int(np.argmax(agreement.sum(axis=1)))


@dataclass
class JointSpectrum:
    """P and Q, and the objective after every block step."""

    P: Floats
    Q: Floats
    converged: bool = False
    n_rounds: int = 0
    history: list[float] = field(default_factory=list)


def joint_spectrum(
    spectra: Sequence[Spectrum],
    P: Floats,
    Q: Floats,
    ridge: float,
    inverse: float,
    *,
    tol: float = 1e-5,
    max_iter: int = 200,
) -> JointSpectrum:
    """Minimize over P and over Q in turn, starting from the arguments. The objective never
    increases.
    """
    problem = JointProblem(spectra, ridge, inverse)
    joint = JointSpectrum(P, Q)
    gram_P, gram_Q = joint.P.T @ joint.P, joint.Q @ joint.Q.T
    target = problem.target_P(joint.Q)
    joint.history.append(problem.objective(gram_P, gram_Q, joint.P, target))
    for joint.n_rounds in range(1, max_iter + 1):
        joint.P = problem.solve(gram_Q, target.T).T
        gram_P = joint.P.T @ joint.P
        joint.history.append(problem.objective(gram_P, gram_Q, joint.P, target))
        target = problem.target_Q(joint.P)
        joint.Q = problem.solve(gram_P, target)
        gram_Q = joint.Q @ joint.Q.T
        joint.history.append(problem.objective(gram_P, gram_Q, joint.Q, target))
        target = problem.target_P(joint.Q)
        if joint.history[-3] - joint.history[-1] <= tol * joint.history[-3]:
            joint.converged = True
            break
    return joint


def squares(matrix: Any) -> float:
    """Return the sum of the squared entries of a dense or sparse matrix."""
    return float(np.square(matrix.data if sparse.issparse(matrix) else matrix).sum())


class JointProblem:
    """The SC-GED objective in terms of P'P and QQ', and the linear systems for its two blocks."""

    def __init__(self, spectra: Sequence[Spectrum], ridge: float, inverse: float) -> None:
        self.spectra, self.ridge, self.inverse = spectra, ridge, inverse
        self.weights = sum(np.outer(s.values, s.values) for s in spectra) + inverse  # G
        self.norms = sum(squares(s.laplacian) for s in spectra)

    def objective(self, gram_P: Floats, gram_Q: Floats, block: Floats, target: Floats) -> float:
        """Return the objective. `block` is P or Q with its target: <block, target> = sum_i <L_i, P
        Lambda_i Q> + inverse tr(PQ).
        """
        constant = self.norms + self.inverse * len(block)
        quadratic = float(np.einsum("ij,ij,ij->", gram_P, gram_Q, self.weights))
        cross = float(np.einsum("ij,ij->", block, target))
        return 0.5 * (
            constant
            - 2 * cross
            + quadratic
            + self.ridge * float(np.trace(gram_P) + np.trace(gram_Q))
        )

    def target_P(self, Q: Floats) -> Floats:
        """Return sum_i L_i Q' Lambda_i + inverse Q'."""
        target: Floats = (
            sum((s.laplacian @ Q.T) * s.values for s in self.spectra) + self.inverse * Q.T
        )
        return target

    def target_Q(self, P: Floats) -> Floats:
        """Return sum_i Lambda_i P' L_i + inverse P'."""
        target: Floats = (
            sum(s.values[:, None] * (s.laplacian.T @ P).T for s in self.spectra)
            + self.inverse * P.T
        )
        return target

    def solve(self, gram: Floats, target: Floats) -> Floats:
        """Return (gram o G + ridge I)^-1 target."""
        H = gram * self.weights
        H[np.diag_indices_from(H)] += self.ridge
        solution: Floats = linalg.solve(H, target, assume_a="pos")
        return solution
