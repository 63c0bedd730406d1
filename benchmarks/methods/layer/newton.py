"""This package's Newton method as users call it: from a cold start, with candidate pairs chosen
based on the size and alpha.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = None  # all rows, because the code that runs depends on the size


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
