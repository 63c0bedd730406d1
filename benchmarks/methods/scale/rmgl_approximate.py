"""`RMGL(n_clusters=K, candidates="approximate")`: only a sample of rows is searched exactly, to
measure the recall of every layer.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba", "pynndescent"]
WARM_UP_ROWS = 6000  # enough for pynndescent to compile


def cluster(views, n_clusters, seed, n_threads):
    from traced import fit

    from rmgl import RMGL

    model = RMGL(n_clusters, candidates="approximate", random_state=seed, n_jobs=n_threads)
    return fit(model, views)
