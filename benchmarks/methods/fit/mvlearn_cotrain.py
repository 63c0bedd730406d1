"""mvlearn 0.5.0, `MultiviewSpectralClustering` (co-training) with its defaults (Gaussian kernel of
median width, 10 rounds).
"""

ENVIRONMENT = "modern"
PACKAGES = ["mvlearn"]


def cluster(views, n_clusters, seed, n_threads):
    from mvlearn.cluster import MultiviewSpectralClustering

    return MultiviewSpectralClustering(n_clusters=n_clusters, random_state=seed).fit_predict(views)
