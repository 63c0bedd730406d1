"""RMGL with the parameters the paper gives for the digits: 60 to 1200 edges a node."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
DATASETS = ("digits", "mfeat")
WARM_UP_ROWS = None
QUICK = True


def cluster(views, n_clusters, seed, n_threads):
    from rmgl import RMGL
    from rmgl.datasets.uci_digits import PAPER_PARAMETERS

    model = RMGL(
        n_clusters, scale="none", random_state=seed, n_jobs=n_threads, **PAPER_PARAMETERS
    ).fit(views)
    edges = [2 * layer.n_edges / layer.n_nodes for layer in model.layers_]
    return {
        "labels": model.labels_,
        "n_iter": model.n_iter_,
        "edges_per_node": edges,
        "stages": model.seconds_,
    }
