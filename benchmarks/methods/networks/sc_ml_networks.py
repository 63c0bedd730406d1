"""SC-ML as implemented in this package, on the networks and the graphs of 15 nearest
neighbors in the features.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from given_networks import all_graphs

    from rmgl.baselines import SCML

    return SCML(n_clusters, precomputed=True, random_state=seed).fit_predict(all_graphs(views))
