"""`RMGL(n_clusters=K)`, nothing else given, with seconds and peak memory of its stages and the
certificates of its layers.

The report is timed apart, and beyond 200 000 rows not at all: what has been measured by then must
not be lost.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 6000  # enough for lists of neighbors instead of all pairs
MOST_ROWS_OF_REPORT = 200_000


def cluster(views, n_clusters, seed, n_threads):
    from fitted import trust
    from traced import fit

    from rmgl import RMGL

    model = RMGL(n_clusters, random_state=seed, n_jobs=n_threads)
    later = {"report": lambda: trust(model)} if len(views[0]) <= MOST_ROWS_OF_REPORT else {}
    return {**fit(model, views), "later": later}
