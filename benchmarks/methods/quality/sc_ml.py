"""SC-ML as implemented in this package, on GL-SigRep layers, with its defaults."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]


def cluster(views, n_clusters, seed, n_threads):
    from rmgl.baselines import SCML

    return SCML(n_clusters, scale="none", random_state=seed, n_jobs=n_threads).fit_predict(views)
