"""Places and hashes of rows, by which entities are put into canonical order; every row is treated alike, wherever it stands."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Keys = NDArray[np.uint64]
Vector = NDArray[np.float64]
BLOCK = 1 << 16
"""Entries that are looked at together, which stay in the cache."""


def projected(X: Any, gaps: NDArray[np.bool_] | None = None, view: int = 0) -> Vector:
    """The projection of every row of a matrix on a random direction; each row is summed in the same order, wherever it stands."""
    direction = np.random.RandomState(view).standard_normal(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            along: Vector = X @ direction
            return along
        places, size = np.empty(X.shape[0]), max(1, BLOCK // max(1, X.shape[1]))
        for start in range(0, X.shape[0], size):
            some = slice(start, start + size)
            entries = np.ascontiguousarray(X[some]) * direction
            places[some] = entries.sum(axis=1) if gaps is None else (entries + gaps[some] * direction[::-1]).sum(axis=1)
        return places


def bits(values: Any) -> Keys:
    """The bits of numbers in double precision; minus zero is zero."""
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def mixed(salt: Any, values: Keys) -> Keys:
    """A hash of two numbers, by the steps of SplitMix64 (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        x = (values ^ np.asarray(salt, dtype=np.uint64)) + np.uint64(0x9E37_79B9_7F4A_7C15)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58_476D_1CE4_E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D0_49BB_1331_11EB)
        x ^= x >> np.uint64(31)
    return x


def row_keys(X: Any, gaps: NDArray[np.bool_] | None = None, view: int = 0) -> Keys:
    """A hash of every row of a matrix, dense or sparse; those of several views add up."""
    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        rows: Any = (
            X.indices[start:stop].astype(np.int64).tobytes() + (X.data[start:stop] + 0.0).tobytes()
            for start, stop in pairwise(X.indptr.tolist())
        )
    else:
        rows = np.ascontiguousarray(X + 0.0 if gaps is None else np.where(gaps, np.nan, X + 0.0))  # minus zero is zero
    found = [int.from_bytes(blake2b(row, digest_size=8).digest(), "little") for row in rows]
    return mixed(view + 2, np.array(found, dtype=np.uint64))
