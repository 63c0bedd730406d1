"""Newton's method of this package, from a cold start."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]


def learn(X, alpha, tol, theta):
    from rmgl import learn_layer

    layer = learn_layer(X, alpha, tol=tol)
    return {"u": layer.potentials, "n_iter": layer.n_iter, "n_passes": layer.n_passes}
