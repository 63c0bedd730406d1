"""GD-MCCA as implemented in this package; the first view gives the common graph."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]


def cluster(views, n_clusters, seed, n_threads):
    from rmgl.baselines import GDMCCA

    named = {f"view_{m}": X for m, X in enumerate(views)}
    return GDMCCA(n_clusters, graph="view_0", scale="none", random_state=seed).fit_predict(named)
