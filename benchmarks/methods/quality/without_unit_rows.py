"""RMGL with k-means on the rows of the embedding as they are."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True
ABLATION = True


def cluster(views, n_clusters, seed, n_threads):
    from ablation import fit_predict

    return fit_predict(views, n_clusters, seed, n_threads, policy={"unit_rows": False})
