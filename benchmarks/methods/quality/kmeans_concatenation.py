"""k-means on the concatenated views, each scaled as with RMGL's scale='auto' and divided by its
total standard deviation.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from concatenation import concatenated
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(concatenated(views))
