"""This package's Newton method over all pairs, from a cold start."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]


def learn(X, alpha, tol, theta):
    import os

    from rmgl import learn_layer

    n_jobs = int(os.environ["OMP_NUM_THREADS"])
    layer = learn_layer(X, alpha, tol=tol, n_jobs=n_jobs, candidates="all")
    return {
        "u": layer.potentials,
        "n_iter": layer.n_iter,
        "n_passes": layer.n_passes,
        "candidates": layer.candidates,
    }
