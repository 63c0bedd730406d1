"""Checkpoints store the results of expensive work under names derived from all its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import Unsound

Found: TypeAlias = dict[str, NDArray[Any]]
"""Result of expensive work: arrays by name."""
DIGEST_DIGITS = 32
"""Number of hexadecimal digits of a digest."""


class Checkpoint(Protocol):
    """Stores results of deterministic work, for later runs that do the same work."""

    def step(self, name: str, work: Callable[[], Found], check: Callable[[Found], None]) -> Found:
        """Return the result of `work`, which is called only if none is stored under this name.

        A stored result comes from outside, so `check` raises `Unsound` if it cannot be a result of
        the work.
        """


def check_arrays(kept: Found, *names: str) -> None:
    """Raise `Unsound` unless the stored arrays have exactly these names."""
    if set(kept) != set(names):
        raise Unsound(f"it contains the arrays {sorted(kept)}, but {sorted(names)} were expected")


def digest_of(*parts: Any) -> str:
    """Return a string that differs for different arrays, sparse matrices, numbers or strings.

    Examples
    --------
    >>> import numpy as np
    >>> digest_of(np.zeros(2), 1) == digest_of(np.zeros(2), 1)
    True
    >>> digest_of(np.zeros(2)) == digest_of(np.zeros((1, 2)))
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        for piece in _pieces(part):
            digest.update(piece)
    return digest.hexdigest()[:DIGEST_DIGITS]


def _pieces(part: Any) -> Iterator[Any]:
    """Yield text that describes a value, and then its bytes."""
    if sparse.issparse(part):
        yield f"sparse {part.shape};".encode()
        for array in (part.indptr, part.indices, part.data):
            yield from _pieces(array)
    elif isinstance(part, np.ndarray):
        yield f"array {part.shape} {part.strides} {part.dtype.str};".encode()
        yield part.ravel(order="K").data  # no copy, whether rows or columns are contiguous
    else:
        yield f"{part!r};".encode()
