"""scikit-learn's SpectralClustering of 10 nearest neighbors, on the views side by side, each
divided by its total standard deviation.
"""

ENVIRONMENT = "main"
QUICK = True


def cluster(views, n_clusters, seed, n_threads):
    from spectral import of_spreads

    return of_spreads(views, n_clusters, seed, n_threads)
