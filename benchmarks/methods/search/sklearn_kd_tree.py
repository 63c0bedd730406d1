"""scikit-learn's `NearestNeighbors` with a k-d tree."""

ENVIRONMENT = "main"
PACKAGES = []


def learn(X, k, n_threads):
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", n_jobs=n_threads).fit(X)
    return {"found": index.kneighbors(return_distance=False)}
