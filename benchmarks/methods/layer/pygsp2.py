"""PyGSP2 2.0.15: the log-degree model of Kalofolias (2016), `graph_log_degree`.

This model differs from (P): minimize 2 theta z'w + ||w||^2 - sum_i log d_i, with theta as in
graph_structure_learning. The function divides z by its maximum, which a = b = 1 / (theta max z)
undoes. Above about 300 nodes, its default step exceeds the bound for convergence; the step here is
half that bound. It stops according to its own rule, a relative change of `tol`.
"""

ENVIRONMENT = "modern"
PACKAGES = ["pygsp2"]
MAX_ITER = 1_000_000


def learn(X, alpha, tol, theta):
    import numpy as np
    from pygsp2.graph_learning import graph_log_degree
    from scipy.spatial.distance import pdist, squareform

    z = pdist(X, "sqeuclidean")
    weight = 1 / (theta * z.max())
    step = 0.5 / (2 * weight + np.sqrt(2 * (len(X) - 1)))
    W = graph_log_degree(
        squareform(z), a=weight, b=weight, tol=tol, maxiter=MAX_ITER, gamma=step, verbose=False
    )
    return {"W": W, "model": "log-degree"}
