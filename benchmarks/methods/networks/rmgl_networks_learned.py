"""RMGL with its defaults and links as `rmgl.Network(..., learn=True)`. acm is left out: its
relations join a quarter of all pairs, and a fit takes minutes.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
DATASETS = (
    "aucs",
    "citeseer",
    "cora",
    "karate",
    "lazega_office",
    "seventh_sex",
    "texas",
    "webkb",
    "women",
)
WARM_UP_ROWS = 60
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from given_networks import fit_networks

    return fit_networks(views, n_clusters, seed, n_threads, learn=True)
