"""RMGL with its defaults: everything chosen from the data alone. Its report is made after the timed
call, and timed apart.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = None  # all: which code runs depends on the size
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from fitted import answer

    from rmgl import RMGL

    return answer(RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit(views))
