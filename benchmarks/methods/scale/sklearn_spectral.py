"""scikit-learn's SpectralClustering on the same views, concatenated, in the same run."""

ENVIRONMENT = "main"
LARGEST = 100_000


def cluster(views, n_clusters, seed, n_threads):
    from spectral import of_spreads

    return of_spreads(views, n_clusters, seed, n_threads)
