"""This package's search: tiles of products in single precision, with one thread and all threads.

`columns` is the width of the tiles: all columns, or the leading principal axes and the norm of the
remainder.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 6000  # enough for principal axes
VARIANTS = ("rmgl_tiles", "rmgl_tiles_all_threads")


def learn(X, k, n_threads, variant):
    import numpy as np

    from rmgl.edges.search import Rows
    from rmgl.running.threads import team_of

    with team_of(n_threads if variant == "rmgl_tiles_all_threads" else 1) as team:
        rows = team.searching(Rows.of(X))
        found = rows.nearest(np.arange(X.shape[0]), k)[0]
    leading = vars(rows).get("_leading")  # only if the search has used principal axes
    return {"found": found, "columns": X.shape[1] if leading is None else leading.shape[1]}
