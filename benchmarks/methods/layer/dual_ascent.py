"""The iteration of the RMGL paper, on the same kernels as Newton's method."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
MAX_ITER = 10_000_000


def learn(X, alpha, tol, theta):
    from rmgl import learn_layer

    layer = learn_layer(X, alpha, tol=tol, solver="dual-ascent", max_iter=MAX_ITER)
    return {"u": layer.potentials, "n_iter": layer.n_iter, "n_passes": layer.n_passes}
