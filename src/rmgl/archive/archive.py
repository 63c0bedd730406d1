"""The file format of models and checkpoints: arrays and JSON, without executable content.

The file is an uncompressed ZIP archive:

    model.json          {"format": "rmgl model", "version": 3, "rmgl": "1.0.0", "content": ...}
    arrays/0.npy ...    NumPy arrays, which `content` refers to by number

`content` holds numbers, text, true, false, null and lists as is; everything else is an object
with one key, which names its type: {"array": 3}, {"labels": [...]} (an array of objects), {"dict":
[[key, value], ...]}, {"tuple": [...]}, {"slice": [...]}, {"float": "nan"}, {"sparse": {...}} (CSR),
and {"Layer": {...}} and other registered records by their fields. An array that occurs several
times is stored once. Loading restores arrays bit for bit, and creates only values of these types,
whatever the file contains.
"""

from __future__ import annotations

import errno
import json
import os
import tokenize
import zipfile
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from io import BytesIO
from numbers import Integral, Real
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.array_file import read_header
from rmgl.archive.atomic import new_file
from rmgl.archive.records import RECORDS
from rmgl.checks import conforms, sound_csr
from rmgl.version import __version__

VERSION = 3
INDEX = "model.json"
RAISED_BY_DAMAGE = (
    *(zipfile.BadZipFile, tokenize.TokenError, EOFError, ValueError, TypeError, KeyError),
    *(NotImplementedError, OverflowError, RecursionError, RuntimeError, OSError),
)
ArrayOf = Callable[[Any], NDArray[Any]]
"""Function array(number) that returns an array in an archive by its number."""
Upgrade = Callable[[int, Any], Any]
"""Function upgrade(version, content) that converts encoded content of an earlier version."""


class NotReadable(ValueError):
    """The file does not have the expected format."""


def write_archive(
    path: str | os.PathLike[str],
    content: Any,
    *,
    format: str,
    version: int = VERSION,
    exclusive: bool = False,
) -> None:
    """Write content to a file, completely or not at all. With `exclusive`, the file must be new."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target}: the folder does not exist: create it, or choose another folder"
        )
    arrays = Arrays()
    index = {
        "format": format,
        "version": version,
        "rmgl": __version__,
        "content": encode(content, arrays),
    }
    with (
        new_file(target, exclusive=exclusive) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
    ):
        archive.writestr(INDEX, json.dumps(index, allow_nan=False))
        for number, array in enumerate(arrays.listed):
            with archive.open(f"arrays/{number}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


class Arrays:
    """Arrays in an archive, each stored once. The content refers to them by number."""

    def __init__(self) -> None:
        self.listed: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}

    def number(self, array: NDArray[Any]) -> int:
        """Return the number of an array. A new array is added."""
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.listed)
            self.listed.append(array)
        return self._numbers[id(array)]


def read_archive(
    path: str | os.PathLike[str],
    *,
    format: str,
    version: int = VERSION,
    upgrade: Upgrade | None = None,
) -> Any:
    """Read a file written by `write_archive`. A ValueError says what is wrong with the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.compress_size for info in archive.infolist()) > os.path.getsize(path):
                raise NotReadable("its members are larger than the file: they overlap")
            index = json.loads(_member(archive, INDEX))
            content = _current_content(index, format, version, upgrade)
            return decode(content, cache(lambda number: _array(archive, number)))
    except NotReadable as error:
        raise ValueError(f"{path}: not a readable {format}; {error}") from error
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: no such file") from error
    except RAISED_BY_DAMAGE as error:
        # a damaged file makes zipfile seek beyond its end
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        silent = isinstance(error, TypeError | tokenize.TokenError | OSError)
        detail = "" if silent else " ".join(str(error).split())
        raise ValueError(
            f"{path}: not a readable {format}; it is damaged or in a different "
            f"format{detail and f' ({detail})'}"
        ) from error


def _current_content(index: Any, format: str, version: int, upgrade: Upgrade | None) -> Any:
    """Return the content of an archive, upgraded if its version is older."""
    if not isinstance(index, dict) or index.get("format") != format:
        raise NotReadable(f"it is not a {format}")
    written = index.get("version")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise NotReadable(f"its version is {written!r}, but must be a positive integer")
    if written > version:
        raise NotReadable(
            f"it was written by a newer version of rmgl (format version {written}; this version "
            f"reads up to {version}): upgrade rmgl"
        )
    content = index.get("content")
    return content if upgrade is None or written == version else upgrade(written, content)


def encode(value: Any, arrays: Arrays) -> Any:
    """Convert a value to JSON. Arrays are collected in `arrays` and referred to by number."""
    for kind, encoder in ENCODERS:
        if isinstance(value, kind):
            return encoder(value, arrays)
    if sparse.issparse(value):
        value = sparse.csr_array(value)
        parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
        parts["shape"] = list(value.shape)
        return {"sparse": {name: encode(part, arrays) for name, part in parts.items()}}
    if hasattr(value, "to_numpy"):  # pandas Series and indexes
        return encode(value.to_numpy(), arrays)
    if is_dataclass(value) and type(value).__name__ in RECORDS:
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {type(value).__name__: {name: encode(part, arrays) for name, part in parts.items()}}
    raise TypeError(
        f"a value of type {type(value).__name__} cannot be saved: use numbers, text, arrays, "
        "lists, tuples or dicts"
    )


def _encode_float(value: Any, arrays: Arrays) -> Any:
    number = float(value)
    return number if np.isfinite(number) else {"float": repr(number)}


def _encode_array(value: NDArray[Any], arrays: Arrays) -> Any:
    if value.dtype.kind in "OUS":
        return {"labels": [encode(_label(item), arrays) for item in value.ravel().tolist()]}
    return {"array": arrays.number(value)}


ENCODERS: tuple[tuple[Any, Callable[[Any, Arrays], Any]], ...] = (
    (bool | str | None, lambda value, arrays: value),
    (np.bool_, lambda value, arrays: bool(value)),
    (Integral, lambda value, arrays: int(value)),
    (Real, _encode_float),
    (np.ndarray, _encode_array),
    (list, lambda value, arrays: [encode(item, arrays) for item in value]),
    (tuple, lambda value, arrays: {"tuple": encode(list(value), arrays)}),
    (dict, lambda value, arrays: {"dict": encode([list(item) for item in value.items()], arrays)}),
    (range, lambda value, arrays: list(value)),
    (slice, lambda value, arrays: {"slice": encode([value.start, value.stop, value.step], arrays)}),
    # its state has changed since the fit
    (np.random.RandomState | np.random.Generator, lambda value, arrays: None),
)
"""Encoders to JSON by type. The first matching type is used."""


def decode(value: Any, array: ArrayOf) -> Any:
    """Convert JSON back to the value that was encoded. `array` returns an array by its number."""
    if isinstance(value, list):
        return [decode(item, array) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise NotReadable(f"it contains an object with {len(value)} keys where one is expected")
    ((kind, content),) = value.items()
    if kind == "array":
        return array(content)
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind in FROM_LISTS and isinstance(content, list):
        return FROM_LISTS[kind](content, array)
    if isinstance(content, dict):
        parts = {name: decode(part, array) for name, part in content.items()}
        if kind == "sparse":
            arrays = (parts["data"], parts["indices"], parts["indptr"])
            return sound_csr("a sparse matrix", *arrays, tuple(parts["shape"]))
        if kind in RECORDS:
            return _record(kind, parts)
    raise NotReadable(f"it contains a value of unknown type {kind!r}")


FROM_LISTS: dict[str, Callable[[list[Any], ArrayOf], Any]] = {
    "labels": lambda content, array: _objects(decode(content, array)),
    "tuple": lambda content, array: tuple(decode(content, array)),
    "slice": lambda content, array: slice(*decode(content, array)),
    "dict": lambda content, array: dict(_entry(entry, array) for entry in content),
}
"""Decoders of the types that are written as lists."""


def _entry(entry: Any, array: ArrayOf) -> tuple[Any, Any]:
    """Decode one key and value of a dict."""
    if not isinstance(entry, list) or len(entry) != 2:
        raise NotReadable("it contains a dict with an entry that is not a key and a value")
    key = decode(entry[0], array)
    if not isinstance(key, str | int | float | tuple | None):
        raise NotReadable(f"it contains a dict with a key of type {type(key).__name__}")
    return key, decode(entry[1], array)


def _record(kind: str, parts: dict[str, Any]) -> Any:
    """Create a record from its fields. Fields added after the file was written get defaults.

    Fields that the record no longer has (`former_fields`) are ignored.
    """
    former = getattr(RECORDS[kind], "former_fields", ())
    parts = {name: value for name, value in parts.items() if name not in former}
    types = _field_types(RECORDS[kind])
    required = {
        field.name
        for field in fields(RECORDS[kind])
        if field.default is MISSING and field.default_factory is MISSING
    }
    if not required <= set(parts) <= set(types):
        raise NotReadable(f"it has a {kind} with the fields {sorted(parts)}, not {sorted(types)}")
    for name, value in parts.items():
        if not conforms(value, types[name]):
            raise NotReadable(f"the file is inconsistent (wrong type of the {name} of a {kind})")
    return RECORDS[kind](**parts)


@cache
def _field_types(record: type) -> dict[str, Any]:
    """Return the declared type of every field of a record."""
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


def _objects(items: list[Any]) -> NDArray[Any]:
    """Return a 1-D array of objects."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _label(item: Any) -> Any:
    """Return a row label as a JSON value. Labels of other types, such as dates, become text."""
    return item if item is None or isinstance(item, bool | int | float | str) else str(item)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member. It must be uncompressed, so it cannot exceed the file size."""
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise NotReadable(f"{name!r} is compressed, but must be stored uncompressed")
    return archive.read(name)


def _array(archive: zipfile.ZipFile, number: Any) -> NDArray[Any]:
    """Read the array with this number, after checking its header."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise NotReadable(f"it refers to an array by {number!r}, which is not an integer")
    data = _member(archive, f"arrays/{number}.npy")
    stream = BytesIO(data)
    header = read_header(stream)
    if header.dtype.kind not in "biuf" or header.n_bytes != len(data) - stream.tell():
        raise NotReadable(
            f"array {number} of type {header.dtype} and shape {header.shape} does not match its "
            f"{len(data)} bytes"
        )
    stream.seek(0)
    return npy.read_array(stream, allow_pickle=False)
