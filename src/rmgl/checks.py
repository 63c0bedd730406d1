"""Validate arrays from users and files before compiled loops or scipy's C code use them.

Compiled code does not check the indices of a sparse matrix or the sizes of arrays. A wrong index
makes it read or write outside the arrays. Data from users, model files and checkpoints therefore
go through these checks; the rest of the package trusts its arrays. `tests/test_border.py` verifies
that no data reach a kernel unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

LARGEST_INTEGER = 2**53
"""All integers up to this value are exact in double precision."""
STATE_WORDS = 624
"""Number of 32-bit words in the state of NumPy's `RandomState`, a Mersenne Twister."""


class Unsound(ValueError):
    """An array or value that is not valid: wrong type, shape, indices or numbers."""


def sound_sparse(what: str, matrix: Any, shape: tuple[int, int] | None = None) -> sparse.csr_array:
    """Convert a sparse matrix of any format to a CSR array with valid indices. `what` names the
    matrix in errors.

    The matrix is not changed. If it is already in CSR format, the result shares its arrays.
    """
    try:
        if len(matrix.shape) != 2:
            raise ValueError(f"it has {len(matrix.shape)} dimension(s), not 2")
        if matrix.format in ("csr", "csc", "bsr"):
            _check_pointers(matrix.indptr, matrix.indices)
            # checks sizes
            matrix = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
            matrix.check_format(full_check=True)
        else:
            matrix = _entries(matrix)
            for axis, places in enumerate(matrix.coords):
                sound_indices(
                    f"its indices along axis {axis}",
                    places,
                    matrix.shape[axis],
                    size=matrix.data.size,
                )
        csr = sparse.csr_array(matrix)
        csr.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise Unsound(
            f"{what} is not a valid sparse matrix ({error}): rebuild it from its entries"
        ) from error
    if shape is not None and csr.shape != shape:
        raise Unsound(f"{what} has shape {csr.shape}, but {shape} was expected")
    return csr


def sound_csr(
    what: str, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]
) -> sparse.csr_array:
    """Build a CSR array from parts read from a file. `what` names the matrix in errors."""
    try:
        _check_pointers(indptr, indices)
        return sound_sparse(what, sparse.csr_array((data, indices, indptr), shape=shape))
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError) as error:
        raise (
            error
            if isinstance(error, Unsound)
            else Unsound(f"{what} is not a valid sparse matrix ({error})")
        ) from error


def sound_indices(
    what: str, places: Any, below: int, *, size: int | None = None
) -> NDArray[np.intp]:
    """Check and return an array of indices from 0 to `below` - 1. `size` is the number of indices
    (None for any number).
    """
    indices: NDArray[np.intp] = places
    _check_integers(what, indices)
    if indices.ndim != 1 or (size is not None and indices.size != size):
        raise Unsound(
            f"{what} have shape {indices.shape}, but ({'any' if size is None else size},) "
            "was expected"
        )
    if indices.size and not (indices.min() >= 0 and indices.max() < below):
        raise Unsound(
            f"{what} range from {indices.min()} to {indices.max()}, but must be from 0 to "
            f"{below - 1}"
        )
    return indices


def sound_numbers(
    what: str,
    values: Any,
    shape: tuple[int | None, ...],
    *,
    least: float = -np.inf,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Check that an array contains finite float64 numbers >= `least` and has the expected shape
    (None for any length), and return it as a contiguous array.

    With `infinite`, infinity is also valid.
    """
    if (
        not isinstance(values, np.ndarray)
        or values.dtype != np.float64
        or not values.dtype.isnative
    ):
        raise Unsound(f"an array of float64 numbers was expected for {what}")
    if values.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(values.shape, shape, strict=True)
    ):
        expected = tuple("any" if want is None else want for want in shape)
        raise Unsound(f"shape {expected} was expected for {what}, but it is {values.shape}")
    bad = np.isnan(values) if infinite else ~np.isfinite(values)
    if bad.any() or (values.size and values.min() < least):
        raise Unsound(
            f"there are numbers in {what} that are not "
            f"finite{'' if least == -np.inf else f' or are below {least:g}'}"
        )
    return np.ascontiguousarray(values)


def sound_generator_state(what: str, state: Any) -> tuple[str, NDArray[np.uint32], int, int, float]:
    """Check and return the state of a `RandomState`. NumPy does not check it, and an invalid
    position crashes the process.
    """
    if not isinstance(state, tuple) or len(state) != 5 or state[0] != "MT19937":
        raise Unsound(f"{what} is not the state of an MT19937 random generator")
    _, words, position, has_gauss, gauss = state
    if (
        not isinstance(words, np.ndarray)
        or words.dtype != np.uint32
        or words.shape != (STATE_WORDS,)
    ):
        raise Unsound(f"{what} does not contain {STATE_WORDS} unsigned 32-bit integers")
    integers = all(
        isinstance(number, int) and not isinstance(number, bool) for number in (position, has_gauss)
    )
    if (
        not integers
        or not 0 <= position <= STATE_WORDS
        or has_gauss not in (0, 1)
        or not isinstance(gauss, float)
        or not np.isfinite(gauss)
    ):
        raise Unsound(
            f"{what} has a position or a stored Gaussian value that no random generator can have"
        )
    return "MT19937", words, position, has_gauss, gauss


def expect(what: str, value: Any, hint: Any) -> Any:
    """Return the value if it has the expected type (see `conforms`); otherwise raise `Unsound`."""
    if not conforms(value, hint):
        raise Unsound(
            f"{what} is of type {type(value).__name__}, but "
            f"{getattr(hint, '__name__', hint)} was expected"
        )
    return value


def conforms(value: Any, hint: Any) -> bool:
    """Return whether a value read from a file has the declared type.

    Integers must be exact in double precision, array entries must have the declared type, and
    containers are checked recursively.

    Examples
    --------
    >>> conforms([1.0, 2], list[float]), conforms(["a"], list[float]), conforms(None, float | None)
    (True, False, True)
    """
    hint = _behind_alias(hint)
    kind, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, UnionType):
        return any(conforms(value, choice) for choice in arguments)
    if kind is Literal:
        return isinstance(value, str) and value in arguments
    if hint is None:
        return value is None
    if hint is float:
        return isinstance(value, float) or conforms(value, int)
    if hint is int:
        return (
            isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST_INTEGER
        )
    return isinstance(value, hint) if kind is None else _contains(value, kind, arguments)


def _behind_alias(hint: Any) -> Any:
    """Return the type that a type alias stands for. Since numpy 2.5, `NDArray` is such an alias."""
    meant, arguments = getattr(get_origin(hint) or hint, "__value__", None), get_args(hint)
    if meant is None:
        return hint
    return meant[arguments] if arguments else meant


def _contains(value: Any, kind: Any, arguments: tuple[Any, ...]) -> bool:
    """Return whether a value is an array, tuple, list or dict of this kind whose items have the
    declared types.
    """
    if isinstance(value, np.ndarray):
        return kind is np.ndarray and _holds(value, arguments)
    if not isinstance(value, Mapping if kind is dict else kind):
        return False
    if kind is dict:
        return all(
            conforms(key, arguments[0]) and conforms(item, arguments[1])
            for key, item in value.items()
        )
    if kind is tuple and arguments[-1:] != (Ellipsis,):
        return len(value) == len(arguments) and all(map(conforms, value, arguments))
    return all(conforms(item, arguments[0]) for item in value)


def _holds(array: NDArray[Any], arguments: tuple[Any, ...]) -> bool:
    """Return whether entries have the type in `NDArray[...]`: exactly that type, or integers of any
    size.
    """
    (wanted,) = get_args(arguments[1]) or (Any,)
    if wanted is Any or not isinstance(wanted, type):
        return True
    if issubclass(wanted, np.floating):
        return array.dtype == wanted and array.dtype.isnative
    return (
        array.dtype.kind in {"i": "iu"}.get(np.dtype(wanted).kind, np.dtype(wanted).kind)
        and array.dtype.isnative
    )


def _entries(matrix: Any) -> Any:
    """Convert a sparse matrix without row pointers to COO format."""
    if matrix.format == "dia":
        matrix = type(matrix)((matrix.data, matrix.offsets), shape=matrix.shape)  # checks sizes
    elif matrix.format == "lil" and any(
        len(columns) != len(values)
        for columns, values in zip(matrix.rows, matrix.data, strict=True)
    ):
        raise ValueError("a row has different numbers of columns and values")
    return matrix.tocoo()


def _check_pointers(indptr: Any, indices: Any) -> None:
    """Raise `Unsound` if row pointers point outside the entries. scipy's check misses pointers that
    end below zero.
    """
    _check_integers("its row pointers or indices", indptr, indices)
    if (
        indptr.size == 0
        or indptr[0] != 0
        or indptr[-1] > indices.size
        or (indptr[1:] < indptr[:-1]).any()
    ):
        raise Unsound("its row pointers do not increase from 0 to the number of entries")


def _check_integers(what: str, *arrays: Any) -> None:
    """Raise `Unsound` unless every argument is an array of integers."""
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
            raise Unsound(f"{what} are not arrays of integers")
