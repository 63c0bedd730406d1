"""RMGL with its defaults, on the features alone."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 60
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from given_networks import split

    from rmgl import RMGL

    features, _ = split(views)
    if not features:
        raise ValueError("the data set has no features")
    return RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit_predict(features)
