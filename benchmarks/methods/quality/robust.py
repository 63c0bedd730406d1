"""RMGL with the policy for data in fragments and for views that each separate only some of the clusters."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True
ABLATION = True


def cluster(views, n_clusters, seed, n_threads):
    from rmgl import RMGL
    from rmgl.automatic.policy import ROBUST

    return RMGL(n_clusters, policy=ROBUST, random_state=seed, n_jobs=n_threads).fit_predict(views)
