"""The border: what comes from outside is checked here once, before compiled loops or scipy's C code see it.

Compiled code takes the indices of a sparse matrix and the sizes of arrays at their word: a wrong one reads or writes memory that is not
its own. Data from users, model files and checkpoints therefore pass one of these checks; inside the package, arrays are trusted.
`tests/test_border.py` walks all kernels to show that none is reached around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

LARGEST_WHOLE = 2**53
"""Whole numbers below it are doubles, too."""
STATE_WORDS = 624
"""Words in the state of NumPy's `RandomState`, a Mersenne twister."""


class Unsound(ValueError):
    """An array that cannot be what it is said to be."""


def sound_sparse(what: str, matrix: Any, shape: tuple[int, int] | None = None) -> sparse.csr_array:
    """A sparse matrix of any format as a CSR array whose indices lie inside it; `what` names it in errors.

    Nothing of the matrix is changed. Its entries are shared where it has this form already.
    """
    try:
        if len(matrix.shape) != 2:
            raise ValueError(f"it has {len(matrix.shape)} dimension(s), not 2")
        if matrix.format in ("csr", "csc", "bsr"):
            _check_pointers(matrix.indptr, matrix.indices)
            matrix = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)  # checks sizes
            matrix.check_format(full_check=True)
        else:
            matrix = _entries(matrix)
            for axis, places in enumerate(matrix.coords):
                sound_indices(f"its indices along axis {axis}", places, matrix.shape[axis], size=matrix.data.size)
        found = sparse.csr_array(matrix)
        found.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise Unsound(f"{what} is not a sound sparse matrix ({error}): build it again from its entries") from error
    if shape is not None and found.shape != shape:
        raise Unsound(f"{what} has shape {found.shape} where {shape} is expected")
    return found


def sound_csr(what: str, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> sparse.csr_array:
    """A CSR array from its parts, which come from a file."""
    try:
        _check_pointers(indptr, indices)
        return sound_sparse(what, sparse.csr_array((data, indices, indptr), shape=shape))
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError) as error:
        raise error if isinstance(error, Unsound) else Unsound(f"{what} is not a sound sparse matrix ({error})") from error


def sound_indices(what: str, places: Any, below: int, *, size: int | None = None) -> NDArray[np.intp]:
    """Whole numbers from 0 to `below` - 1, as many as `size` says."""
    _check_whole(what, places)
    if places.ndim != 1 or (size is not None and places.size != size):
        raise Unsound(f"{what} have shape {places.shape}, not ({'any' if size is None else size},)")
    if places.size and not (places.min() >= 0 and places.max() < below):
        raise Unsound(f"{what} hold {places.min()} to {places.max()}, not 0 to {below - 1}")
    return places


def sound_numbers(
    what: str, values: Any, shape: tuple[int | None, ...], *, least: float = -np.inf, most: float = np.inf, infinite: bool = False
) -> NDArray[np.float64]:
    """An array of double-precision numbers of that shape (None: any length), each finite, at least `least` and at most `most`.

    `infinite` allows infinity, too.
    """
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or not values.dtype.isnative:
        raise Unsound(f"{what} is not an array of double-precision numbers")
    if values.ndim != len(shape) or any(want is not None and have != want for have, want in zip(values.shape, shape, strict=True)):
        raise Unsound(f"{what} has shape {values.shape} where {tuple('any' if want is None else want for want in shape)} is expected")
    bad = np.isnan(values) if infinite else ~np.isfinite(values)
    if bad.any() or (values.size and values.min() < least):
        raise Unsound(f"{what} holds numbers that are not finite{'' if least == -np.inf else f', or below {least:g}'}")
    if values.size and values.max() > most:
        raise Unsound(f"{what} holds numbers above {most:g}")
    return np.ascontiguousarray(values)


def sound_generator_state(what: str, state: Any) -> tuple[str, NDArray[np.uint32], int, int, float]:
    """The state of a `RandomState`, which NumPy itself does not check: a wrong position crashes the process."""
    if not isinstance(state, tuple) or len(state) != 5 or state[0] != "MT19937":
        raise Unsound(f"{what} is not the state of a random generator")
    _, words, position, has_gauss, gauss = state
    if not isinstance(words, np.ndarray) or words.dtype != np.uint32 or words.shape != (STATE_WORDS,):
        raise Unsound(f"{what} does not hold {STATE_WORDS} words")
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in (position, has_gauss))
    if not whole or not 0 <= position <= STATE_WORDS or has_gauss not in (0, 1) or not isinstance(gauss, float) or not np.isfinite(gauss):
        raise Unsound(f"{what} has a position that a random generator cannot have")
    return "MT19937", words, position, has_gauss, gauss


def expect(what: str, value: Any, hint: Any) -> Any:
    """The value, if it is of the type that is expected (`conforms`)."""
    if not conforms(value, hint):
        raise Unsound(f"{what} is something else: {type(value).__name__}")
    return value


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value read from a file is of the type that a record declares for it.

    Whole numbers fit into a double, arrays have the declared kind of entries, and containers are looked into.

    Examples
    --------
    >>> conforms([1.0, 2], list[float]), conforms(["a"], list[float]), conforms(None, float | None)
    (True, False, True)
    """
    kind, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, UnionType):
        return any(conforms(value, choice) for choice in arguments)
    if kind is Literal:
        return isinstance(value, str) and value in arguments
    if hint is None or hint is NoneType:
        return value is None
    if hint is float:
        return isinstance(value, float) or conforms(value, int)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST_WHOLE
    if kind is np.ndarray:
        return isinstance(value, np.ndarray) and _holds(value, arguments)
    if kind is tuple and arguments[-1:] != (Ellipsis,):
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(conforms, value, arguments))
    if kind in (list, tuple):
        return isinstance(value, kind) and all(conforms(item, arguments[0]) for item in value)
    if kind is dict:
        return isinstance(value, Mapping) and all(conforms(k, arguments[0]) and conforms(v, arguments[1]) for k, v in value.items())
    return isinstance(value, hint)


def _holds(array: NDArray[Any], arguments: tuple[Any, ...]) -> bool:
    """Whether an array has entries of the type that `NDArray[...]` says: the one float type, or any whole numbers or truth values."""
    (wanted,) = get_args(arguments[1]) or (Any,)
    if wanted is Any or not isinstance(wanted, type):
        return True
    if issubclass(wanted, np.floating):
        return array.dtype == wanted and array.dtype.isnative
    return array.dtype.kind in {"i": "iu"}.get(np.dtype(wanted).kind, np.dtype(wanted).kind) and array.dtype.isnative


def _entries(matrix: Any) -> Any:
    """The entries of a sparse matrix that has no row pointers, in COO form."""
    if matrix.format == "dia":
        matrix = type(matrix)((matrix.data, matrix.offsets), shape=matrix.shape)  # checks sizes
    elif matrix.format == "lil" and any(len(columns) != len(values) for columns, values in zip(matrix.rows, matrix.data, strict=True)):
        raise ValueError("a row holds more columns than values, or fewer")
    return matrix.tocoo()


def _check_pointers(indptr: Any, indices: Any) -> None:
    """Refuse row pointers that leave the entries. scipy's own check passes over those that end below zero."""
    _check_whole("its row pointers or indices", indptr, indices)
    if indptr.size == 0 or indptr[0] != 0 or indptr[-1] > indices.size or (indptr[1:] < indptr[:-1]).any():
        raise Unsound("its row pointers do not rise from 0 to the number of its entries")


def _check_whole(what: str, *arrays: Any) -> None:
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
            raise Unsound(f"{what} are not whole numbers")
