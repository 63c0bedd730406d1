"""A matrix whose rows are kept by workers, in chunks, and its statistics from sums over the chunks.

Chunks are those of the storage, and their sums are added in the order of rows: results do not
depend on the number of workers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.workers import Future, Workers
from rmgl.edges.interface import Floats, Nodes
from rmgl.running.checkpoint import digest_of
from rmgl.views.scaling import Scaler


@dataclass(frozen=True)
class Summary:
    """What one pass over the rows of a matrix, or of a chunk of it, finds out."""

    low: Floats
    """The smallest entry of each column."""
    high: Floats
    """The largest entry of each column."""
    n_nonzero: int
    n_negative: int
    nonzero: NDArray[np.bool_]
    """Which rows have an entry other than zero."""
    bad_row: int
    """The first row with an entry that is not finite (-1: there is none)."""
    bad_column: int
    """The first column of the bad row that is not finite."""
    missing: bool
    """Whether all entries of the bad row are NaN."""


@dataclass(frozen=True)
class RemoteMatrix:
    """A dense matrix in chunks of rows on the workers."""

    workers: Workers
    chunks: tuple[Future, ...]
    bounds: tuple[int, ...]
    """The first row of every chunk, and the number of rows."""
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.bounds[-1], self.n_columns

    def each(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Compute task(chunk, *arguments) for all chunks."""
        return self.workers.gather(self._submitted(name, task, *arguments))

    def mapped(self, name: str, task: Callable[..., Any], *arguments: Any) -> RemoteMatrix:
        """Return the matrix whose chunks are task(chunk, *arguments), of the same shape."""
        chunks = tuple(self._submitted(name, task, *arguments))
        return RemoteMatrix(self.workers, chunks, self.bounds, self.n_columns)

    def _submitted(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        return [self.workers.submit(name, task, chunk, *arguments) for chunk in self.chunks]

    def scaled(self, scaler: Scaler) -> RemoteMatrix:
        """Return the matrix with every chunk scaled."""
        return self.mapped("rmgl-scale", scale_chunk, scaler)

    @cached_property
    def summary(self) -> Summary:
        """The summary of all rows."""
        parts: list[Summary] = self.each("rmgl-describe", describe)
        bad = next((place for place, part in enumerate(parts) if part.bad_row >= 0), 0)
        bad_row = parts[bad].bad_row
        return Summary(
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
            sum(part.n_nonzero for part in parts),
            sum(part.n_negative for part in parts),
            np.concatenate([part.nonzero for part in parts]),
            bad_row if bad_row < 0 else self.bounds[bad] + bad_row,
            parts[bad].bad_column,
            parts[bad].missing,
        )

    @cached_property
    def mean(self) -> Floats:
        """The mean of every column."""
        return total(self.each("rmgl-sum-columns", np.sum, 0)) / self.shape[0]

    @cached_property
    def variances(self) -> Floats:
        """The variance of every column."""
        return total(self.each("rmgl-sum-squares", squares_around, self.mean)) / self.shape[0]

    def digest(self) -> str:
        """Return a text that differs for other rows or other chunks."""
        return digest_of(*self.each("rmgl-digest", digest_of), self.bounds)

    def moments(self, largest: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the means of the first three powers of every column, divided by `largest`."""
        sums = total(self.each("rmgl-sum-powers", power_sums, largest)) / self.shape[0]
        return sums[0], sums[1], sums[2]

    def in_order(self, order: Nodes) -> RemoteMatrix:
        """Return the matrix with its rows in another order, in chunks of as many rows.

        Every chunk sends some of its rows to every other one.
        """
        chunks = []
        for begin, end in pairwise(self.bounds):
            parts, places = self._taken(order[begin:end])
            chunks.append(self.workers.submit("rmgl-join-rows", put_together, parts, places))
        return RemoteMatrix(self.workers, tuple(chunks), self.bounds, self.n_columns)

    def rows(self, chosen: Nodes) -> Floats:
        """Bring some rows to this process, in the order in which they are asked for."""
        if not len(chosen):
            return np.empty((0, self.n_columns))
        parts, places = self._taken(chosen)
        return put_together(self.workers.gather(parts), places)

    def _taken(self, chosen: Nodes) -> tuple[list[Future], list[Nodes]]:
        """Tasks that take the chosen rows from each chunk that has some, and their places."""
        owner = np.searchsorted(self.bounds, chosen, side="right") - 1
        parts, places = [], []
        for place, chunk in enumerate(self.chunks):
            here = np.flatnonzero(owner == place)
            if here.size:
                rows = chosen[here] - self.bounds[place]
                parts.append(self.workers.submit("rmgl-take-rows", operator.getitem, chunk, rows))
                places.append(here)
        return parts, places

    def cut(self, begin: int, end: int) -> tuple[list[Future], list[tuple[int, int]]]:
        """Return the chunks that have rows of a range, and which rows of each are in it."""
        first = int(np.searchsorted(self.bounds, begin, side="right")) - 1
        stop = int(np.searchsorted(self.bounds, end))
        cuts = [
            (max(begin - low, 0), min(end, high) - low)
            for low, high in pairwise(self.bounds[first : stop + 1])
        ]
        return list(self.chunks[first:stop]), cuts


def beside(matrices: Sequence[RemoteMatrix], factors: Sequence[float]) -> RemoteMatrix:
    """Return the columns of all matrices side by side, each matrix multiplied by its factor.

    The chunks of rows are those of the matrix that has most.
    """
    most = max(matrices, key=lambda matrix: len(matrix.chunks))
    chunks = []
    for begin, end in pairwise(most.bounds):
        parts = [matrix.cut(begin, end) for matrix in matrices]
        chunks.append(
            most.workers.submit(
                "rmgl-put-views-side-by-side", side_by_side_parts, parts, list(factors)
            )
        )
    n_columns = sum(matrix.n_columns for matrix in matrices)
    return RemoteMatrix(most.workers, tuple(chunks), most.bounds, n_columns)


def total(parts: Sequence[Floats]) -> Floats:
    """Add arrays, from the first to the last."""
    result = parts[0].copy()
    for part in parts[1:]:
        result += part
    return result


def scale_chunk(chunk: Floats, scaler: Scaler) -> Floats:
    """Scale the rows of a chunk."""
    return np.ascontiguousarray(scaler(chunk))


def describe(chunk: Floats) -> Summary:
    """Summarize the rows of a chunk."""
    finite = np.isfinite(chunk)
    whole = finite.all(axis=1)
    row = -1 if whole.all() else int(np.argmin(whole))
    return Summary(
        chunk.min(axis=0),
        chunk.max(axis=0),
        int(np.count_nonzero(chunk)),
        int(np.count_nonzero(chunk < 0)),
        (chunk != 0).any(axis=1),
        row,
        int(np.argmin(finite[row])),
        bool(np.isnan(chunk[row]).all()),
    )


def squares_around(chunk: Floats, mean: Floats) -> Floats:
    """Add up the squared differences of every column from its mean."""
    sums: Floats = np.square(chunk - mean).sum(axis=0)
    return sums


def power_sums(chunk: Floats, largest: Floats) -> Floats:
    """Add up the first three powers of every column, divided by `largest`."""
    scaled = chunk / largest
    return np.array([scaled.sum(axis=0), np.square(scaled).sum(axis=0), (scaled**3).sum(axis=0)])


def put_together(parts: Sequence[Floats], places: Sequence[Nodes]) -> Floats:
    """Put rows that come in parts at their places."""
    rows = np.empty((sum(here.size for here in places), parts[0].shape[1]))
    for here, part in zip(places, parts, strict=True):
        rows[here] = part
    return rows


def side_by_side_parts(
    parts: Sequence[tuple[list[Floats], list[tuple[int, int]]]], factors: Sequence[float]
) -> Floats:
    """Put the rows of all views side by side; each view comes as chunks and the rows to cut."""
    scaled = []
    for (chunks, cuts), factor in zip(parts, factors, strict=True):
        rows = [chunk[first:stop] for chunk, (first, stop) in zip(chunks, cuts, strict=True)]
        scaled.append(factor * np.concatenate(rows))
    return np.hstack(scaled)
