"""scikit-learn's `NearestNeighbors` with a ball tree."""

ENVIRONMENT = "main"
PACKAGES = []


def learn(X, k, n_threads):
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=k, algorithm="ball_tree", n_jobs=n_threads).fit(X)
    return {"found": index.kneighbors(return_distance=False)}
