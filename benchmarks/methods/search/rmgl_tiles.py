"""The search of this package: tiles of products in single precision, one thread."""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]


def learn(X, k, n_threads):
    import numpy as np

    from rmgl.edges.neighbours import centred
    from rmgl.edges.search import nearest_rows
    from rmgl.parallel import team_of

    with team_of(1):
        return {"found": nearest_rows(centred(X), np.arange(len(X)), k)[0]}
