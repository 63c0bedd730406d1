"""k-means on the concatenated views, scaled as RMGL's scale='auto' does and divided by their total standard deviations."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    import numpy as np
    from sklearn.cluster import KMeans

    from rmgl.views import Views

    scaled = Views.of(views).scaled("auto").matrices
    table = np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in scaled])
    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(table)
