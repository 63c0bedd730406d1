"""imml 0.6.0, `IMSR` (self-representation with imputed similarities) with its defaults, on complete
views.
"""

ENVIRONMENT = "modern"
PACKAGES = ["imml"]


def cluster(views, n_clusters, seed, n_threads):
    from imml.cluster import IMSR

    return IMSR(n_clusters=n_clusters, random_state=seed).fit_predict(views)
