"""RMGL at its defaults with parts of the automatic choice changed: fields of the `Policy`, or parameters."""


def fit_predict(views, n_clusters, seed, n_threads, parameters=None, policy=None):
    from fitted import trust

    from rmgl import RMGL
    from rmgl.automatic.policy import Policy

    chosen = Policy(**(policy or {}))
    model = RMGL(n_clusters, policy=chosen, random_state=seed, n_jobs=n_threads, **(parameters or {})).fit(views)
    return {"labels": model.labels_, **trust(model)}
