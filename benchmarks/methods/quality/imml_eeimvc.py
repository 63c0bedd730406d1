"""imml 0.6.0, `EEIMVC` (late fusion of kernel partitions) with its defaults, on complete views."""

ENVIRONMENT = "modern"
PACKAGES = ["imml"]


def cluster(views, n_clusters, seed, n_threads):
    from imml.cluster import EEIMVC

    return EEIMVC(n_clusters=n_clusters, random_state=seed).fit_predict(views)
