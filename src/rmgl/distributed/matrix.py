"""A matrix whose rows are kept by workers, in chunks, and what is known about all of its rows from sums over the chunks.

Chunks are those of the storage, and their sums are added in the order of rows: results do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.cluster import Cluster, Future
from rmgl.running.checkpoint import digest_of
from rmgl.views.scaling import Scaler

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """What one pass over the rows of a matrix, or of a chunk of it, tells."""

    low: Floats
    high: Floats
    """The smallest and largest entry of each column."""
    n_nonzero: int
    n_negative: int
    nonzero: NDArray[np.bool_]
    """Which rows have an entry other than zero."""
    bad_row: int
    """The first row with an entry that is not finite (-1: there is none),"""
    bad_column: int
    missing: bool
    """and whether all of its entries are NaN."""


@dataclass(frozen=True)
class RemoteMatrix:
    """A dense matrix in chunks of rows on the workers of a cluster."""

    cluster: Cluster
    chunks: tuple[Future, ...]
    bounds: tuple[int, ...]
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.bounds[-1], self.n_columns

    def each(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        """The results of task(chunk, *arguments) for all chunks."""
        return self.cluster.gather([self.cluster.submit(name, task, chunk, *arguments) for chunk in self.chunks])

    def mapped(self, name: str, task: Callable[..., Any], *arguments: Any) -> RemoteMatrix:
        """The matrix whose chunks are task(chunk, *arguments), of the same shape."""
        chunks = tuple(self.cluster.submit(name, task, chunk, *arguments) for chunk in self.chunks)
        return RemoteMatrix(self.cluster, chunks, self.bounds, self.n_columns)

    def scaled(self, scaler: Scaler) -> RemoteMatrix:
        return self.mapped("rmgl-scale", scale_chunk, scaler)

    @cached_property
    def summary(self) -> Summary:
        parts: list[Summary] = self.each("rmgl-describe", describe)
        bad = next((place for place, part in enumerate(parts) if part.bad_row >= 0), 0)
        return Summary(
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
            sum(part.n_nonzero for part in parts),
            sum(part.n_negative for part in parts),
            np.concatenate([part.nonzero for part in parts]),
            parts[bad].bad_row if parts[bad].bad_row < 0 else self.bounds[bad] + parts[bad].bad_row,
            parts[bad].bad_column,
            parts[bad].missing,
        )

    @cached_property
    def mean(self) -> Floats:
        """The mean of every column."""
        return total(self.each("rmgl-sum-columns", column_sums)) / self.shape[0]

    @cached_property
    def variances(self) -> Floats:
        """The variance of every column."""
        return total(self.each("rmgl-sum-squares", squares_around, self.mean)) / self.shape[0]

    def digest(self) -> str:
        """A text that differs for other rows or other chunks."""
        return digest_of(*self.each("rmgl-digest", digest_of), self.bounds)

    def moments(self, largest: Floats) -> tuple[Floats, Floats, Floats]:
        """The means of the first three powers of every column, divided by `largest`."""
        sums = total(self.each("rmgl-sum-powers", power_sums, largest)) / self.shape[0]
        return sums[0], sums[1], sums[2]

    def in_order(self, order: NDArray[np.intp]) -> RemoteMatrix:
        """The matrix with its rows in another order, in chunks of as many rows: every chunk sends some of its rows to every other one."""
        chunks = []
        for begin, end in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            owner = np.searchsorted(self.bounds, order[begin:end], side="right") - 1
            places = [np.flatnonzero(owner == place) for place in range(len(self.chunks))]
            parts = [
                self.cluster.submit("rmgl-take-rows", take_rows, self.chunks[place], order[begin:end][own] - self.bounds[place])
                for place, own in enumerate(places)
                if own.size
            ]
            found = [own for own in places if own.size]
            chunks.append(self.cluster.submit("rmgl-join-rows", put_together, parts, found))
        return RemoteMatrix(self.cluster, tuple(chunks), self.bounds, self.n_columns)

    def rows(self, chosen: NDArray[np.intp]) -> Floats:
        """Some rows, in the order in which they are asked for; they come to this process."""
        owner = np.searchsorted(self.bounds, chosen, side="right") - 1
        found = np.empty((len(chosen), self.n_columns))
        own = [np.flatnonzero(owner == place) for place in range(len(self.chunks))]
        asked = [(place, places) for place, places in enumerate(own) if places.size]
        parts = [
            self.cluster.submit("rmgl-take-rows", take_rows, self.chunks[place], chosen[places] - self.bounds[place])
            for place, places in asked
        ]
        for (_, places), part in zip(asked, self.cluster.gather(parts), strict=True):
            found[places] = part
        return found


def beside(matrices: Sequence[RemoteMatrix], factors: Sequence[float]) -> RemoteMatrix:
    """The columns of all matrices, each multiplied by its factor, in chunks of rows of the one that has most."""
    first = max(matrices, key=lambda matrix: len(matrix.chunks))
    chunks = []
    for begin, end in zip(first.bounds[:-1], first.bounds[1:], strict=True):
        parts = []
        for matrix in matrices:
            own = range(int(np.searchsorted(matrix.bounds, begin, side="right")) - 1, int(np.searchsorted(matrix.bounds, end)))
            cuts = [(max(begin - matrix.bounds[c], 0), min(end, matrix.bounds[c + 1]) - matrix.bounds[c]) for c in own]
            parts.append(([matrix.chunks[c] for c in own], cuts))
        chunks.append(first.cluster.submit("rmgl-put-views-side-by-side", side_by_side_parts, parts, list(factors)))
    return RemoteMatrix(first.cluster, tuple(chunks), first.bounds, sum(matrix.n_columns for matrix in matrices))


def total(parts: Sequence[Floats]) -> Floats:
    """The sum of arrays, from the first to the last."""
    result = parts[0].copy()
    for part in parts[1:]:
        result += part
    return result


def as_rows(raw: Any) -> Floats:
    """A chunk as it was stored, as numbers in double precision."""
    return np.ascontiguousarray(raw, dtype=np.float64)


def scale_chunk(chunk: Floats, scaler: Scaler) -> Floats:
    return np.ascontiguousarray(scaler(chunk))


def describe(chunk: Floats) -> Summary:
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


def column_sums(chunk: Floats) -> Floats:
    sums: Floats = chunk.sum(axis=0)
    return sums


def squares_around(chunk: Floats, mean: Floats) -> Floats:
    sums: Floats = np.square(chunk - mean).sum(axis=0)
    return sums


def power_sums(chunk: Floats, largest: Floats) -> Floats:
    scaled = chunk / largest
    return np.array([scaled.sum(axis=0), np.square(scaled).sum(axis=0), (scaled**3).sum(axis=0)])


def take_rows(chunk: Floats, chosen: NDArray[np.intp]) -> Floats:
    return chunk[chosen]


def put_together(parts: Sequence[Floats], places: Sequence[NDArray[np.intp]]) -> Floats:
    """Rows that come in parts, each at its places."""
    rows = np.empty((sum(own.size for own in places), parts[0].shape[1]))
    for own, part in zip(places, parts, strict=True):
        rows[own] = part
    return rows


def side_by_side_parts(parts: Sequence[tuple[list[Floats], list[tuple[int, int]]]], factors: Sequence[float]) -> Floats:
    return np.hstack(
        [
            factor * np.concatenate([chunk[first:stop] for chunk, (first, stop) in zip(chunks, cuts, strict=True)])
            for (chunks, cuts), factor in zip(parts, factors, strict=True)
        ]
    )
