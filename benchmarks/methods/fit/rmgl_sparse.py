"""RMGL with alpha and beta given, at which every layer of the digits has about 20 edges a node: the
sparse regime, nothing to choose.

The rows that this gives carry the edges a node of each layer.
"""

ALPHA = {"fac": 3.5, "fou": 1.4, "kar": 1.0, "mor": 0.007, "pix": 22.0, "zer": 0.68}
BETA = 5.0

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
DATASETS = ("digits", "mfeat")
WARM_UP_ROWS = None
QUICK = True


def cluster(views, n_clusters, seed, n_threads):
    from rmgl import RMGL

    model = RMGL(
        n_clusters,
        alpha=list(ALPHA.values()),
        beta=BETA,
        scale="none",
        random_state=seed,
        n_jobs=n_threads,
    ).fit(views)
    edges = [2 * layer.n_edges / layer.n_nodes for layer in model.layers_]
    return {
        "labels": model.labels_,
        "n_iter": model.n_iter_,
        "edges_per_node": edges,
        "stages": model.seconds_,
    }
