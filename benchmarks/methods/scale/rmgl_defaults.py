"""`RMGL(n_clusters=K)` with its defaults, with the time and peak memory of each stage and the
certificate of each layer.

The report is timed separately. Above 200,000 rows it is not computed, so that the measurements made
by then are not lost.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 6000  # enough for neighbor lists instead of all pairs
MOST_ROWS_OF_REPORT = 200_000


def cluster(views, n_clusters, seed, n_threads):
    from fitted import trust
    from traced import fit

    from rmgl import RMGL

    model = RMGL(n_clusters, random_state=seed, n_jobs=n_threads)
    later = {"report": lambda: trust(model)} if len(views[0]) <= MOST_ROWS_OF_REPORT else {}
    return {**fit(model, views), "later": later}
