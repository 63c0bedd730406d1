"""RMGL with n_clusters="auto": the number it is given is not used."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from rmgl import RMGL

    model = RMGL("auto", random_state=seed, n_jobs=n_threads).fit(views)
    return {
        "labels": model.labels_,
        "confidence": model.number_.confidence,
        "rivals": model.number_.rivals,
    }
