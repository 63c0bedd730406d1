"""The same concatenation baseline as `sklearn_spectral`, on views scaled as RMGL's scale='auto' does."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    import numpy as np
    from sklearn.cluster import SpectralClustering

    from rmgl.views import Views

    scaled = Views.of(views).scaled("auto").matrices
    table = np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in scaled])
    model = SpectralClustering(n_clusters, affinity="nearest_neighbors", n_neighbors=10, random_state=seed, n_jobs=n_threads)
    return model.fit_predict(table)
