"""imml 0.6.0, `OPIMC` (one pass of matrix factorization) with its defaults, on complete views."""

ENVIRONMENT = "modern"
PACKAGES = ["imml"]


def cluster(views, n_clusters, seed, n_threads):
    from imml.cluster import OPIMC

    return OPIMC(n_clusters=n_clusters, random_state=seed).fit_predict(views)
