"""The brute-force work for a result, in floating-point operations or bytes, and the time that this
machine needs for it. A search that rules out pairs can be faster.

`kernels` measures the machine's rates: products of large square matrices (GEMM), and a sum over a
long array.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.results import Row
from benchmarks.tables import done, number

ENTRY_BYTES = 12
"""Bytes per entry of a sparse row: a double-precision number and an index."""


@dataclass(frozen=True)
class Rates:
    """GEMM operations per second by (precision, threads), and bytes per second by threads."""

    gemm: dict[tuple[str, int], float]
    bandwidth: dict[int, float]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Rates":
        """Read the rates from the rows of `kernels`."""
        rows = [row for row in rows if done(row)]
        gemm = {
            (row["kernel"].removeprefix("GEMM "), row["n_threads"]): row["flops_per_second"]
            for row in rows
            if "flops" in row
        }
        return cls(
            gemm,
            {
                row["n_threads"]: row["bytes_per_second"]
                for row in rows
                if row["kernel"].startswith("sum")
            },
        )

    def for_products(self, flops: float, n_threads: int = 1) -> "Limit":
        """The brute-force time for products in single precision."""
        return Limit.of(flops, self.gemm.get(("float32", n_threads)), "operation")

    def for_reading(self, n_bytes: float, n_threads: int = 1) -> "Limit":
        return Limit.of(n_bytes, self.bandwidth.get(n_threads), "byte")


@dataclass(frozen=True)
class Limit:
    """The brute-force work, and how many seconds it takes at the machine's rate (None: not
    measured).
    """

    what: str
    seconds: float | None

    @classmethod
    def of(cls, amount: float, rate: float | None, unit: str) -> "Limit":
        """Return the limit for this amount of operations or bytes."""
        return cls(f"{scientific(amount)} {unit}s", amount / rate if rate else None)

    def __str__(self) -> str:
        return self.what + ("" if self.seconds is None else f": {number(self.seconds)} s")

    def share(self, seconds: float) -> str:
        """The brute-force time as a share of the measured time."""
        return "" if self.seconds is None else percent(self.seconds / seconds)


def percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{100 * share:.2g}%"


def scientific(amount: float) -> str:
    """Short scientific notation without zeros at the start of the exponent, such as 2.4e11."""
    digits, exponent = f"{amount:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


def product_flops(n: int, width: int, n_others: int | None = None) -> float:
    """Number of operations for the products of all pairs of `n` rows, each pair once, or of all `n`
    rows with `n_others` rows.
    """
    return float(n * n * width if n_others is None else 2 * n * n_others * width)


def pair_flops(views: Iterable[Any]) -> float:
    """Number of operations for the products of all pairs of rows in every view, over all columns or
    over the nonzeros, whichever takes fewer.
    """
    return float(sum(min(product_flops(*X.shape), shared_entries(X)) for X in views))


def stored_bytes(X: Any) -> int:
    """Bytes of an array, or of the nonzeros in sparse rows and their indices."""
    return int(X.nnz * ENTRY_BYTES if sparse.issparse(X) else X.nbytes)


def shared_entries(X: Any) -> float:
    """The sum over columns of the squared number of nonzeros: how many numbers the products of all
    pairs of sparse rows multiply and add.
    """
    counts = (
        np.bincount(X.indices, minlength=X.shape[1])
        if sparse.issparse(X)
        else np.count_nonzero(X, axis=0)
    )
    return float(np.square(counts.astype(np.float64)).sum())
