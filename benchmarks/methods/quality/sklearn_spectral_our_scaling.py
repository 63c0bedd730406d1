"""The concatenation baseline of `sklearn_spectral` on views scaled as RMGL's scale='auto' does."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from concatenation import concatenated
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(
        n_clusters,
        affinity="nearest_neighbors",
        n_neighbors=10,
        random_state=seed,
        n_jobs=n_threads,
    )
    return model.fit_predict(concatenated(views))
