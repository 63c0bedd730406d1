"""imml 0.6.0: `DAIMC` (doubly aligned matrix factorization) at its defaults, on complete views."""

ENVIRONMENT = "modern"
PACKAGES = ["imml"]


def cluster(views, n_clusters, seed, n_threads):
    from imml.cluster import DAIMC

    return DAIMC(n_clusters=n_clusters, random_state=seed).fit_predict(views)
