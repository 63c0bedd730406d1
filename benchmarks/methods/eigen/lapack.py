"""LAPACK by scipy's `eigh` with a subset of the eigenvalues; dense, so small graphs only."""

ENVIRONMENT = "main"
PACKAGES = []
WARM_UP_ROWS = None


def learn(edges, k, n_threads):
    from edge_lists import laplacian
    from scipy.linalg import eigh

    L = laplacian(edges)
    if L.shape[0] > 6000:
        raise MemoryError("a dense matrix of this size is left out")
    return {"found": eigh(L.toarray(), subset_by_index=[0, k - 1])[1]}
