"""Data sets as files that workers read: scaled views `view_0 ...` and the classes `target`, stored
in the folder `data` next to the results.

A sparse view is stored as the parts of its rows (see `worker.read_views`).
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.datasets import Dataset, load
from benchmarks.worker import read_views


@dataclass(frozen=True)
class Prepared:
    name: str
    path: Path

    @property
    def target(self) -> NDArray:
        with np.load(self.path) as stored:
            return stored["target"]

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.target))

    def views(self) -> list[Any]:
        """All views: arrays, or sparse rows."""
        found: list[Any] = read_views(self.path)
        return found

    def view(self) -> NDArray:
        """The view in a file with a single view."""
        (view,) = self.views()
        return view


def prepare(
    folder: Path, name: str, n_rows: int | None = None, view: str | None = None, raw: bool = False
) -> Prepared | None:
    """Store the data set `name`, some of its rows, or one of its views, as a file. If the data are
    missing, print the reason and return None.

    Views are scaled, unless `raw` is true.
    """
    title = name if n_rows is None else f"{name}-{n_rows}"
    path = folder / "data" / (title if view is None else f"{title}-{view}")
    path = path.with_name(path.name + "-raw") if raw else path
    path = path.with_name(path.name + ".npz")
    if not path.exists():
        try:
            data = load(name, n_rows) if raw else load(name, n_rows).scaled()
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
            return None
        store(path, data if view is None else replace(data, views={view: data.views[view]}))
    return Prepared(title, path)


def keep(folder: Path, name: str, data: Dataset) -> Prepared:
    """Store a data set that was generated for a suite, as a file."""
    path = folder / "data" / f"{name.replace(' ', '-')}.npz"
    if not path.exists():
        store(path, data)
    return Prepared(name, path)


def store(path: Path, data: Dataset) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.stem}-partial.npz")  # because suites may run at the same time
    views = [parts(f"view_{m}", X) for m, X in enumerate(data.views.values())]
    np.savez(
        partial,
        target=data.target,
        **{name: array for view in views for name, array in view.items()},
    )
    partial.replace(path)


def parts(name: str, X: Any) -> dict[str, Any]:
    """The arrays of a view, by name."""
    if not sparse.issparse(X):
        return {name: X}
    return {
        f"{name}.{part}": np.asarray(getattr(X, part))
        for part in ("data", "indices", "indptr", "shape")
    }
