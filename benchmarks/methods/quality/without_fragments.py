"""RMGL with fragments taking part in the embedding."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True
ABLATION = True


def cluster(views, n_clusters, seed, n_threads):
    from ablation import fit_predict

    return fit_predict(views, n_clusters, seed, n_threads, policy={"small_cluster": 0.0})
