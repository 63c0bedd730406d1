"""scipy's LOBPCG with the degrees as preconditioner and four guard vectors."""

ENVIRONMENT = "main"
PACKAGES = []
WARM_UP_ROWS = None


def learn(edges, k, n_threads):
    import numpy as np
    from edge_lists import laplacian
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import lobpcg

    L = laplacian(edges)
    degrees = L.diagonal()
    start = np.random.RandomState(0).standard_normal((L.shape[0], k + 4))
    _, vectors = lobpcg(
        L,
        start,
        M=diags_array(1 / np.where(degrees > 0, degrees, 1.0)),
        tol=2e-8 * degrees.max(),
        maxiter=400,
        largest=False,
    )
    return {"found": vectors[:, :k]}
