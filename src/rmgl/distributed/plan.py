"""Estimate what a fit on workers needs before it starts: blocks, tasks, memory, search time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np

from rmgl.distributed.blocks import rows_of_block
from rmgl.distributed.workers import Workers
from rmgl.edges.bounds import TILE, Rounding
from rmgl.edges.candidates import first_length, searched_length
from rmgl.edges.local_scaling import LISTED
from rmgl.edges.nearest import nearest_across
from rmgl.edges.neighborhoods import BYTES_PER_LISTED
from rmgl.edges.tiles import Tiled
from rmgl.running.threads import amount, require_memory, single_threaded

USABLE = 0.6
"""Fraction of a worker's memory for task results. Beyond that, Dask writes them to disk."""
BYTES_PER_SENT = 4
"""Memory on a worker, and on the scheduler, per entry in a row. Rows are sent in single precision.
"""
BYTES_PER_ENTRY = 3 * 8
"""Memory on the client per entry of a row in a space.

Each entry is in the view, in the centered copy, and in the tiles and the data that are sent.
"""
BYTES_PER_EDGE = 40
"""Memory on the client per edge in a node's row.

Each edge is in a layer, in the sum of layers, among active pairs, and in copies.
"""
TRIAL_SECONDS = 0.2
"""Duration of a trial in seconds."""
TRIAL_TILES = 4
"""Number of tiles in each of the two blocks of a trial."""


@dataclass(frozen=True)
class Plan:
    """Plan for one fit. The fit needs less if the rows form groups that are far apart."""

    n_rows: int
    widths: tuple[int, ...]
    """Number of columns of each view."""
    length: int
    """Number of neighbors to search for per row."""
    n_neighbors: int
    """Number of neighbors that each row keeps, which is less than `length`."""
    threads: tuple[int, ...]
    """Number of threads of each worker."""
    limits: tuple[int, ...]
    """Memory limit of each worker in bytes (0: none)."""
    pairs_per_second: tuple[float, ...] = ()
    """Pairs of rows that one local thread compares per second in each space. Empty if not timed."""

    @classmethod
    def of(
        cls,
        shapes: Sequence[tuple[int, int]],
        n_neighbors: int,
        candidates: Any,
        workers: Workers,
        timed: bool = True,
    ) -> Plan:
        """Plan a fit of views with these shapes. With `timed`, measure the speed of the search."""
        n_rows, widths = shapes[0][0], tuple(shape[1] for shape in shapes)
        length = listed_length(candidates, n_rows, n_neighbors)
        speeds = [comparing_speed(width, length, n_rows) for width in space_widths(widths) if timed]
        per_worker = workers.threads_and_limits()
        return cls(
            n_rows,
            widths,
            length,
            n_neighbors,
            tuple(threads for threads, _ in per_worker),
            tuple(limit for _, limit in per_worker),
            tuple(speeds),
        )

    @property
    def spaces(self) -> tuple[int, ...]:
        """Number of columns in each space in which neighbors are searched for."""
        return space_widths(self.widths)

    @property
    def block_rows(self) -> int:
        """Number of rows in a block."""
        return min(self.n_rows, rows_of_block(self.n_rows))

    @property
    def n_blocks(self) -> int:
        """Number of blocks in each space."""
        return -(-self.n_rows // self.block_rows)

    @property
    def n_tasks(self) -> int:
        """Number of tasks over pairs of blocks if none can be skipped."""
        return len(self.spaces) * self.n_blocks * (self.n_blocks + 1) // 2

    @property
    def bytes_of_rows(self) -> int:
        """Memory that a worker needs for rows. It eventually receives all blocks."""
        return BYTES_PER_SENT * self.n_rows * sum(self.spaces)

    @property
    def bytes_of_task(self) -> int:
        """Memory that a thread needs for a task: two blocks with appended columns, and lists."""
        return 2 * self.block_rows * (4 * 4 * (max(self.spaces) + 4) + 4 * 8 * self.length)

    @property
    def bytes_of_client(self) -> int:
        """Approximate peak memory of the client.

        The client holds the rows of all spaces, the layers of all spaces and of the plain
        neighbors, and the candidate pairs of the space that is being searched.
        """
        rows = BYTES_PER_ENTRY * sum(self.spaces)
        layers = BYTES_PER_EDGE * self.n_neighbors * (len(self.spaces) + 1)
        return self.n_rows * (rows + layers + BYTES_PER_LISTED * self.length)

    def bytes_of_worker(self, n_threads: int) -> int:
        """Return the memory that a worker with this many threads needs."""
        return self.bytes_of_rows + n_threads * self.bytes_of_task

    @property
    def minutes(self) -> float | None:
        """Minutes of search time on all threads, at this machine's speed (None: not timed)."""
        if not self.pairs_per_second:
            return None
        seconds = sum(self.n_rows**2 / 2 / speed for speed in self.pairs_per_second)
        return seconds / sum(self.threads) / 60

    def check(self) -> None:
        """Raise a MemoryError if a worker, or the client, has too little memory."""
        self.check_workers()
        purpose = f"the rows, candidate pairs and layers of {self.n_rows:,} rows on the client"
        require_memory(
            self.bytes_of_client, purpose, "lower n_neighbors, use fewer rows (a sample)"
        )

    def check_workers(self) -> None:
        """Raise a MemoryError if a worker has too little memory."""
        for place, (threads, limit) in enumerate(zip(self.threads, self.limits, strict=True)):
            needed, usable = self.bytes_of_worker(threads), int(USABLE * limit)
            if limit and needed > usable:
                raise MemoryError(
                    f"worker {place} needs {amount(needed)} for {self.n_rows:,} rows of "
                    f"{sum(self.widths)} columns, but can use {amount(usable)}: give workers more "
                    f"memory, or fewer threads (each thread needs {amount(self.bytes_of_task)})"
                )

    def __str__(self) -> str:
        per_row = self.bytes_of_client / self.n_rows
        views = "1 view" if len(self.widths) == 1 else f"{len(self.widths)} views"
        blocks = "1 block" if self.n_blocks == 1 else f"{self.n_blocks} blocks"
        lines = [
            f"{self.n_rows:,} rows, {views} with {', '.join(map(str, self.widths))} columns: "
            f"{blocks} of {self.block_rows:,} rows, at most {self.n_tasks:,} tasks over pairs of "
            "blocks",
            f"client memory: {amount(self.bytes_of_client)}, {per_row / 1000:.1f} kB per row; "
            f"scheduler memory: {amount(self.bytes_of_rows)}",
        ]
        if self.minutes is not None:
            lines.append(
                f"search: about {self.minutes:.1f} minutes on {sum(self.threads)} threads at this "
                "machine's speed"
            )
        for place, (threads, limit) in enumerate(zip(self.threads, self.limits, strict=True)):
            needed = amount(self.bytes_of_worker(threads))
            usable = amount(int(USABLE * limit)) if limit else "any amount"
            lines.append(f"worker {place}: {threads} thread(s), needs {needed}, may use {usable}")
        return "\n".join(lines)


def space_widths(widths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the width of each space: each view and, if there are several, all views together."""
    return widths if len(widths) == 1 else (*widths, sum(widths))


def expected_length(n_rows: int, n_neighbors: int) -> int:
    """Return the initial length of the candidate lists if no number is specified."""
    return max(LISTED, searched_length(first_length(np.empty((n_rows, 0)), None, n_neighbors)))


def listed_length(candidates: Any, n_rows: int, n_neighbors: int) -> int:
    """Return how many neighbors of each row are searched for. Local scaling always needs some."""
    if isinstance(candidates, Integral) and not isinstance(candidates, bool):
        return max(LISTED, int(candidates))
    return expected_length(n_rows, n_neighbors)


def comparing_speed(width: int, length: int, n_rows: int) -> float:
    """Measure how many pairs of random rows one thread compares per second.

    The two blocks have as many sufficiently close pairs of rows as an average pair of blocks in the
    fit, once the nearest rows are known.
    """
    size, rounding = TRIAL_TILES * TILE, Rounding.of(width, np.float32)
    none, corners = np.empty((0, 0), dtype=np.float32), np.zeros((TRIAL_TILES, width))
    starts = np.arange(0, size, TILE)
    one, other = (
        Tiled(X, none, np.square(X).sum(axis=1, dtype=np.float64), starts, corners, corners)
        for X in np.random.default_rng(0).normal(size=(2, size, width)).astype(np.float32)
    )
    distances = one.norms[:, None] + other.norms - 2 * one.columns @ other.columns.T
    nearest = max(0.0, float(np.quantile(distances, min(1.0, length / n_rows))))
    known = np.full((size, length), -nearest / 2, dtype=np.float32)
    with single_threaded("blas"):
        nearest_across(one, other, (known, known), rounding)
        began, count = perf_counter(), 0
        while perf_counter() - began < TRIAL_SECONDS:
            nearest_across(one, other, (known, known), rounding)
            count += 1
    return count * size**2 / (perf_counter() - began)
