"""Newton's method of this package as a user calls it: from a cold start, candidate pairs chosen by
the size and alpha.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = None  # all: which code runs depends on the size


def learn(X, alpha, tol, theta):
    import os

    from rmgl import learn_layer

    n_jobs = int(os.environ["OMP_NUM_THREADS"])
    layer = learn_layer(X, alpha, tol=tol, n_jobs=n_jobs)
    return {
        "u": layer.potentials,
        "n_iter": layer.n_iter,
        "n_passes": layer.n_passes,
        "candidates": layer.candidates,
    }
