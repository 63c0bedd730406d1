"""polyview 0.1.0, `MultiViewCoTrainSpectralClustering` with its defaults."""

ENVIRONMENT = "modern"
PACKAGES = ["polyview"]


def cluster(views, n_clusters, seed, n_threads):
    from polyview.cluster import MultiViewCoTrainSpectralClustering

    return MultiViewCoTrainSpectralClustering(n_clusters=n_clusters, random_state=seed).fit_predict(
        views
    )
