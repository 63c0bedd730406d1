"""RMGL with alpha for about 20 edges a node and a light coupling, with seconds and peak memory of
its stages and the certificates of its layers. Weighing the views and a consensus layer, which come
on top with the defaults, are not part of it."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 6000  # enough for lists of neighbors instead of all pairs
LARGEST = 300_000


def cluster(views, n_clusters, seed, n_threads):
    import numpy as np
    from traced import fit

    from rmgl import RMGL
    from rmgl.model.problems import default_alpha, default_beta

    alpha = np.array([default_alpha(X) for X in views])
    beta = default_beta(alpha, len(views[0]), n_clusters)
    return fit(
        RMGL(n_clusters, alpha=alpha, beta=beta, scale="none", random_state=seed, n_jobs=n_threads),
        views,
    )
