"""Read Parquet and Feather (Arrow) files, after a check that their columns fit into memory.

A Parquet file may store each different text once, and for every row which of them it has, so a file
of some kilobytes can hold gigabytes of text. Such texts are read as they are stored, and the rows
of the table share them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmgl.archive.array_file import WAY_OUT, Refused
from rmgl.running.memory import require_memory
from rmgl.storage.arrow_blocks import block_sizes, is_arrow_file

CELL = 8
"""Bytes that a cell takes at least: a number, or a reference to a text."""
BATCH_ROWS = 8192
"""Rows that are read at once from columns that do not declare their size."""
AS_STORED = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
"""Encodings of texts that pyarrow reads without a copy for every row."""


def read_parquet(path: Path) -> Any:
    """The table of a Parquet file for pandas, in which columns of texts hold Python's strings."""
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
    """The table of a Feather file; one of the first version takes no more memory than the file."""
    import pandas as pd
    from pyarrow import ipc

    if is_arrow_file(path):
        with ipc.open_file(path) as file:
            check_flat(file.schema.names, file.schema.types)
        require_memory(sum(block_sizes(path)), f"{path}: its columns", WAY_OUT)
    return pd.read_feather(path)


def check_flat(names: list[str], kinds: list[Any]) -> None:
    """Raise an error for columns of the same name, and for cells that hold several values."""
    from pyarrow import types

    seen = set()
    for name, kind in zip(names, kinds, strict=True):
        stored = getattr(kind, "storage_type", kind)
        if name in seen:
            raise Refused(f"column {name!r} occurs more than once: rename one of them")
        if types.is_nested(stored) or types.is_run_end_encoded(stored):
            raise Refused(
                f"column {name!r} holds values of type {kind}, but a cell needs one value: "
                "convert the column, or leave it out"
            )
        seen.add(name)


def check_size(path: Path, declared: Any) -> None:
    """Raise a MemoryError if the columns, as the file declares them, need too much memory."""
    widths = [
        max(CELL, declared.schema.column(place).length or 0)
        for place in range(declared.num_columns)
    ]
    sizes = (
        max(widths[place] * chunk.num_values, chunk.total_uncompressed_size)
        for place, chunk in column_chunks(declared)
    )
    require_memory(sum(sizes), f"{path}: its columns", WAY_OUT)


def column_chunks(declared: Any) -> Iterator[tuple[int, Any]]:
    """The parts of which the columns of a file consist, each with the place of its column."""
    for number in range(declared.num_row_groups):
        group = declared.row_group(number)
        for place in range(group.num_columns):
            yield place, group.column(place)


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is that of texts or bytes of any length."""
    from pyarrow import types

    return any(
        check(kind)
        for check in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
        )
    )


def in_batches(path: Path, file: Any, name: str) -> Any:
    """A column of texts that does not declare its size, read and checked some rows at a time."""
    import pyarrow

    chunks = []
    for batch in file.iter_batches(BATCH_ROWS, columns=[name]):
        require_memory(batch.nbytes, f"{path}: the texts of column {name!r}", WAY_OUT)
        chunks.append(batch.column(name).dictionary_encode())
    return pyarrow.chunked_array(
        chunks, type=pyarrow.dictionary(pyarrow.int32(), file.schema_arrow.field(name).type)
    )


def with_shared_texts(table: Any, texts: set[str]) -> Any:
    """The table as a pandas one; cells of its own that hold the same text are the same object."""
    note = table.schema.pandas_metadata or {"columns": [], "index_columns": []}
    for column in note["columns"]:
        if column["field_name"] in texts:
            column["numpy_type"] = "object"  # others ask for a copy of every text
    frame = table.replace_schema_metadata(
        {**(table.schema.metadata or {}), b"pandas": json.dumps(note).encode()}
    ).to_pandas()
    own = [name for name in table.column_names if name not in note["index_columns"]]
    for place, name in enumerate(own):
        if name in texts:
            frame.isetitem(place, frame.iloc[:, place].astype(object))
    return frame
