"""scikit-learn's SpectralClustering with 10 nearest neighbors, on the concatenated views."""


def spectral_labels(table, n_clusters, seed, n_threads):
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(
        n_clusters,
        affinity="nearest_neighbors",
        n_neighbors=10,
        random_state=seed,
        n_jobs=n_threads,
    )
    return model.fit_predict(table)


def of_spreads(views, n_clusters, seed, n_threads):
    """Cluster the concatenated views, each divided by its total standard deviation."""
    import numpy as np

    table = np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in views])
    return spectral_labels(table, n_clusters, seed, n_threads)
