"""The layer problem (P) stated for CVXPY.

It is a quadratic program with a diagonal Hessian and a sparse constraint matrix. The unknowns are
the weights w and degrees d, with S w = d, where S sums the weights at each node. The multipliers of
this constraint are the dual vector u of the layer problem.
"""

import cvxpy
import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist


def solve(X, alpha, **options):
    """Return weights, dual vector and solver statistics. `options` are for `Problem.solve`."""
    n = len(X)
    z = pdist(X, "sqeuclidean")
    i, j = np.triu_indices(n, 1)
    pairs = np.arange(z.size)
    S = sparse.csr_array(
        (np.ones(2 * z.size), (np.concatenate([i, j]), np.concatenate([pairs, pairs]))),
        shape=(n, z.size),
    )
    w, d = cvxpy.Variable(z.size), cvxpy.Variable(n)
    objective = z @ w + alpha * (cvxpy.sum_squares(d) + 2 * cvxpy.sum_squares(w))
    degrees = S @ w == d
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [degrees, cvxpy.sum(d) == n, w >= 0])
    problem.solve(**options)
    W = sparse.csr_array((w.value, (i, j)), shape=(n, n))
    statistics = problem.solver_stats
    return {
        "W": W + W.T,
        "u": -degrees.dual_value,
        "n_iter": statistics.num_iters,
        "solver_seconds": statistics.solve_time,
        "solver_status": problem.status,
    }
