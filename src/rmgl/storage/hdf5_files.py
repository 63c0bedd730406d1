"""Read .h5mu and .h5ad files after checking that their datasets fit into memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

from rmgl.archive.array_file import WAY_OUT, detail_of
from rmgl.extras import not_installed
from rmgl.running.threads import require_memory
from rmgl.storage.row_ids import checked_ids, texts_of
from rmgl.storage.scverse import from_anndata, from_mudata
from rmgl.storage.selection import Selection
from rmgl.storage.text_file import Table
from rmgl.views.views import Views

MOST_OBJECTS, DEEPEST = 100_000, 30
"""Maximum number of objects in a file, and maximum depth of its groups. Links can make a file look
endless.
"""


def read_h5mu(path: Path) -> Views:
    """Read the modalities of an .h5mu file. The row ids are the names of its observations."""
    mdata = read_hdf5(path, "mudata", "read_h5mu", "MuData.write")
    if not mdata.mod:  # such as an AnnData file, which new versions of mudata read as empty
        raise ValueError(
            f"{path}: not a readable .h5mu file (it has no modalities): write it again with "
            "MuData.write"
        )
    checked_ids(texts_of(mdata.obs_names), lambda row: f"{path}: observation {row} (obs_names)")
    return from_mudata(mdata)


def read_h5ad(path: Path, wanted: Selection) -> Table:
    """Read X from an .h5ad file. The row ids are the names of its observations."""
    adata = read_hdf5(path, "anndata", "read_h5ad", "AnnData.write_h5ad")
    views = from_anndata(adata, ["X"])
    ids = checked_ids(texts_of(adata.obs_names), lambda row: f"observation {row} (obs_names)")
    return Table(views[0].measured(), ids, views[0].columns, "AnnData (X)")


def read_hdf5(path: Path, package: str, function: str, writer: str) -> Any:
    """Read an .h5mu or .h5ad file with its package."""
    try:
        import h5py

        reader = getattr(__import__(package), function)
        with h5py.File(path, "r") as file:
            sizes = list(islice(declared_sizes(file), MOST_OBJECTS + 1))
        if len(sizes) > MOST_OBJECTS:
            raise ValueError(f"it contains more than {MOST_OBJECTS} groups and datasets")
        require_memory(sum(sizes), f"{path}: its datasets", WAY_OUT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecation warnings from these packages
            return reader(path)
    except ImportError as error:
        raise ValueError(
            f"{path}: {not_installed(f'{path.suffix} files need', package)}"
        ) from error
    except MemoryError:
        raise
    # mudata, anndata and h5py raise errors of any kind for damaged files
    except Exception as error:
        raise ValueError(
            f"{path}: not a readable {path.suffix} file{detail_of(error)}: write it again with "
            f"{writer}"
        ) from error


def declared_sizes(group: Any, depth: int = 0) -> Iterator[int]:
    """Yield the size in memory, in bytes, of every dataset in an HDF5 group, at any depth.

    A dataset of a few bytes on disk can declare any shape, and reading it decompresses whole
    chunks. Groups need no memory, except sparse matrices, which need a few numbers for every row
    and column.
    """
    if depth > DEEPEST:
        raise ValueError(f"it contains groups nested more than {DEEPEST} deep")
    for name in group:
        item = group.get(name)  # None if it is a broken link
        if hasattr(item, "keys"):
            is_sparse = item.attrs.get("encoding-type") in ("csr_matrix", "csc_matrix")
            yield 8 * sum(map(int, item.attrs["shape"])) if is_sparse else 0
            yield from declared_sizes(item, depth + 1)
        elif hasattr(item, "chunks"):
            yield item.dtype.itemsize * max(prod(item.shape or ()), prod(item.chunks or ()))
