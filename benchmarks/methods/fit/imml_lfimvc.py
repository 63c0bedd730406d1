"""imml 0.6.0, `LFIMVC` (late fusion of kernel partitions) with its defaults, on complete views."""

ENVIRONMENT = "modern"
PACKAGES = ["imml"]


def cluster(views, n_clusters, seed, n_threads):
    from imml.cluster import LFIMVC

    return LFIMVC(n_clusters=n_clusters, random_state=seed).fit_predict(views)
