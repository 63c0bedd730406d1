"""scikit-learn's `NearestNeighbors` with a ball tree."""

ENVIRONMENT = "main"
PACKAGES = []
DATASETS = ("mixture",)  # in hundreds of columns trees rule nothing out


def learn(X, k, n_threads):
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=k, algorithm="ball_tree", n_jobs=n_threads).fit(X)
    return {"found": index.kneighbors(return_distance=False)}
