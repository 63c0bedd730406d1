"""`RMGL(n_clusters=K, candidates="approximate")`: nothing is searched exactly but a sample of rows,
which measures the recall of every layer.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba", "pynndescent"]
WARM_UP_ROWS = 6000  # pynndescent compiles then


def cluster(views, n_clusters, seed, n_threads):
    from traced import fit

    from rmgl import RMGL

    model = RMGL(n_clusters, candidates="approximate", random_state=seed, n_jobs=n_threads)
    return fit(model, views)
