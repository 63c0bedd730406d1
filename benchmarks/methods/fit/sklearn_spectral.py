"""scikit-learn's SpectralClustering of 10 nearest neighbors, on the views side by side, each
divided by its total standard deviation.
"""

ENVIRONMENT = "main"
QUICK = True


def cluster(views, n_clusters, seed, n_threads):
    import numpy as np
    from sklearn.cluster import SpectralClustering

    table = np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in views])
    model = SpectralClustering(
        n_clusters,
        affinity="nearest_neighbors",
        n_neighbors=10,
        random_state=seed,
        n_jobs=n_threads,
    )
    return model.fit_predict(table)
