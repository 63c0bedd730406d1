"""The search of this package: tiles of products in single precision, one thread."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]


def learn(X, k, n_threads):
    import numpy as np

    from rmgl.edges.search import Rows
    from rmgl.running.threads import team_of

    with team_of(1):
        return {"found": Rows.of(X).nearest(np.arange(len(X)), k)[0]}
