"""What a fit on workers will need, before it starts: blocks, tasks, memory, and search time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np

from rmgl.distributed.block_store import MOST_STRIPS
from rmgl.distributed.blocks import Tiling
from rmgl.distributed.pair_tasks import LEAST_ROWS
from rmgl.distributed.sources import NeedsRows
from rmgl.distributed.workers import PIECE_BYTES, Workers
from rmgl.edges.bounds import TILE, Rounding
from rmgl.edges.candidates import first_length, searched_length
from rmgl.edges.local_scaling import LISTED
from rmgl.edges.nearest import nearest_across
from rmgl.edges.tiles import Tiled
from rmgl.running.threads import amount, require_memory, single_threaded

logger = logging.getLogger(__name__)

USABLE = 0.6
"""Share of the memory of a worker for results of tasks: beyond it Dask writes them to disk."""
BYTES_PER_ENTRY = 8 + 8 + 4
"""Memory for an entry of a view: in a chunk, in a block, and in single precision for searches."""
PAIRS_PER_LISTED = 2
"""Candidate pairs of a row per neighbor searched for: a pair is in one list or both, radii add."""
BYTES_PER_KEPT_PAIR = 4 + 4 * 8
"""Memory for a candidate pair in the row of one node: its index and four costs.

The costs are by the data, with a guide, in the embedding, and in all.
"""
BYTES_PER_EDGE = 40
"""Memory of the client for an edge in the row of one node.

It is in a layer, in the sum of layers, among active pairs, and in copies.
"""
TRIAL_SECONDS = 0.2
"""Seconds of a trial."""
TRIAL_TILES = 4
"""Tiles of each of the two blocks of a trial."""


@dataclass(frozen=True)
class Plan:
    """The plan of one fit; it takes less where rows are in groups that are far apart."""

    n_rows: int
    widths: tuple[int, ...]
    """Columns of each view."""
    length: int
    """Neighbors of every row that are searched for."""
    n_neighbors: int
    """Neighbors that every row is to keep, fewer than are searched for."""
    tiling: Tiling
    threads: tuple[int, ...]
    """Threads of each worker."""
    limits: tuple[int, ...]
    """Memory limit of each worker in bytes (0: none)."""
    pairs_per_second: tuple[float, ...] = ()
    """Pairs of rows that one thread of this machine compares, in each space (empty: not timed)."""

    @classmethod
    def of(
        cls,
        shapes: Sequence[tuple[int, int]],
        length: int,
        n_neighbors: int,
        workers: Workers,
        timed: bool = True,
    ) -> Plan:
        """Plan a fit of views with these shapes; `timed` says whether to try how long it takes."""
        n_rows, widths = shapes[0][0], tuple(shape[1] for shape in shapes)
        speeds = [comparing_speed(width, length, n_rows) for width in space_widths(widths) if timed]
        per_worker = workers.threads_and_limits()
        return cls(
            n_rows,
            widths,
            length,
            n_neighbors,
            Tiling.of(n_rows),
            tuple(threads for threads, _ in per_worker),
            tuple(limit for _, limit in per_worker),
            tuple(speeds),
        )

    @property
    def spaces(self) -> tuple[int, ...]:
        """Columns of each space in which neighbors are searched for."""
        return space_widths(self.widths)

    @property
    def n_blocks(self) -> int:
        """The number of blocks that halving leads to."""
        count = 1
        while -(-self.n_rows // (count * self.tiling.tile)) > self.tiling.block_tiles:
            count *= 2
        return count

    @property
    def block_rows(self) -> int:
        """Rows of a block, about."""
        return -(-self.n_rows // self.n_blocks)

    @property
    def n_tasks(self) -> int:
        """Tasks over pairs of blocks, if none can be skipped."""
        return len(self.spaces) * self.n_blocks * (self.n_blocks + 1) // 2

    @property
    def n_pair_blocks(self) -> int:
        """Blocks of candidate pairs in a space, each of one or several blocks of rows."""
        return max(1, self.n_blocks // -(-LEAST_ROWS // self.block_rows))

    def tasks_of_embedding(self, n_columns: int) -> int:
        """Return the number of tasks that measure all candidate pairs of a space in an embedding.

        They are pieces that are sent, strips, and two for each strip in a block.
        """
        pieces = -(-8 * n_columns * self.n_rows // PIECE_BYTES)
        strips = -(-pieces // -(-pieces // MOST_STRIPS))
        return pieces + strips + self.n_pair_blocks * (2 * strips + 2)

    @property
    def bytes_of_rows(self) -> int:
        """Memory of all workers together for rows."""
        return BYTES_PER_ENTRY * self.n_rows * sum(self.spaces)

    @property
    def bytes_of_pairs(self) -> int:
        """Memory of all workers for candidate pairs and costs; what exceeds theirs is on disk."""
        return self._bytes_of_pairs(self.n_rows) * len(self.spaces)

    def _bytes_of_pairs(self, n_rows: int) -> int:
        """Memory for the candidate pairs of some rows in one space."""
        return BYTES_PER_KEPT_PAIR * PAIRS_PER_LISTED * n_rows * self.length

    @property
    def bytes_of_task(self) -> int:
        """Memory of a thread for a task.

        These are two blocks of rows with what is appended to them, and lists; or pairs of a block
        with costs. Besides, there are some numbers for each of all rows: potentials, their order,
        and places among the nodes that a block needs.
        """
        search = 2 * self.block_rows * (4 * 4 * (max(self.spaces) + 4) + 4 * 8 * self.length)
        pairs = self._bytes_of_pairs(min(self.n_rows, max(self.block_rows, LEAST_ROWS)))
        return max(search, pairs) + 32 * self.n_rows

    @property
    def bytes_of_client(self) -> int:
        """Memory of the client for the layers of all spaces and the plain neighbors."""
        return BYTES_PER_EDGE * self.n_rows * self.n_neighbors * (len(self.spaces) + 1)

    @property
    def bytes_of_step(self) -> tuple[int, int]:
        """Bytes that the client sends and receives in a Newton step of one layer.

        It sends the potentials to one worker, which passes them on, and receives three numbers for
        each row and its active pairs, about as many as it keeps neighbors.
        """
        return 8 * self.n_rows, (20 + 4 * self.n_neighbors) * self.n_rows

    def bytes_of_worker(self, n_threads: int) -> int:
        """Return the memory that a worker with so many threads needs."""
        return self.bytes_of_rows // len(self.threads) + n_threads * self.bytes_of_task

    @property
    def minutes(self) -> float | None:
        """Minutes of the search on all threads, at the speed of this machine (None: not timed)."""
        if not self.pairs_per_second:
            return None
        seconds = sum(self.n_rows**2 / 2 / speed for speed in self.pairs_per_second)
        return seconds / sum(self.threads) / 60

    def check(self) -> None:
        """Raise a MemoryError if the workers, or the client, have too little memory.

        It says how many workers would do. Logs a warning where candidate pairs will be written to
        disk.
        """
        self._check_workers()
        purpose = f"the layers of {self.n_rows:,} rows, which the client keeps,"
        require_memory(
            self.bytes_of_client, purpose, "lower n_neighbors, use fewer rows (a sample)"
        )
        usable = sum(int(USABLE * limit) for limit in self.limits)
        needed = self.bytes_of_rows + self.bytes_of_pairs
        if all(self.limits) and needed > usable:
            logger.warning(
                "rows and candidate pairs take %s, more than the %s that the workers can use: they "
                "will write some to disk",
                amount(needed),
                amount(usable),
            )

    def _check_workers(self) -> None:
        """Raise a MemoryError if the workers have too little memory."""
        workers = zip(self.limits, self.threads, strict=True)
        left_of = [
            (USABLE * limit - threads * self.bytes_of_task, limit, threads)
            for limit, threads in workers
            if limit
        ]
        if not left_of:
            return
        left, limit, threads = min(left_of, key=lambda worker: worker[0])
        if left * len(self.threads) >= self.bytes_of_rows:
            return
        if left > 0:
            n_enough = int(np.ceil(self.bytes_of_rows / left))
            way_out = f"{n_enough} workers like these would do"
        else:
            of_tasks = amount(threads * self.bytes_of_task)
            way_out = (
                f"{of_tasks} of it are for tasks, so give workers more memory or fewer threads"
            )
        raise MemoryError(
            f"each of the {len(self.threads)} workers needs {amount(self.bytes_of_worker(threads))}"
            f" for {self.n_rows:,} rows of {sum(self.widths)} columns, but can use "
            f"{amount(int(USABLE * limit))}: {way_out}"
        )

    def __str__(self) -> str:
        sent, received = map(amount, self.bytes_of_step)
        lines = [
            f"{self.n_rows:,} rows, {len(self.widths)} views of "
            f"{', '.join(map(str, self.widths))} columns: {self.n_blocks} blocks of about "
            f"{self.block_rows:,} rows, at most {self.n_tasks:,} tasks over pairs of blocks",
            f"memory of all workers for rows: {amount(self.bytes_of_rows)}; for candidate pairs: "
            f"{amount(self.bytes_of_pairs)}, written to disk where they do not fit; of a thread "
            f"for its task: {amount(self.bytes_of_task)}; of the client for layers: "
            f"{amount(self.bytes_of_client)}",
            f"a Newton step of a layer: the client sends {sent} and receives {received}",
        ]
        if self.minutes is not None:
            lines.append(
                f"search: about {self.minutes:.1f} minutes on {sum(self.threads)} threads as fast "
                "as this machine"
            )
        for place, (threads, limit) in enumerate(zip(self.threads, self.limits, strict=True)):
            needed = amount(self.bytes_of_worker(threads))
            usable = amount(int(USABLE * limit)) if limit else "any amount"
            lines.append(f"worker {place}: {threads} thread(s), needs {needed}, may use {usable}")
        return "\n".join(lines)


def space_widths(widths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the columns of each space: those of the views, and of several views side by side."""
    return widths if len(widths) == 1 else (*widths, sum(widths))


def expected_length(n_rows: int, n_neighbors: int) -> int:
    """Return how many neighbors candidate lists begin with unless a number is given."""
    return max(LISTED, searched_length(first_length(np.empty((n_rows, 0)), None, n_neighbors)))


def listed_length(candidates: Any, n_rows: int, n_neighbors: int) -> int:
    """Return how many neighbors of every row to search for: local scaling always needs some."""
    if isinstance(candidates, str) and candidates == "auto":
        return expected_length(n_rows, n_neighbors)
    if not isinstance(candidates, Integral) or isinstance(candidates, bool) or int(candidates) < 1:
        raise NeedsRows(f"candidates={candidates!r} is neither 'auto' nor a number of neighbors")
    return max(LISTED, int(candidates))


def first_lists(candidates: Any, n_rows: int, n_neighbors: int) -> int:
    """Return how many neighbors candidate lists begin with, if there are enough rows for them."""
    length = listed_length(candidates, n_rows, n_neighbors)
    if length >= n_rows - 1:
        raise NeedsRows(f"{n_rows} rows are too few for lists of {length} neighbors")
    return length


def comparing_speed(width: int, length: int, n_rows: int) -> float:
    """Measure how many pairs of random rows one thread compares in a second.

    As many of the rows of two blocks are near enough as would be on average, were they two of all
    blocks, with the nearest rows known.
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
