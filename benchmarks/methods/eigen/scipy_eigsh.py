"""scipy's `eigsh` (ARPACK, Lanczos), smallest eigenvalues of the spectrum turned upside down, to a
residual of 1e-8.
"""

ENVIRONMENT = "main"
PACKAGES = []
WARM_UP_ROWS = None


def learn(edges, k, n_threads):
    import numpy as np
    from edge_lists import laplacian
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import eigsh

    L = laplacian(edges)
    bound = 2 * L.diagonal().max()
    _, vectors = eigsh(
        bound * eye_array(L.shape[0]) - L,
        k,
        which="LA",
        tol=1e-8,
        v0=np.ones(L.shape[0]) + np.arange(L.shape[0]) / 1e3,
    )
    return {"found": vectors[:, ::-1]}
