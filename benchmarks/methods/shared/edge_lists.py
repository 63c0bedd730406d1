"""A graph as rows (i, j, weight), which is how workers are given it."""

import numpy as np
from scipy import sparse


def adjacency(edges):
    i, j = edges[:, :2].astype(np.int32).T
    n = int(edges[:, :2].max()) + 1
    return sparse.csr_array((edges[:, 2], (i, j)), shape=(n, n))


def laplacian(edges):
    W = adjacency(edges)
    return sparse.csr_array(sparse.diags_array(W.sum(axis=1)) - W)
