"""Check the paths that a command reads and writes, without loading numerical libraries."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmgl.archive.atomic import check_writable
from rmgl.storage.selection import Selection

FILES = {
    "labels.csv",
    "embedding.npy",
    "layers",
    "summary.json",
    "features.csv",
    "associations.csv",
    "report.txt",
    "report.html",
    "embedding.png",
    "layers.png",
    "clusters.png",
    "survival.png",
    "layers.graphml",
    "layers/nodes.csv",
}
"""Files and folders of a result."""
COMPARISON = "comparison.csv"
"""File that compares results with different numbers of clusters."""
MATRICES = ("matrix.mtx", "matrix.mtx.gz")
"""Possible names of the matrix in a 10x Genomics folder."""

EVERYTHING = Selection()


@dataclass(frozen=True)
class NamedFile:
    """A file on the command line, and the name given to its view there (None: the file's name)."""

    path: Path
    name: str | None = None

    @classmethod
    def of(cls, text: str) -> NamedFile:
        """Parse `path` or `name=path`. If the whole text is the path to an existing file, that file
        is used.

        Examples
        --------
        >>> NamedFile.of("rna=data/x.csv").name, NamedFile.of("data/a=b.csv").name
        ('rna', None)
        """
        name, equals, path = text.partition("=")
        if not (name and equals and path) or "/" in name or "\\" in name or os.path.exists(text):
            return cls(Path(text))
        return cls(Path(path), name)


@dataclass(frozen=True)
class OutcomeFile:
    """A file of columns that are not used in the fit, and its survival columns."""

    path: Path
    time: str | None = None
    event: str | None = None
    color: tuple[str, ...] = ()
    """Columns that the page can use to color the entities."""


@dataclass(frozen=True)
class Source:
    """The files that a command reads views from."""

    inputs: tuple[Path, ...]
    networks: tuple[Path, ...] = ()
    """Edge lists, each of which is a view."""
    id_column: str | None = None
    align: str | None = None
    outcome: OutcomeFile | None = None
    selection: Selection = EVERYTHING
    """Selection of the data to read from the files."""

    @property
    def paths(self) -> list[Path]:
        """The files of the views."""
        return [*self.inputs, *self.networks]

    @property
    def all_paths(self) -> list[Path]:
        """The files of the views, and the file of columns that are not used in the fit."""
        return self.paths + ([] if self.outcome is None else [self.outcome.path])


@dataclass(frozen=True)
class Output:
    """The output folder of a command, and its files."""

    folder: Path
    pictures: bool
    page: bool
    graphml: bool = False
    edge_lists: bool = False
    force: bool = False
    """Whether to replace an old result."""


def check_paths(source: Source, output: Output, save: Path | None, checkpoint: Path | None) -> None:
    """Raise a ValueError for files of a fit that cannot be read, or must not be written."""
    written = {"output": output.folder, "saved model": save, "checkpoint": checkpoint}
    check_apart(written, source.all_paths)
    check_folder(output.folder, output.force)
    if save is not None:
        check_file(save, output.force)
    if source.align is not None and source.id_column is None:
        raise ValueError(f"--align {source.align} requires row ids: name their column with --id")
    check_inputs([path for path in source.all_paths if not is_stored_folder(path)])


def is_stored_folder(path: Path) -> bool:
    """Return whether a path is a zarr folder or a folder of Parquet files."""
    return path.is_dir() and (path.suffix == ".zarr" or any(path.glob("*.parquet")))


def check_inputs(paths: Sequence[Path]) -> None:
    """Raise a ValueError if an input is neither a file nor a 10x Genomics folder."""
    for path in paths:
        if path.is_file() or any((path / matrix).is_file() for matrix in MATRICES):
            continue
        if path.is_dir():
            raise ValueError(
                f"{path} is a folder, but not a 10x Genomics folder, which would contain "
                f"{MATRICES[0]}: pass the files in it, such as {path}/*.csv"
            )
        raise ValueError(f"{path}: no such file")


def check_view_names(names: Sequence[str]) -> None:
    """Raise a ValueError if two files name the same view."""
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise ValueError(
            f"two views have the name {twice!r}, because views are named after their files: "
            f"give one of them another name, such as {twice}_2=FILE"
        )


def check_apart(written: Mapping[str, Path | None], read: Sequence[Path]) -> None:
    """Raise a ValueError if an output would overwrite, contain or lie inside another output or an
    input.

    `written` maps the description of each output to its path.
    """
    targets = [(what, path) for what, path in written.items() if path is not None]
    inputs = [("an input", path) for path in read]
    for place, (what, path) in enumerate(targets):
        for other, other_path in [*targets[:place], *inputs]:
            if overlap(path, other_path):
                relation = "the same as" if same(path, other_path) else "inside, or contains,"
                raise ValueError(
                    f"{path} ({what}) is {relation} {other_path} ({other}), which would be "
                    "overwritten: choose another name"
                )


def overlap(path: Path, other: Path) -> bool:
    """Return whether two paths are the same or one is inside the other, including via links."""
    pairs = [(one, another) for one in locations(path) for another in locations(other)]
    return same(path, other) or any(
        one.is_relative_to(another) or another.is_relative_to(one) for one, another in pairs
    )


def same(path: Path, other: Path) -> bool:
    """Return whether two paths are the same file or folder."""
    if locations(path) & locations(other):
        return True
    try:
        return path.samefile(other)
    except OSError:  # one of them does not exist
        return False


def locations(path: Path) -> set[Path]:
    """Return the location of a path and, if it is a link, of its target."""
    return {Path(os.path.realpath(path)), Path(os.path.realpath(path.parent)) / path.name}


def check_folder(folder: Path, force: bool) -> None:
    """Raise a ValueError if the folder cannot be written. `force` allows an rmgl result there."""
    if not folder.parent.is_dir():
        raise ValueError(f"{folder}: its parent folder does not exist: create it first")
    check_writable(folder)
    if not os.path.lexists(folder):
        return
    if not force:
        raise ValueError(
            f"{folder} already exists: choose another name, or replace it with --force"
        )
    if not folder.is_dir() or folder.is_symlink():
        raise ValueError(f"{folder} is not a folder: choose another name")
    foreign = foreign_file(folder)
    if foreign is not None:
        raise ValueError(
            f"{folder} contains {foreign!r}, which rmgl did not write, so --force will not "
            "replace it: choose another name"
        )


def check_file(path: Path, force: bool) -> None:
    """Raise a ValueError if the file cannot be written, or exists and `force` is not set."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: its parent folder does not exist: create it first")
    check_writable(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: choose another name")
    if os.path.lexists(path) and not force:
        raise ValueError(f"{path} already exists: choose another name, or replace it with --force")


def folder_of_number(n_clusters: int) -> str:
    """Return the name of the folder for the result with this number of clusters."""
    return f"{n_clusters}_clusters"


def foreign_file(folder: Path) -> str | None:
    """Return the name of a file in the folder that is not part of an rmgl result, or None."""
    if (folder / COMPARISON).is_file():
        for path in sorted(folder.iterdir()):
            if path.name != COMPARISON:
                number = path.name.removesuffix("_clusters")
                known = number.isdecimal() and path.name == folder_of_number(int(number))
                found = foreign_file(path) if known and path.is_dir() else ""
                if found is not None:
                    return f"{path.name}/{found}".rstrip("/")
        return None
    present = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        layers = [Path(layer["file"]) for layer in summary["layers"]]
        kinds = (".npz", ".graphml", ".csv")
        of_layers = {path.with_suffix(kind).as_posix() for path in layers for kind in kinds}
        ours = FILES | of_layers if "rmgl" in summary["versions"] else set()
    except (OSError, ValueError, KeyError, TypeError):
        ours = set()
    return next((name for name in present if name not in ours), None)
