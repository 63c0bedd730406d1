"""scikit-learn's SpectralClustering on nearest neighbors, otherwise with its defaults, on one table
that is already scaled.
"""

ENVIRONMENT = "main"
WARM_UP_ROWS = None  # all rows, as for RMGL


def cluster(views, n_clusters, seed, n_threads):
    from sklearn.cluster import SpectralClustering

    (table,) = views
    return SpectralClustering(
        n_clusters, affinity="nearest_neighbors", random_state=seed, n_jobs=n_threads
    ).fit_predict(table)
