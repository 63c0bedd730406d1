"""All views in one table, scaled as RMGL's scale="auto" does and divided by their total standard
deviations.
"""


def concatenated(views):
    """One array, or sparse rows if one of the views is sparse."""
    import numpy as np

    from rmgl.matrix import side_by_side, total_variance
    from rmgl.views.views import Views

    return side_by_side(
        [X / np.sqrt(total_variance(X)) for X in Views.of(views).scaled("auto").matrices]
    )
