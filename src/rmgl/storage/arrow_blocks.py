"""The memory that the columns of an Arrow file (Feather, version 2) need, without unpacking any.

An Arrow file ends with a list of its blocks. Each block has a header, which lists the sizes of the
block's buffers, and a body with the buffers. A buffer that is compressed begins with its size
without compression. The header and the list are in the format of FlatBuffers: tables, whose fields
are found by their number. https://arrow.apache.org/docs/format/Columnar.html describes all of it.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"ARROW1"
CELL = 8
"""Bytes that a cell takes at least in a table of pandas."""
END = struct.Struct("<i6s")
"""The end of the file: the size of the list of blocks, and `MAGIC`."""
BLOCK = struct.Struct("<qi4xq")
"""A block in the list: its place, and the sizes of its header and its body."""
NODE = BUFFER = struct.Struct("<qq")
"""The cells of a column and how many are missing; the place of a buffer in the body, and its size.
"""
CONTINUATION = 0xFFFFFFFF
FOOTER_DICTIONARIES, FOOTER_BATCHES = 2, 3
MESSAGE_HEADER_KIND, MESSAGE_HEADER = 1, 2
DICTIONARY_BATCH, DICTIONARY_DATA = 2, 1
BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION = 1, 2, 3


@dataclass(frozen=True)
class Record:
    """A table of FlatBuffers at a place in a file."""

    content: mmap.mmap
    place: int

    def field(self, number: int) -> int | None:
        """The place of a field; None if the table does not have it."""
        fields = self.place - self._number("<i", self.place)
        entry = 4 + 2 * number
        offset = self._number("<H", fields + entry) if entry < self._number("<H", fields) else 0
        return self.place + offset if offset else None

    def record(self, number: int) -> Record:
        """The table that a field refers to."""
        return Record(self.content, self._target(number))

    def byte(self, number: int) -> int:
        """A field of one byte."""
        place = self.field(number)
        return 0 if place is None else self.content[place]

    def structs(self, number: int, layout: struct.Struct) -> Iterator[tuple[int, ...]]:
        """The structs in a list."""
        if self.field(number) is not None:
            start = self._target(number)
            size = self._number("<I", start) * layout.size
            yield from layout.iter_unpack(self.content[start + 4 : start + 4 + size])

    def _target(self, number: int) -> int:
        place = self.field(number)
        if place is None:
            raise ValueError(f"field {number} is missing in the table at byte {self.place}")
        return place + self._number("<I", place)

    def _number(self, layout: str, place: int) -> int:
        (found,) = struct.unpack_from(layout, self.content, place)
        return int(found)


def is_arrow_file(path: Path) -> bool:
    """Whether a file has blocks; those of the first version of Feather have none."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def block_sizes(path: Path) -> Iterator[int]:
    """The bytes that each block of a file needs in memory, at least."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        size, _ = END.unpack_from(content, len(content) - END.size)
        footer = root(content, len(content) - END.size - size)
        for number in (FOOTER_DICTIONARIES, FOOTER_BATCHES):
            for place, header_size, _ in footer.structs(number, BLOCK):
                yield batch_size(batch_at(content, place), place + header_size)


def root(content: mmap.mmap, place: int) -> Record:
    """The table that a header refers to first."""
    (offset,) = struct.unpack_from("<I", content, place)
    return Record(content, place + offset)


def batch_at(content: mmap.mmap, place: int) -> Record:
    """The description of some rows, or of the values of a category, in the header of a block."""
    (mark,) = struct.unpack_from("<I", content, place)
    message = root(content, place + (8 if mark == CONTINUATION else 4))
    header = message.record(MESSAGE_HEADER)
    return (
        header.record(DICTIONARY_DATA)
        if message.byte(MESSAGE_HEADER_KIND) == DICTIONARY_BATCH
        else header
    )


def batch_size(batch: Record, body: int) -> int:
    """The bytes of some rows: of their unpacked buffers, or of their cells, if that is more."""
    n_cells = sum(length for length, _ in batch.structs(BATCH_NODES, NODE))
    compressed = batch.field(BATCH_COMPRESSION) is not None
    buffers = batch.structs(BATCH_BUFFERS, BUFFER)
    sizes = (
        unpacked_size(batch.content, body + offset, size) if compressed else size
        for offset, size in buffers
    )
    return max(CELL * n_cells, sum(sizes))


def unpacked_size(content: mmap.mmap, place: int, size: int) -> int:
    """The uncompressed size of a buffer; -1 in its place says that it is not compressed."""
    if size == 0:
        return 0
    (unpacked,) = struct.unpack_from("<q", content, place)
    return size if unpacked == -1 else max(0, int(unpacked))
