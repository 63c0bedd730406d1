"""The pair store whose pairs the workers keep, in blocks of nodes, and its costs.

Newton's method runs on the client. In every step the potentials are sent once, and every block
returns three numbers for each of its nodes. The active pairs, far fewer than the candidates,
come to the client where they fit there, and it multiplies them itself: one request takes the place
of one for every product. Where they do not fit, they stay with the workers, and the vectors of the
products are sent.

Blocks depend on the rows alone, and every sum is over one row, or over the blocks in their order:
results do not depend on the workers.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed import pair_tasks
from rmgl.distributed.remote_matrix import RemoteMatrix
from rmgl.distributed.workers import PIECE_BYTES, Future, Shared, Workers, size_of
from rmgl.edges.certificate import carried
from rmgl.edges.interface import ActivePairs, Cheapest, Evaluation, Indices, Vector, multiplier
from rmgl.edges.stores import PARALLEL_ENTRIES
from rmgl.running.threads import Check, InParts, available_memory, no_check, one_part

MOST_ACTIVE_SHARE = 0.25
"""Share of the available memory of the client that active pairs may take."""
MOST_COSTS = 1 << 16
"""Costs that the client takes at once."""
MOST_STRIPS = 16
"""Parts of an embedding at most: every block measures its pairs to each, in a task or two."""
PRODUCTS, EVALUATIONS, ACTIVE = "product", "evaluation", "active pairs"
"""Kinds of requests by which traffic is counted."""


@dataclass(frozen=True)
class BlockCosts:
    """Costs of the pairs of a block store, which the workers keep."""

    workers: Workers
    parts: Sequence[Future]
    """One vector for each block."""

    __array_ufunc__ = None
    """Numbers of NumPy leave arithmetic to this class."""

    def __add__(self, other: Any) -> BlockCosts:
        return self._calculated(operator.add, other)

    def __sub__(self, other: Any) -> BlockCosts:
        return self._calculated(operator.sub, other)

    def __mul__(self, other: Any) -> BlockCosts:
        return self._calculated(operator.mul, other)

    def __rsub__(self, other: Any) -> BlockCosts:
        return (self * -1.0).__add__(other)

    __radd__, __rmul__ = __add__, __mul__

    def _calculated(self, operation: Callable[[Any, Any], Any], other: Any) -> BlockCosts:
        n = len(self.parts)
        others = other.parts if isinstance(other, BlockCosts) else [float(other)] * n
        tasks = self.workers.map("rmgl-add-costs", operation, self.parts, others)
        return BlockCosts(self.workers, tasks)

    @cached_property
    def summary(self) -> tuple[float, float, float]:
        """The smallest and the largest cost, and the sum of all."""
        tasks = self.workers.map("rmgl-describe-costs", pair_tasks.summary_of, self.parts)
        least, largest, total = zip(*self.workers.gather(tasks), strict=True)
        return min(least), max(largest), sum(total)


@dataclass(frozen=True)
class BlockGrowth:
    """The pairs that a block store has more than an earlier one."""

    is_new: Sequence[Future]
    """For each block, which of its pairs are new."""
    pairs: BlockStore
    """The new pairs alone."""

    def carried(self, costs: BlockCosts, new: BlockCosts) -> BlockCosts:
        """Return the costs of all pairs, from those of the earlier ones and of the new ones."""
        tasks = costs.workers.map("rmgl-carry-costs", carried, self.is_new, costs.parts, new.parts)
        return BlockCosts(costs.workers, tasks)

    def new_of(self, costs: BlockCosts) -> BlockCosts:
        """Return the costs of the new pairs among those of all."""
        tasks = costs.workers.map("rmgl-new-costs", operator.getitem, costs.parts, self.is_new)
        return BlockCosts(costs.workers, tasks)


class BlockStore:
    """The pair store of pairs on the workers."""

    def __init__(
        self, workers: Workers, blocks: Sequence[Future], nodes: Sequence[Indices]
    ) -> None:
        """`blocks` are futures of `PairBlock`, and `nodes` their nodes."""
        self.workers, self.blocks, self.nodes = workers, blocks, nodes
        self._last: tuple[Vector, Shared] | None = None
        self._evaluated: tuple[Vector, weakref.ref[BlockCosts], list[Future]] | None = None
        self.n_nodes = sum(map(len, nodes))
        self.degrees = self.ask_each("rmgl-count-pairs", operator.attrgetter("degrees"))
        self.n_pairs = int(self.degrees.sum()) // 2
        self.max_degree = int(self.degrees.max(initial=0))

    @property
    def in_parts(self) -> InParts:
        return self.workers.in_parts

    def each(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Start one task for every block.

        Arguments are costs, shared arrays, lists with an item for each block, or the same for all.
        """
        n = len(self.blocks)

        def by_block(argument: Any) -> Sequence[Any]:
            if isinstance(argument, BlockCosts):
                return argument.parts
            if isinstance(argument, list):
                return argument
            return [list(argument.pieces) if isinstance(argument, Shared) else argument] * n

        return self.workers.map(name, task, self.blocks, *map(by_block, arguments))

    def ask_each(self, name: str, task: Callable[..., Any], *arguments: Any) -> NDArray[Any]:
        """Return the numbers of all nodes that one task for every block computes."""
        return self.by_node(self.workers.gather(self.each(name, task, *arguments)))

    def _request(self, kind: str, sent: int, tasks: Sequence[Future]) -> list[Any]:
        """Return the results of tasks, and count their bytes."""
        results = self.workers.gather(tasks)
        self.workers.traffic.add(kind, sent, size_of(results))
        return results

    def by_node(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the numbers of all nodes from those of the blocks."""
        out = np.empty(self.n_nodes, dtype=parts[0].dtype)
        for nodes, part in zip(self.nodes, parts, strict=True):
            out[nodes] = part
        return out

    def _by_row(self, starts: Indices, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the entries of all rows, which begin at `starts`, from those of the blocks."""
        out = np.empty(starts[-1], dtype=parts[0].dtype)
        for nodes, part in zip(self.nodes, parts, strict=True):
            lengths = starts[nodes + 1] - starts[nodes]
            shifts = starts[nodes] - np.cumsum(lengths) + lengths
            out[np.repeat(shifts, lengths) + np.arange(part.size)] = part
        return out

    # costs

    def measure(
        self, X: NDArray[np.float64] | sparse.csr_array, check: Check = no_check
    ) -> BlockCosts:
        check()
        rows = np.ascontiguousarray(X)
        shared = self.workers.share("rmgl-embedding", rows)
        self.workers.traffic.add("embedding", rows.nbytes, 0)
        pieces, bounds = self.workers.in_strips(shared, MOST_STRIPS)
        return self.measured_on(RemoteMatrix(self.workers, pieces, bounds, rows.shape[1]))

    def measured_on(self, matrix: RemoteMatrix) -> BlockCosts:
        """Measure the pairs by the rows of a matrix on the same workers."""
        return BlockCosts(self.workers, measured_pairs(matrix, self.blocks, self.nodes))

    def entries_of(self, square: NDArray[np.float64]) -> BlockCosts:
        raise ValueError("all distances of a view do not belong on workers: fit without client=")

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
        raise ValueError("known labels are not possible on workers yet: fit without client=")

    def localized(self, distances: BlockCosts, scales: Vector, floors: Vector) -> BlockCosts:
        shared = [self.workers.share("rmgl-scales", numbers) for numbers in (scales, floors)]
        tasks = self.each("rmgl-scale-costs", pair_tasks.localized, distances, *shared)
        return BlockCosts(self.workers, tasks)

    def least(self, costs: BlockCosts) -> float:
        return costs.summary[0]

    def largest(self, costs: BlockCosts) -> float:
        return costs.summary[1]

    def sample(self, costs: BlockCosts, size: int) -> Vector:
        """Return the costs that a list of all pairs on one machine would take."""
        starts = np.concatenate([[0], np.cumsum(self.degrees, dtype=np.int64)])
        chosen = np.arange(0, starts[-1], max(1, starts[-1] // size))
        owner = np.searchsorted(starts, chosen, side="right") - 1
        block_of, place_of = self._places
        ranks = chosen - starts[owner]
        of_block = [np.flatnonzero(block_of[owner] == block) for block in range(len(self.blocks))]
        places = [place_of[owner[some]] for some in of_block]
        tasks = self.each(
            "rmgl-sample-costs", pair_tasks.sampled, costs, places, [ranks[i] for i in of_block]
        )
        sample = np.empty(chosen.size)
        for some, part in zip(of_block, self.workers.gather(tasks), strict=True):
            sample[some] = part
        return sample

    @cached_property
    def _places(self) -> tuple[Indices, Indices]:
        """The block of every node, and its place in the block."""
        numbered = [np.full(nodes.size, block) for block, nodes in enumerate(self.nodes)]
        places = [np.arange(nodes.size) for nodes in self.nodes]
        return self.by_node(numbered), self.by_node(places)

    def cheapest(self, costs: BlockCosts, share: float) -> Cheapest:
        """Let the blocks count costs by their bits, 8 at a time, until few have the same ones.

        These few come to the client. Where many costs are equal, all of their bits become known,
        and none has to come.
        """
        n, entries, bits = len(self.blocks), 2 * self.n_pairs, 64
        rank = min(int(share * entries), entries // 2)
        left, known, count = rank, 0, entries
        while bits and (bits == 64 or count > MOST_COSTS):
            bits -= pair_tasks.DIGIT
            tasks = self.workers.map(
                "rmgl-rank-costs", pair_tasks.digits, costs.parts, [bits] * n, [known] * n
            )
            counts = sum(self.workers.gather(tasks))
            digit = int(np.searchsorted(np.cumsum(counts), left, side="right"))
            left -= int(counts[:digit].sum())
            known = (known << pair_tasks.DIGIT) | digit
            count = int(counts[digit])
        ends = np.array([known << bits, (known + (bits > 0)) << bits], dtype=np.uint64)
        low, high = ends.view(np.float64).tolist()
        tasks = self.workers.map(
            "rmgl-costs-around", pair_tasks.around, costs.parts, [low] * n, [high] * n
        )
        sums, parts = zip(*self.workers.gather(tasks), strict=True)
        level, total = low, sum(sums) + left * low
        if bits:
            near = np.sort(np.concatenate(parts))
            level, total = float(near[left]), sum(sums) + float(near[:left].sum())
        return Cheapest((rank * level - total) / 2, costs.summary[2] / entries)

    # what a solver asks

    def evaluate(self, u: Vector, costs: BlockCosts) -> Evaluation:
        parts = self._request(EVALUATIONS, u.nbytes, self._row_sums(u, costs))
        excess, counts, squares = (self.by_node(part) for part in zip(*parts, strict=True))
        return Evaluation(excess, counts.astype(np.float64), squares.sum() / 2)

    def _row_sums(self, u: Vector, costs: BlockCosts) -> list[Future]:
        """The sums of all blocks; the workers have those of the last evaluation already."""
        last = self._evaluated
        if last is None or last[1]() is not costs or not np.array_equal(last[0], u):
            sums = self.each("rmgl-evaluate", pair_tasks.row_sums, costs, self._shared(u))
            last = self._evaluated = (u.copy(), weakref.ref(costs), sums)
        return last[2]

    def _shared(self, u: Vector) -> Shared:
        """The potentials on the workers, which have those of the last request already."""
        last = self._last
        if last is None or not np.array_equal(last[0], u):
            last = self._last = (u.copy(), self.workers.share("rmgl-potentials", u))
        return last[1]

    def active_pairs(self, u: Vector, costs: BlockCosts, counts: Vector) -> ActivePairs:
        entries, available = int(counts.sum()), available_memory()
        given = (costs, self._shared(u), self._row_sums(u, costs))
        if available is not None and 4 * entries > MOST_ACTIVE_SHARE * available:
            active = self.each("rmgl-active-pairs", pair_tasks.active_list, *given)
            multiply = self._remote_product(active)
        else:
            tasks = self.each("rmgl-active-pairs", pair_tasks.active_nodes, *given)
            in_parts = self.in_parts if entries >= PARALLEL_ENTRIES else one_part
            starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            others = self._by_row(starts, self._request(ACTIVE, 0, tasks))
            multiply = multiplier(starts, others, in_parts)
        share = entries / max(1, 2 * self.n_pairs)
        return ActivePairs(multiply, passes=1.0, passes_per_product=share)

    def _remote_product(self, active: list[Future]) -> Callable[[Vector], Vector]:
        """Multiply on the workers, each of which has the active pairs of its blocks."""

        def multiply(v: Vector) -> Vector:
            shared = self.workers.share("rmgl-direction", v)
            tasks = self.each("rmgl-multiply", pair_tasks.active_product, active, shared)
            return self.by_node(self._request(PRODUCTS, v.nbytes, tasks))

        return multiply

    def active(self, u: Vector, costs: BlockCosts, least: float) -> sparse.csr_array:
        tasks = self.each("rmgl-weights", pair_tasks.active_rows, costs, self._shared(u), least)
        counts, nodes, data = zip(*self._request("layer", 0, tasks), strict=True)
        starts = np.concatenate([[0], np.cumsum(self.by_node(counts), dtype=np.int64)])
        indptr = starts if starts[-1] > np.iinfo(np.int32).max else starts.astype(np.int32)
        parts = (self._by_row(starts, data), self._by_row(starts, nodes), indptr)
        return sparse.csr_array(parts, shape=(self.n_nodes, self.n_nodes))

    def inner(self, costs: BlockCosts, weights: sparse.csr_array) -> float:
        submit, task = self.workers.submit, pair_tasks.row_products
        tasks, places, totals = [], [], np.empty(self.n_nodes)
        for block, first, rows in self._rows_of(weights):
            pairs = self.blocks[block], costs.parts[block]
            tasks.append(submit("rmgl-inner-product", task, *pairs, first, rows))
            places.append((block, first))
        products = self._request("inner product", 12 * weights.nnz, tasks)
        for (block, first), part in zip(places, products, strict=True):
            totals[self.nodes[block][first : first + part.size]] = part
        return float(totals.sum() / 2)

    def _rows_of(self, graph: sparse.csr_array) -> Iterator[tuple[int, int, pair_tasks.GraphRows]]:
        """Yield a block, a place in it and the rows of a graph from there on, in small pieces."""
        most = max(1, PIECE_BYTES * self.n_nodes // (12 * max(1, graph.nnz)))
        for block, nodes in enumerate(self.nodes):
            for first in range(0, nodes.size, most):
                part = graph[nodes[first : first + most]]
                yield block, first, (np.diff(part.indptr), part.indices.astype(np.int32), part.data)


def measured_pairs(
    matrix: RemoteMatrix, blocks: Sequence[Future], nodes: Sequence[Indices]
) -> list[Future]:
    """Measure the pairs of every block, which is a `PairBlock` with these nodes."""
    workers, strips, measured = matrix.workers, list(pairwise(matrix.bounds)), []
    n = len(strips)
    for block, some in zip(blocks, nodes, strict=True):
        cuts = pairwise(np.searchsorted(some, matrix.bounds).tolist())
        pieces = [
            workers.submit("rmgl-pick-own-rows", operator.getitem, chunk, some[first:stop] - start)
            for chunk, (start, _), (first, stop) in zip(matrix.chunks, strips, cuts, strict=True)
            if stop > first
        ]
        rows = workers.submit("rmgl-own-rows", np.concatenate, pieces)
        given = ([block] * n, [rows] * n, matrix.chunks, strips)
        parts = workers.map("rmgl-measure-strip", pair_tasks.strip_distances, *given)
        task = pair_tasks.join_strips
        measured.append(workers.submit("rmgl-join-strips", task, block, parts, strips))
    return measured
