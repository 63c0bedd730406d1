"""What a fit on a cluster will need, before it starts: blocks, tasks, memory of the workers and of the client, and time of the search."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rmgl.distributed.block_pairs import nearest_across
from rmgl.distributed.block_store import MOST_STRIPS
from rmgl.distributed.blocks import Tiled
from rmgl.distributed.cluster import PIECE_BYTES, Cluster
from rmgl.distributed.pair_lists import LEAST_ROWS
from rmgl.distributed.rows import Tiling
from rmgl.edges.heaps import TILE
from rmgl.edges.rounding import Rounding
from rmgl.running.memory import amount, require_memory

logger = logging.getLogger(__name__)

USABLE = 0.6
"""Share of the memory of a worker that results of tasks may take: beyond it Dask writes them to disk."""
BYTES_PER_ENTRY = 8 + 8 + 4
"""Memory for an entry of a view: in a chunk, in a block, and in single precision for searches."""
PAIRS_PER_LISTED = 2
"""Candidate pairs of a row for every neighbor that is searched for: lists hold a pair in one row or both, and radii add some."""
BYTES_PER_PAIR = 4 + 4 * 8
"""Memory for a candidate pair in the row of one node: its index, and costs by the data, with a guide, in the embedding, and in all."""
BYTES_PER_EDGE = 40
"""Memory of the client for an edge in the row of one node: in a layer, in the sum of layers, among active pairs, and in copies."""
TRIAL_SECONDS = 0.2
TRIAL_TILES = 4
"""Tiles of each of the two blocks of a trial."""


@dataclass(frozen=True)
class Plan:
    """The plan of one fit. Where rows are in groups that are far apart, fewer tasks and less time are needed."""

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
    """Pairs of rows that one thread of this machine compares, in the space of each view, and of all views side by side."""

    @classmethod
    def of(
        cls,
        shapes: Sequence[tuple[int, int]],
        length: int,
        n_neighbors: int,
        cluster: Cluster,
        tiling: Tiling | None = None,
        timed: bool = True,
    ) -> Plan:
        n_rows, widths = shapes[0][0], tuple(shape[1] for shape in shapes)
        spaces = widths if len(widths) == 1 else (*widths, sum(widths))
        speeds = tuple(comparing_speed(width, length, n_rows) for width in spaces) if timed else ()
        workers = cluster.workers()
        threads, limits = tuple(own for own, _ in workers), tuple(limit for _, limit in workers)
        return cls(n_rows, widths, length, n_neighbors, tiling or Tiling.of(n_rows), threads, limits, speeds)

    @property
    def spaces(self) -> tuple[int, ...]:
        """Columns of each space in which neighbors are searched for."""
        return self.widths if len(self.widths) == 1 else (*self.widths, sum(self.widths))

    @property
    def n_blocks(self) -> int:
        """The number of blocks that halving leads to."""
        count = 1
        while -(-self.n_rows // (count * self.tiling.tile)) > self.tiling.block_tiles:
            count *= 2
        return count

    @property
    def block_rows(self) -> int:
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
        """Tasks that measure all candidate pairs of a space in an embedding: pieces that are sent, strips, and two for each in a block."""
        pieces = -(-8 * n_columns * self.n_rows // PIECE_BYTES)
        strips = -(-pieces // -(-pieces // MOST_STRIPS))
        return pieces + strips + self.n_pair_blocks * (2 * strips + 2)

    @property
    def bytes_of_rows(self) -> int:
        """Memory of all workers together for rows."""
        return BYTES_PER_ENTRY * self.n_rows * sum(self.spaces)

    @property
    def bytes_of_pairs(self) -> int:
        """Memory of all workers together for candidate pairs and their costs; workers write to disk what exceeds their memory."""
        return BYTES_PER_PAIR * PAIRS_PER_LISTED * self.n_rows * self.length * len(self.spaces)

    @property
    def bytes_of_task(self) -> int:
        """Memory of a thread for a task: two blocks of rows with what is appended to them, and lists; or pairs of a block with costs.

        Besides, there are some numbers for each of all rows: potentials, their order, and places among the nodes that a block needs.
        """
        search = 2 * self.block_rows * (4 * 4 * (max(self.spaces) + 4) + 4 * 8 * self.length)
        pairs = BYTES_PER_PAIR * PAIRS_PER_LISTED * self.length * min(self.n_rows, max(self.block_rows, LEAST_ROWS))
        return max(search, pairs) + 32 * self.n_rows

    @property
    def bytes_of_client(self) -> int:
        """Memory of the client for the layers of all spaces and the plain neighbors."""
        return BYTES_PER_EDGE * self.n_rows * self.n_neighbors * (len(self.spaces) + 1)

    @property
    def bytes_of_step(self) -> tuple[int, int]:
        """Bytes that the client sends (to one worker, which passes them on) and receives in a Newton step of one layer.

        It sends the potentials, and receives three numbers for each row and its active pairs, about as many as it keeps neighbors.
        """
        return 8 * self.n_rows, (20 + 4 * self.n_neighbors) * self.n_rows

    def bytes_of_worker(self, n_workers: int, n_threads: int) -> int:
        """Memory of one of so many workers."""
        return self.bytes_of_rows // n_workers + n_threads * self.bytes_of_task

    @property
    def minutes(self) -> float | None:
        """Minutes of the search on all threads, at the speed of this machine (None: it was not measured)."""
        if not self.pairs_per_second:
            return None
        return sum(self.n_rows**2 / 2 / speed for speed in self.pairs_per_second) / sum(self.threads) / 60

    def check(self) -> None:
        """Raise a MemoryError if the workers, or the client, have too little memory; it says how many workers would do.

        Logs a warning where candidate pairs will be written to disk.
        """
        self._check_workers()
        purpose = f"the layers of {self.n_rows:,} rows, which the client of the cluster keeps,"
        require_memory(self.bytes_of_client, purpose, "lower n_neighbors, use fewer rows (a sample)")
        usable = sum(int(USABLE * limit) for limit in self.limits)
        if all(self.limits) and self.bytes_of_rows + self.bytes_of_pairs > usable:
            logger.warning(
                "rows and candidate pairs take %s, more than the %s that the workers can use: they will write some to disk",
                amount(self.bytes_of_rows + self.bytes_of_pairs),
                amount(usable),
            )

    def _check_workers(self) -> None:
        """Raise a MemoryError if the workers have too little memory."""
        limited = [(limit, threads) for limit, threads in zip(self.limits, self.threads, strict=True) if limit]
        if not limited:
            return
        limit, threads = min(limited, key=lambda own: USABLE * own[0] - own[1] * self.bytes_of_task)
        left = USABLE * limit - threads * self.bytes_of_task
        if left * len(self.threads) >= self.bytes_of_rows:
            return
        way_out = (
            f"{amount(threads * self.bytes_of_task)} of it are for tasks, so give workers more memory or fewer threads"
            if left <= 0
            else f"{int(np.ceil(self.bytes_of_rows / left))} workers like these would do"
        )
        raise MemoryError(
            f"each of the {len(self.threads)} workers needs {amount(self.bytes_of_worker(len(self.threads), threads))} for "
            f"{self.n_rows:,} rows of {sum(self.widths)} columns, but can use {amount(int(USABLE * limit))}: {way_out}"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.n_rows:,} rows, {len(self.widths)} views of {', '.join(map(str, self.widths))} columns: {self.n_blocks} blocks of "
            f"about {self.block_rows:,} rows, at most {self.n_tasks:,} tasks over pairs of blocks",
            f"memory of all workers for rows: {amount(self.bytes_of_rows)}; for candidate pairs: {amount(self.bytes_of_pairs)}, written to "
            f"disk where they do not fit; of a thread for its task: {amount(self.bytes_of_task)}; of the client for layers: "
            f"{amount(self.bytes_of_client)}",
            f"a Newton step of a layer: the client sends {amount(self.bytes_of_step[0])} and receives {amount(self.bytes_of_step[1])}",
        ]
        if self.minutes is not None:
            lines.append(f"search: about {self.minutes:.1f} minutes on {sum(self.threads)} threads as fast as this machine")
        for place, (threads, limit) in enumerate(zip(self.threads, self.limits, strict=True)):
            needed = amount(self.bytes_of_worker(len(self.threads), threads))
            lines.append(
                f"worker {place}: {threads} thread(s), needs {needed}, may use {amount(int(USABLE * limit)) if limit else 'any amount'}"
            )
        return "\n".join(lines)


def comparing_speed(width: int, length: int, n_rows: int) -> float:
    """Pairs of rows that one thread compares in a second, on random rows.

    As many of the rows of two blocks are near enough as would be on average, were they two of all blocks, with the nearest rows known.
    """
    rng, size, rounding = np.random.default_rng(0), TRIAL_TILES * TILE, Rounding.of(width, np.float32)
    none, corners = np.empty((0, 0), dtype=np.float32), np.zeros((TRIAL_TILES, width))
    one, other = (
        Tiled(X, none, np.square(X).sum(axis=1, dtype=np.float64), np.arange(0, size, TILE), corners, corners)
        for X in rng.normal(size=(2, size, width)).astype(np.float32)
    )
    distances = one.norms[:, None] + other.norms - 2 * one.columns @ other.columns.T
    known = np.full((size, length), -max(0.0, float(np.quantile(distances, min(1.0, length / n_rows)))) / 2, dtype=np.float32)
    nearest_across(one, other, (known, known), rounding)
    began, count = perf_counter(), 0
    while perf_counter() - began < TRIAL_SECONDS:
        nearest_across(one, other, (known, known), rounding)
        count += 1
    return count * size**2 / (perf_counter() - began)
