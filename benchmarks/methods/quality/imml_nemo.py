"""imml 0.6.0, `NEMO` (spectral clustering of averaged neighborhood similarities) with its defaults,
on complete views.
"""

ENVIRONMENT = "modern"
PACKAGES = ["imml"]


def cluster(views, n_clusters, seed, n_threads):
    from imml.cluster import NEMO

    return NEMO(n_clusters=n_clusters, random_state=seed).fit_predict(views)
