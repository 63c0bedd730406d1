"""GL-SigRep(C) as implemented in this package: one graph learned from the views side by side, then
spectral clustering.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]


def cluster(views, n_clusters, seed, n_threads):
    from rmgl.baselines import GLSigRep

    return GLSigRep(n_clusters, concatenate=True, scale="none", random_state=seed).fit_predict(
        views
    )
