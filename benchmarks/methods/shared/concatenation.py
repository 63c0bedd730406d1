"""All views in one table, scaled as RMGL's scale="auto" does and divided by their total standard deviations."""


def concatenated(views):
    import numpy as np

    from rmgl.views.views import Views

    return np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in Views.of(views).scaled("auto").matrices])
