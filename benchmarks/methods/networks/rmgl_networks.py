"""RMGL with its defaults and links as `rmgl.Network`."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 60
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from given_networks import fit_networks

    return fit_networks(views, n_clusters, seed, n_threads, learn=False)
