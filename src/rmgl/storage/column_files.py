"""Read Parquet and Feather (Arrow) files after checking that their columns fit into memory.

A Parquet file may store each distinct string once, and only its number in each row, so a file of a
few kilobytes can hold gigabytes of text. Such strings are read as stored, and the rows of the table
share them.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmgl.archive.array_file import WAY_OUT, Refused
from rmgl.running.threads import require_memory

CELL_BYTES = 8
"""Minimum size of a cell in bytes: a number, or a reference to a string."""
BATCH_ROWS = 8192
"""Number of rows read at once from columns that do not declare their size."""
AS_STORED = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
"""String encodings that pyarrow reads without copying the string for each row."""


def read_parquet(path: Path) -> Any:
    """Read a Parquet file as a pandas table, with text as Python strings."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        declared, schema = file.metadata, file.schema_arrow
    names = schema.names
    check_flat(names, schema.types)
    check_size(path, declared)
    texts = {name for name, kind in zip(names, schema.types, strict=True) if is_text(kind)}
    odd = {
        names[place]
        for place, chunk in column_chunks(declared)
        if not AS_STORED.issuperset(chunk.encodings)
    } & texts
    with parquet.ParquetFile(path, metadata=declared, read_dictionary=sorted(texts - odd)) as file:
        table = file.read([name for name in names if name not in odd] if odd else None)
        for name in odd:
            table = table.append_column(name, in_batches(path, file, name))
    return with_shared_texts(table.select(names), texts)


def read_feather(path: Path) -> Any:
    """Read a Feather file. A version 1 file needs no more memory than its size."""
    import pandas as pd
    from pyarrow import ipc

    if is_arrow_file(path):
        with ipc.open_file(path) as file:
            check_flat(file.schema.names, file.schema.types)
        require_memory(sum(block_sizes(path)), f"{path}: its columns", WAY_OUT)
    return pd.read_feather(path)


def check_flat(names: list[str], kinds: list[Any]) -> None:
    """Raise an error for repeated column names, and for cells that hold several values."""
    from pyarrow import types

    seen = set()
    for name, kind in zip(names, kinds, strict=True):
        stored = getattr(kind, "storage_type", kind)
        if name in seen:
            raise Refused(f"column {name!r} occurs more than once: rename one of them")
        if types.is_nested(stored) or types.is_run_end_encoded(stored):
            raise Refused(
                f"column {name!r} has values of type {kind}, but each cell must contain a single "
                "value: convert the column, or leave it out"
            )
        seen.add(name)


def check_size(path: Path, declared: Any) -> None:
    """Raise a MemoryError if the declared columns need too much memory."""
    widths = [
        max(CELL_BYTES, declared.schema.column(place).length or 0)
        for place in range(declared.num_columns)
    ]
    sizes = (
        max(widths[place] * chunk.num_values, chunk.total_uncompressed_size)
        for place, chunk in column_chunks(declared)
    )
    require_memory(sum(sizes), f"{path}: its columns", WAY_OUT)


def column_chunks(declared: Any) -> Iterator[tuple[int, Any]]:
    """Yield the column chunks in a file, each with the position of its column."""
    for number in range(declared.num_row_groups):
        group = declared.row_group(number)
        for place in range(group.num_columns):
            yield place, group.column(place)


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type holds strings or bytes of any length."""
    from pyarrow import types

    any_length = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(check(kind) for check in any_length)


def in_batches(path: Path, file: Any, name: str) -> Any:
    """Read a string column that does not declare its size, checking memory batch by batch."""
    import pyarrow

    chunks = []
    for batch in file.iter_batches(BATCH_ROWS, columns=[name]):
        require_memory(batch.nbytes, f"{path}: the strings of column {name!r}", WAY_OUT)
        chunks.append(batch.column(name).dictionary_encode())
    return pyarrow.chunked_array(
        chunks, type=pyarrow.dictionary(pyarrow.int32(), file.schema_arrow.field(name).type)
    )


def with_shared_texts(table: Any, texts: set[str]) -> Any:
    """Convert a table to pandas. Cells of `texts` columns with the same text share one object."""
    note = table.schema.pandas_metadata or {"columns": [], "index_columns": []}
    for column in note["columns"]:
        if column["field_name"] in texts:
            column["numpy_type"] = "object"  # other types copy every text
    frame = table.replace_schema_metadata(
        {**(table.schema.metadata or {}), b"pandas": json.dumps(note).encode()}
    ).to_pandas()
    columns = [name for name in table.column_names if name not in note["index_columns"]]
    for place, name in enumerate(columns):
        if name in texts:
            frame.isetitem(place, frame.iloc[:, place].astype(object))
    return frame


# Memory that an Arrow file needs, found without decompressing it
#
# The file ends with a list of its blocks. Each block has a header, which lists the sizes of the
# block's buffers, and a body with the buffers. A compressed buffer begins with its uncompressed
# size. The header and the list are FlatBuffers tables, whose fields are identified by number. See
# https://arrow.apache.org/docs/format/Columnar.html.

MAGIC = b"ARROW1"
END = struct.Struct("<i6s")
"""End of the file: size of the list of blocks, and `MAGIC`."""
BLOCK_ENTRY = struct.Struct("<qi4xq")
"""Block in the list: its position, and the sizes of its header and its body."""
NODE = BUFFER = struct.Struct("<qq")
"""Node: numbers of cells and missing cells in a column. Buffer: its position in the body, its size.
"""
CONTINUATION = 0xFFFFFFFF
FOOTER_DICTIONARIES, FOOTER_BATCHES = 2, 3
MESSAGE_HEADER_KIND, MESSAGE_HEADER = 1, 2
DICTIONARY_BATCH, DICTIONARY_DATA = 2, 1
BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION = 1, 2, 3


@dataclass(frozen=True)
class Record:
    """A FlatBuffers table at a position in a file."""

    content: mmap.mmap
    place: int

    def field(self, number: int) -> int | None:
        """Return the position of a field. None if the table does not have it."""
        fields = self.place - self._number("<i", self.place)
        entry = 4 + 2 * number
        offset = self._number("<H", fields + entry) if entry < self._number("<H", fields) else 0
        return self.place + offset if offset else None

    def record(self, number: int) -> Record:
        """Return the table that a field refers to."""
        return Record(self.content, self._target(number))

    def byte(self, number: int) -> int:
        """Return a one-byte field."""
        place = self.field(number)
        return 0 if place is None else self.content[place]

    def structs(self, number: int, layout: struct.Struct) -> Iterator[tuple[int, ...]]:
        """Yield the structs in a list."""
        if self.field(number) is not None:
            start = self._target(number)
            size = self._number("<I", start) * layout.size
            yield from layout.iter_unpack(self.content[start + 4 : start + 4 + size])

    def _target(self, number: int) -> int:
        place = self.field(number)
        if place is None:
            raise ValueError(f"field {number} is missing from the table at byte {self.place}")
        return place + self._number("<I", place)

    def _number(self, layout: str, place: int) -> int:
        (number,) = struct.unpack_from(layout, self.content, place)
        return int(number)


def is_arrow_file(path: Path) -> bool:
    """Return whether a file has blocks. Version 1 Feather files have none."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def block_sizes(path: Path) -> Iterator[int]:
    """Yield the minimum memory, in bytes, for each block in a file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        size, _ = END.unpack_from(content, len(content) - END.size)
        footer = root(content, len(content) - END.size - size)
        for number in (FOOTER_DICTIONARIES, FOOTER_BATCHES):
            for place, header_size, _ in footer.structs(number, BLOCK_ENTRY):
                yield batch_size(batch_at(content, place), place + header_size)


def root(content: mmap.mmap, place: int) -> Record:
    """Return the table that a header refers to first."""
    (offset,) = struct.unpack_from("<I", content, place)
    return Record(content, place + offset)


def batch_at(content: mmap.mmap, place: int) -> Record:
    """Return the description of a batch of rows, or of a category's values, in a block header."""
    (mark,) = struct.unpack_from("<I", content, place)
    message = root(content, place + (8 if mark == CONTINUATION else 4))
    header = message.record(MESSAGE_HEADER)
    is_dictionary = message.byte(MESSAGE_HEADER_KIND) == DICTIONARY_BATCH
    return header.record(DICTIONARY_DATA) if is_dictionary else header


def batch_size(batch: Record, body: int) -> int:
    """Return the bytes needed for a batch: its unpacked buffers or its cells, whichever is more."""
    n_cells = sum(length for length, _ in batch.structs(BATCH_NODES, NODE))
    compressed = batch.field(BATCH_COMPRESSION) is not None
    buffers = batch.structs(BATCH_BUFFERS, BUFFER)
    sizes = (
        unpacked_size(batch.content, body + offset, size) if compressed else size
        for offset, size in buffers
    )
    return max(CELL_BYTES * n_cells, sum(sizes))


def unpacked_size(content: mmap.mmap, place: int, size: int) -> int:
    """Return the uncompressed size of a buffer. A stored -1 marks an uncompressed buffer."""
    if size == 0:
        return 0
    (unpacked,) = struct.unpack_from("<q", content, place)
    return size if unpacked == -1 else max(0, int(unpacked))
