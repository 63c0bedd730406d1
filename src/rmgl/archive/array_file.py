"""Arrays in .npy and .npz files. What a file declares is compared with what it holds, and with the memory there is, before any is taken."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rmgl.running.memory import require_memory

MOST_UNPACKED = 1100
"""How many times its size a member of an .npz file can unpack to: the compression that NumPy uses reaches 1032 at most."""
WAY_OUT = "leave out rows or columns"


class Refused(ValueError):
    """The file can be read, but what it holds is not taken."""


class Header(NamedTuple):
    """What an array says of itself."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def n_bytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def n_bytes_as_view(self) -> int:
        """Memory for the array as it is stored, or in double precision if that is more."""
        return prod(self.shape) * max(self.dtype.itemsize, 8)

    def check(self, what: str, n_stored: int) -> None:
        """Refuse an array that is no plain one, or larger than what is stored."""
        if self.dtype.hasobject:
            raise Refused(f"{what} declares Python objects, which are not read: store numbers")
        if self.n_bytes > n_stored:
            raise Refused(
                f"{what} declares an array of {self.dtype} and shape {self.shape}, but only {n_stored} bytes follow: the file is damaged"
            )


def read_header(stream: IO[bytes]) -> Header:
    """Shape and type of an array in NumPy's own format; the stream is left where its numbers begin."""
    major, minor = npy.read_magic(stream)
    if (major, minor) not in ((1, 0), (2, 0)):
        raise ValueError(f"version {major}.{minor} of NumPy's format is not read")
    shape, _, dtype = npy.read_array_header_1_0(stream) if major == 1 else npy.read_array_header_2_0(stream)
    if any(length < 0 for length in shape):
        raise ValueError(f"shape {shape} is negative")
    return Header(shape, dtype)


def read_npy(path: Path) -> NDArray:
    """The array of an .npy file."""
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise Refused("it holds several arrays: rename it to .npz")
        file.seek(0)
        header = read_header(file)
        header.check("its header", os.fstat(file.fileno()).st_size - file.tell())
        require_memory(header.n_bytes_as_view, f"{path}: its numbers", WAY_OUT)
        file.seek(0)
        return npy.read_array(file, allow_pickle=False)


def read_npz(path: Path) -> dict[str, NDArray]:
    """The 2-D arrays of an .npz file by name; others, such as labels, are not read."""
    with path.open("rb") as file:
        if file.read(6) == npy.MAGIC_PREFIX:
            raise Refused("it holds a single array: rename it to .npy")
    with zipfile.ZipFile(path) as archive:
        members = by_name(archive.infolist())
        headers = {name: member_header(archive, name, info) for name, info in members.items()}
        views = [name for name, header in headers.items() if len(header.shape) == 2]
        if not views:
            found = ", ".join(f"{name} {header.shape}" for name, header in headers.items())
            raise Refused(f"no 2-D array to use as a view (found: {found or 'nothing'})")
        require_memory(sum(headers[name].n_bytes_as_view for name in views), f"{path}: its arrays", WAY_OUT)
        return {name: read_member(archive, members[name]) for name in views}


def by_name(members: Iterable[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The members of an .npz file by the names of their arrays, of which each must stand once."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in members:
        name = info.filename.removesuffix(".npy")
        if name in found:
            raise Refused(f"it holds the array {name!r} more than once (as {found[name].filename!r} and {info.filename!r}): rename one")
        found[name] = info
    return found


def member_header(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Header:
    """What a member of an .npz file says of itself, if that can be."""
    if info.file_size > MOST_UNPACKED * info.compress_size:
        times = info.file_size // max(info.compress_size, 1)
        raise Refused(f"its member {name!r} says that it unpacks to {times} times its size: store it uncompressed if that is so")
    with archive.open(info) as stream:
        try:
            header = read_header(stream)
        except ValueError as error:
            raise ValueError(f"its member {name!r} is no array: {error}") from error
        if len(header.shape) == 2:
            header.check(f"its member {name!r}", info.file_size - stream.tell())
        return header


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray:
    with archive.open(info) as stream:
        return npy.read_array(stream, allow_pickle=False)
