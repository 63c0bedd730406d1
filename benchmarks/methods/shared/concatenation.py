"""All views in one table, each scaled as with RMGL's scale="auto" and divided by its total standard
deviation.
"""


def concatenated(views):
    """Return one array, or a sparse matrix if any view is sparse."""
    import numpy as np

    from rmgl.matrix import side_by_side, total_variance
    from rmgl.views.views import Views

    return side_by_side(
        [X / np.sqrt(total_variance(X)) for X in Views.of(views).scaled("auto").matrices]
    )
