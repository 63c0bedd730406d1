"""RMGL with its defaults, links given as `rmgl.Network`."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 60
QUICK = True
RAW = True
LEARN = False


def cluster(views, n_clusters, seed, n_threads):
    from given_networks import split

    from rmgl import RMGL, Network

    features, networks = split(views)
    model = RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit([*features, *(Network(A, learn=LEARN) for A in networks)])
    trust = {"trust": model.report_.trust.word, "reasons": model.report_.trust.reasons}
    return {"labels": model.labels_, "n_iter": model.n_iter_, "weights": model.view_weights_.tolist(), **trust}
