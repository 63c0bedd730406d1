"""RMGL with its defaults: everything chosen from the data alone."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = None  # all: which code runs depends on the size
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from rmgl import RMGL

    model = RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit(views)
    edges = [2 * layer.n_edges / layer.n_nodes for layer in model.layers_]
    trust = {"trust": model.report_.trust.word, "reasons": model.report_.trust.reasons}
    return {"labels": model.labels_, "n_iter": model.n_iter_, "edges_per_node": edges, "stages": model.seconds_, **trust}
