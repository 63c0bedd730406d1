"""RMGL with its defaults and the rows of the link matrices as features."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 60
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from rmgl import RMGL

    return RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit_predict(views)
