"""mvlearn 0.5.0, `MultiviewCoRegSpectralClustering` with its defaults (Gaussian kernel with
median width, 10 rounds).
"""

ENVIRONMENT = "modern"
PACKAGES = ["mvlearn"]


def cluster(views, n_clusters, seed, n_threads):
    from mvlearn.cluster import MultiviewCoRegSpectralClustering

    return MultiviewCoRegSpectralClustering(n_clusters=n_clusters, random_state=seed).fit_predict(
        views
    )
