"""RMGL with the same share of every view in the distances of the consensus."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True
ABLATION = True


def cluster(views, n_clusters, seed, n_threads):
    from ablation import fit_predict

    return fit_predict(views, n_clusters, seed, n_threads, constants={"DISTANCE_POWER": 0.0})
