"""RMGL with its defaults: it chooses everything from the data. The report is computed after the
timed call and timed separately.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = None  # all rows, because the code that runs depends on the size
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from fitted import answer

    from rmgl import RMGL

    return answer(RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit(views))
