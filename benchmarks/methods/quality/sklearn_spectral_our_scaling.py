"""The same baseline as `sklearn_spectral`, on views scaled as with RMGL's scale='auto'."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from concatenation import concatenated
    from spectral import spectral_labels

    return spectral_labels(concatenated(views), n_clusters, seed, n_threads)
