"""polyview 0.1.0, `MultiViewCoRegSpectralClustering` with its defaults."""

ENVIRONMENT = "modern"
PACKAGES = ["polyview"]


def cluster(views, n_clusters, seed, n_threads):
    from polyview.cluster import MultiViewCoRegSpectralClustering

    return MultiViewCoRegSpectralClustering(n_clusters=n_clusters, random_state=seed).fit_predict(
        views
    )
