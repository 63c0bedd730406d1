"""k-means on the concatenated views, scaled as RMGL's scale='auto' does and divided by their total
standard deviations.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from concatenation import concatenated
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(concatenated(views))
