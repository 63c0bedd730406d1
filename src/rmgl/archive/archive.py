"""Arrays and records in one file of arrays and JSON, such as a fitted model: nothing in it can be executed.

The file is an uncompressed ZIP archive:

    model.json          {"format": "rmgl model", "version": 1, "rmgl": "0.1.0", "content": ...}
    arrays/0.npy ...    NumPy arrays, which `content` refers to by number

`content` holds numbers, text, true, false, null and lists as they are; everything else is an object with one key that says what it is:
{"array": 3}, {"labels": [...]} (an array of objects), {"dict": [[key, value], ...]}, {"tuple": [...]}, {"slice": [...]},
{"float": "nan"}, {"sparse": {...}} (CSR), and {"Layer": {...}} and the other records of `RECORDS` by their fields. Arrays come back
bit by bit. Whatever the file holds, loading makes values of these kinds and nothing else.
"""

from __future__ import annotations

import errno
import json
import os
import tokenize
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from io import BytesIO
from numbers import Integral, Real
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from rmgl.archive.array_file import read_header
from rmgl.archive.atomic import new_file
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.checks import conforms, sound_csr
from rmgl.edges.local_scaling import LocalScaling
from rmgl.embedding.eigenvectors import Embedding
from rmgl.layer import Layer
from rmgl.placing.placement import FittedLayer, Placement
from rmgl.results.report import Report, ViewReport
from rmgl.views.scaling import Scaler
from rmgl.views.views import Views

VERSION = 1
INDEX = "model.json"
KINDS = (Embedding, FittedLayer, Layer, LocalScaling, NumberOfClusters, Placement, Report, Scaler, ViewReport, Views)
RECORDS: dict[str, Any] = {kind.__name__: kind for kind in KINDS}
DAMAGED = (
    *(zipfile.BadZipFile, EOFError, ValueError, TypeError, KeyError, NotImplementedError, OverflowError, RecursionError, RuntimeError),
    tokenize.TokenError,
)
KEPT = ("n_components",)  # known of a layer beside its fields


class NotReadable(ValueError):
    """The file is not what it should be."""


def write_archive(path: str | os.PathLike, content: Any, *, format: str, version: int = VERSION, exclusive: bool = False) -> None:
    """Write content to a file, which appears complete or not at all; with `exclusive` only if there is none."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: its folder does not exist")
    arrays: list[np.ndarray] = []
    index = {"format": format, "version": version, "rmgl": _rmgl_version(), "content": encode(content, arrays)}
    with new_file(target, exclusive=exclusive) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(INDEX, json.dumps(index, allow_nan=False))
        for number, array in enumerate(arrays):
            with archive.open(f"arrays/{number}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


def read_archive(path: str | os.PathLike, *, format: str, version: int = VERSION) -> Any:
    """The content of a file that `write_archive` wrote; a ValueError that says what is wrong with any other."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.compress_size for info in archive.infolist()) > os.path.getsize(path):
                raise NotReadable("its members are larger than the file: they overlap")
            index = json.loads(_member(archive, INDEX))
            if not isinstance(index, dict) or index.get("format") != format:
                raise NotReadable(f"it is no {format}")
            found = index.get("version")
            if not isinstance(found, int) or isinstance(found, bool) or found < 1:
                raise NotReadable(f"its version is {found!r}")
            if found > version:
                raise NotReadable(
                    f"it was written by a newer rmgl (version {found} of the format; this one reads up to {version}): upgrade rmgl"
                )
            return decode(index.get("content"), cache(lambda number: _array(archive, number)))
    except NotReadable as error:
        raise ValueError(f"{path}: not a readable {format}; {error}") from error
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: no such file") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # a seek to nowhere
            raise
        raise ValueError(f"{path}: not a readable {format}; it is damaged or something else") from error
    except DAMAGED as error:
        detail = "" if isinstance(error, TypeError | tokenize.TokenError) else " ".join(str(error).split())
        raise ValueError(f"{path}: not a readable {format}; it is damaged or something else{detail and f' ({detail})'}") from error


def encode(value: Any, arrays: list[np.ndarray]) -> Any:
    """The value as JSON; arrays are appended to the list and referred to by number."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return number if np.isfinite(number) else {"float": repr(number)}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OUS":
            return {"labels": [encode(_label(item), arrays) for item in value.ravel().tolist()]}
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if sparse.issparse(value):
        value = sparse.csr_array(value)
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": list(value.shape)}
        return {"sparse": {name: encode(part, arrays) for name, part in parts.items()}}
    if isinstance(value, list):
        return [encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key, arrays), encode(item, arrays)] for key, item in value.items()]}
    if isinstance(value, range):
        return [int(item) for item in value]
    if hasattr(value, "to_numpy"):  # pandas Series and indexes
        return encode(value.to_numpy(), arrays)
    if isinstance(value, slice):
        return {"slice": [encode(end, arrays) for end in (value.start, value.stop, value.step)]}
    if is_dataclass(value) and type(value).__name__ in RECORDS:
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        parts |= {name: value.__dict__[name] for name in KEPT if name in value.__dict__}
        return {type(value).__name__: {name: encode(part, arrays) for name, part in parts.items()}}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # it has moved on since the fit
    raise TypeError(f"a {type(value).__name__} cannot be saved")


def decode(value: Any, array: Callable[[Any], np.ndarray]) -> Any:
    """The value that was encoded; `array` gives an array by its number."""
    if isinstance(value, list):
        return [decode(item, array) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise NotReadable(f"an object with {len(value)} keys where one is expected")
    ((kind, content),) = value.items()
    if kind == "array":
        return array(content)
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind in ("labels", "tuple", "slice") and isinstance(content, list):
        items = [decode(item, array) for item in content]
        return _objects(items) if kind == "labels" else tuple(items) if kind == "tuple" else slice(*items)
    if kind == "dict" and isinstance(content, list):
        return dict(_entry(entry, array) for entry in content)
    if isinstance(content, dict):
        parts = {name: decode(part, array) for name, part in content.items()}
        if kind == "sparse":
            return _checked_sparse(parts)
        if kind in RECORDS:
            return _record(kind, parts)
    raise NotReadable(f"a {kind!r}, which is not known")


def _entry(entry: Any, array: Callable[[Any], np.ndarray]) -> tuple[Any, Any]:
    """One key and value of a dict."""
    if not isinstance(entry, list) or len(entry) != 2:
        raise NotReadable("a dict with an entry that is no key and value")
    key = decode(entry[0], array)
    if not isinstance(key, str | int | float | tuple | None):
        raise NotReadable(f"a dict with a {type(key).__name__} as key")
    return key, decode(entry[1], array)


def _record(kind: str, parts: dict[str, Any]) -> Any:
    names = {field.name for field in fields(RECORDS[kind])}
    kept = {name: parts.pop(name) for name in KEPT if name in parts and name not in names}
    if set(parts) != names:
        raise NotReadable(f"a {kind} with the fields {sorted(parts)}, not {sorted(names)}")
    for name, hint in {**_field_types(RECORDS[kind]), **dict.fromkeys(kept, int)}.items():
        if not conforms({**parts, **kept}[name], hint):
            raise NotReadable(f"what it holds does not fit together (the {name} of a {kind} is of another type)")
    record = RECORDS[kind](**parts)
    record.__dict__.update(kept)
    return record


@cache
def _field_types(record: type) -> dict[str, Any]:
    """The declared type of every field of a record."""
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


def _checked_sparse(parts: dict[str, Any]) -> sparse.csr_array:
    return sound_csr("a sparse matrix", parts["data"], parts["indices"], parts["indptr"], tuple(parts["shape"]))


def _objects(items: list[Any]) -> np.ndarray:
    found = np.empty(len(items), dtype=object)
    found[:] = items
    return found


def _label(item: Any) -> Any:
    """A row label as JSON knows it; others, such as dates, as text."""
    return item if item is None or isinstance(item, bool | int | float | str) else str(item)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of a member, which is stored as it is, so that it cannot be larger than the file."""
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise NotReadable(f"{name!r} is compressed")
    return archive.read(name)


def _array(archive: zipfile.ZipFile, number: Any) -> np.ndarray:
    if not isinstance(number, int) or isinstance(number, bool):
        raise NotReadable(f"an array with the number {number!r}")
    data = _member(archive, f"arrays/{number}.npy")
    stream = BytesIO(data)
    header = read_header(stream)
    if header.dtype.kind not in "biuf" or header.n_bytes != len(data) - stream.tell():
        raise NotReadable(f"array {number} of {header.dtype} and shape {header.shape} does not fit into its {len(data)} bytes")
    stream.seek(0)
    return npy.read_array(stream, allow_pickle=False)


def _rmgl_version() -> str:
    from rmgl import __version__

    return __version__
