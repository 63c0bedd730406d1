"""Read .npy and .npz files after checking declared sizes against the file and available memory."""

from __future__ import annotations

import lzma
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rmgl.running.threads import require_memory

MOST_UNPACKED = 1100
"""Largest accepted compression ratio in an .npz file. NumPy's is at most 1032."""
WAY_OUT = "leave out rows or columns"


DAMAGED = (
    *(ValueError, OSError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError),
)
"""Errors that libraries raise for a damaged file."""


class Refused(ValueError):
    """The file can be read, but its contents are not accepted."""


def detail_of(error: Exception) -> str:
    """Return a library's message about a file that it cannot read, if it helps users."""
    usable = isinstance(error, DAMAGED) and not isinstance(error, tokenize.TokenError)
    return f" ({error})" if usable else ""


class Header(NamedTuple):
    """The shape and type that an array file declares."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Declared size of the array."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def n_bytes_as_view(self) -> int:
        """Memory for the array as it is stored, or in double precision, whichever is larger."""
        return prod(self.shape) * max(self.dtype.itemsize, 8)

    def check(self, what: str, n_stored: int) -> None:
        """Raise `Refused` for Python objects, or for more than the `n_stored` bytes in the file."""
        if self.dtype.hasobject:
            raise Refused(
                f"{what} declares Python objects, which are not read: store an array of numbers"
            )
        if self.n_bytes > n_stored:
            raise Refused(
                f"{what} declares an array of type {self.dtype} and shape {self.shape}, "
                f"but only {n_stored} bytes follow: the file is damaged; write it again"
            )


def read_header(stream: IO[bytes]) -> Header:
    """Read the shape and type of an array in NumPy's format, up to the first number."""
    major, minor = npy.read_magic(stream)
    if (major, minor) not in ((1, 0), (2, 0)):
        raise ValueError(
            f"NumPy format version {major}.{minor} cannot be read: save the array again "
            "with numpy.save"
        )
    shape, _, dtype = (
        npy.read_array_header_1_0(stream) if major == 1 else npy.read_array_header_2_0(stream)
    )
    if any(length < 0 for length in shape):
        raise ValueError(f"shape {shape} has negative lengths: the file is damaged")
    return Header(shape, dtype)


def read_npy(path: Path) -> NDArray[Any]:
    """Read the array in an .npy file."""
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise Refused("it contains several arrays: rename it to .npz")
        file.seek(0)
        header = read_header(file)
        header.check("its header", os.fstat(file.fileno()).st_size - file.tell())
        require_memory(header.n_bytes_as_view, f"{path}: its numbers", WAY_OUT)
        file.seek(0)
        return npy.read_array(file, allow_pickle=False)


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Read the 2-D arrays of an .npz file by name. Other arrays, such as labels, are not read."""
    with path.open("rb") as file:
        if file.read(6) == npy.MAGIC_PREFIX:
            raise Refused("it contains a single array: rename it to .npy")
    with zipfile.ZipFile(path) as archive:
        members = by_name(archive.infolist())
        headers = {name: member_header(archive, name, info) for name, info in members.items()}
        views = [name for name, header in headers.items() if len(header.shape) == 2]
        if not views:
            shapes = ", ".join(f"{name} {header.shape}" for name, header in headers.items())
            raise Refused(
                f"it has no 2-D array to use as a view (found: {shapes or 'nothing'}): store "
                "each view as rows and columns"
            )
        require_memory(
            sum(headers[name].n_bytes_as_view for name in views), f"{path}: its arrays", WAY_OUT
        )
        return {name: read_member(archive, members[name]) for name in views}


def by_name(infos: Iterable[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an .npz file by the names of their arrays. Names must differ."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if name in members:
            raise Refused(
                f"it contains the array {name!r} more than once (as {members[name].filename!r} "
                f"and {info.filename!r}): rename one"
            )
        members[name] = info
    return members


def member_header(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Header:
    """Return the shape and type that a member of an .npz file declares, if they are plausible."""
    if info.file_size > MOST_UNPACKED * info.compress_size:
        times = info.file_size // max(info.compress_size, 1)
        raise Refused(
            f"its member {name!r} declares {times} times its compressed size, more than NumPy's "
            "compression can reach: store it uncompressed"
        )
    with archive.open(info) as stream:
        try:
            header = read_header(stream)
        except ValueError as error:
            raise ValueError(f"its member {name!r} is not an array: {error}") from error
        if len(header.shape) == 2:
            header.check(f"its member {name!r}", info.file_size - stream.tell())
        return header


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Read the array in a member of an .npz file."""
    with archive.open(info) as stream:
        return npy.read_array(stream, allow_pickle=False)
