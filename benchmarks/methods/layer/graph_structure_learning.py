"""graph-structure-learning 0.1.3: the log-degree model of Kalofolias (2016), solved with a
primal-dual method.

This model differs from (P): minimize 2 theta z'w + ||w||^2 - sum_i log d_i. Kalofolias and
Perraudin's rule chooses theta so that the graph has about as many edges as the layer. The method
stops according to its own rule, a relative change of `tol`. No edges are dropped afterwards.
"""

ENVIRONMENT = "modern"
PACKAGES = ["graph-structure-learning"]
MAX_ITER = 1_000_000


def learn(X, alpha, tol, theta):
    from graph_learn.smooth_learning import gsp_learn_graph_log_degrees
    from scipy.spatial.distance import pdist

    z = theta * pdist(X, "sqeuclidean")
    W = gsp_learn_graph_log_degrees(z, 1.0, 1.0, maxit=MAX_ITER, tol=tol, edge_tol=0.0)
    return {"W": W, "model": "log-degree"}
