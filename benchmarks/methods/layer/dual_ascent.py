"""The RMGL paper's algorithm over all pairs, with the same kernels as Newton's method."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
MAX_ITER = 10_000_000


def learn(X, alpha, tol, theta):
    import os

    from rmgl import learn_layer

    n_jobs = int(os.environ["OMP_NUM_THREADS"])
    layer = learn_layer(
        X, alpha, tol=tol, n_jobs=n_jobs, candidates="all", solver="dual-ascent", max_iter=MAX_ITER
    )
    return {
        "u": layer.potentials,
        "n_iter": layer.n_iter,
        "n_passes": layer.n_passes,
        "candidates": layer.candidates,
    }
