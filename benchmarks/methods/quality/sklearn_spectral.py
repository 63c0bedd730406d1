"""scikit-learn's SpectralClustering with 10 nearest neighbors, on the concatenated views, each
divided by its total standard deviation.
"""

ENVIRONMENT = "main"
QUICK = True


def cluster(views, n_clusters, seed, n_threads):
    from spectral import of_spreads

    return of_spreads(views, n_clusters, seed, n_threads)
