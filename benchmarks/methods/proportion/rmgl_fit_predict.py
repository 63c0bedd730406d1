"""RMGL with its defaults, labels only: the report is made when it is first asked for, and is timed apart from them."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 5000  # all rows of the shared data sets: which code runs depends on the size
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from fitted import answer

    from rmgl import RMGL

    return answer(RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit(views))
