"""RMGL with the defaults of version 0.1: three passes of guidance, and nothing against fragments."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True
ABLATION = True


def cluster(views, n_clusters, seed, n_threads):
    from ablation import fit_predict

    first = {"guidance": (0.1, 0.3, 1.0), "neighbor_share": 0.0, "small_component": 0.0, "small_cluster": 0.0, "consensus_share": 0.0}
    return fit_predict(views, n_clusters, seed, n_threads, policy=first)
