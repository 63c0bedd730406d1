"""SC-GED as implemented in this package, on GL-SigRep layers with its defaults. Dense N x N work in
every round.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
SLOW = True


def cluster(views, n_clusters, seed, n_threads):
    from rmgl.baselines import SCGED

    return SCGED(n_clusters, scale="none", random_state=seed, n_jobs=n_threads).fit_predict(views)
