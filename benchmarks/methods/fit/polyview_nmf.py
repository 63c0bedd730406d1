"""polyview 0.1.0, `MultiViewNMF` with its defaults."""

ENVIRONMENT = "modern"
PACKAGES = ["polyview"]


def cluster(views, n_clusters, seed, n_threads):
    from polyview.cluster import MultiViewNMF

    return MultiViewNMF(n_components=n_clusters, random_state=seed).fit_predict(views)
