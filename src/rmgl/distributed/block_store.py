"""The edge store whose pairs are kept by the workers of a cluster, in blocks of nodes, and its costs.

Newton's method runs on the client. In every step the potentials are sent once, and every block returns three numbers for each of its own
nodes. The active pairs, far fewer than the candidates, come to the client where they fit there, and it multiplies them itself: one request
takes the place of one for every product. Where they do not fit, they stay with the workers, and the vectors of the products are sent.

Blocks depend on the rows alone, and every sum is over one row, or over the blocks in their order: results do not depend on the workers.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed import pair_blocks
from rmgl.distributed.cluster import PIECE_BYTES, Cluster, Future, Shared, size_of
from rmgl.distributed.matrix import RemoteMatrix
from rmgl.distributed.strips import measured_pairs
from rmgl.edges import growth
from rmgl.edges.cost_vectors import multiplier
from rmgl.edges.heaps import Indices
from rmgl.edges.interface import ActivePairs, Cheapest, Evaluation, Vector
from rmgl.edges.pair_list import PARALLEL_ENTRIES
from rmgl.running.memory import available_memory
from rmgl.running.threads import Check, InParts, one_part

MOST_SHARE = 0.25
"""Share of the available memory of the client that active pairs may take."""
MOST_COSTS = 1 << 16
"""Costs that the client takes at once."""
MOST_STRIPS = 16
"""Parts of an embedding, to each of which every block measures its pairs: one task or two for each part and block."""
PRODUCTS = "product"
EVALUATIONS = "evaluation"
ACTIVE = "active pairs"


@dataclass(frozen=True)
class BlockCosts:
    """Costs of the pairs of a block store, which the workers keep."""

    cluster: Cluster
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
        tasks = self.cluster.map("rmgl-add-costs", pair_blocks.calculated, [operation] * n, self.parts, others)
        return BlockCosts(self.cluster, tasks)

    @cached_property
    def summary(self) -> tuple[float, float, float]:
        """The smallest and the largest cost, and the sum of all."""
        least, largest, total = zip(
            *self.cluster.gather(self.cluster.map("rmgl-describe-costs", pair_blocks.summary_of, self.parts)), strict=True
        )
        return min(least), max(largest), sum(total)


@dataclass(frozen=True)
class BlockGrowth:
    """The pairs that a block store has more than an earlier one."""

    is_new: Sequence[Future]
    """For each block, which of its pairs are new."""
    pairs: BlockStore

    def carried(self, costs: BlockCosts, new: BlockCosts) -> BlockCosts:
        tasks = costs.cluster.map("rmgl-carry-costs", growth.carried, self.is_new, costs.parts, new.parts)
        return BlockCosts(costs.cluster, tasks)

    def new_of(self, costs: BlockCosts) -> BlockCosts:
        return BlockCosts(costs.cluster, costs.cluster.map("rmgl-new-costs", operator.getitem, costs.parts, self.is_new))


class BlockStore:
    """The edge store of pairs on the workers of a cluster."""

    def __init__(self, cluster: Cluster, blocks: Sequence[Future], nodes: Sequence[Indices]) -> None:
        """`blocks` are futures of `PairBlock`, and `nodes` their own nodes."""
        self.cluster, self.blocks, self.nodes = cluster, blocks, nodes
        self._last: tuple[Vector, Shared] | None = None
        self._evaluated: tuple[Vector, weakref.ref[BlockCosts], list[Future]] | None = None
        self.n_nodes = sum(map(len, nodes))
        self.degrees = self.by_node(self.cluster.gather(self.each("rmgl-count-pairs", pair_blocks.degrees_of)))
        self.n_pairs = int(self.degrees.sum()) // 2
        self.max_degree = int(self.degrees.max(initial=0))

    @property
    def in_parts(self) -> InParts:
        return self.cluster.in_parts

    def each(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        """One task for every block. Arguments are costs, shared arrays, lists with an item for each block, or the same for all."""
        n = len(self.blocks)
        spread = [
            argument.parts
            if isinstance(argument, BlockCosts)
            else argument
            if isinstance(argument, list)
            else [list(argument.pieces) if isinstance(argument, Shared) else argument] * n
            for argument in arguments
        ]
        return self.cluster.map(name, task, self.blocks, *spread)

    def _request(self, kind: str, sent: int, tasks: Sequence[Future]) -> list[Any]:
        """The results of tasks, with their bytes counted."""
        results = self.cluster.gather(tasks)
        self.cluster.traffic.add(kind, sent, size_of(results))
        return results

    def by_node(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Numbers of all nodes from those of the blocks."""
        out = np.empty(self.n_nodes, dtype=parts[0].dtype)
        for nodes, part in zip(self.nodes, parts, strict=True):
            out[nodes] = part
        return out

    def _by_row(self, starts: Indices, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Entries of the rows of all nodes, which begin at `starts`, from those of the blocks."""
        out = np.empty(starts[-1], dtype=parts[0].dtype)
        for nodes, part in zip(self.nodes, parts, strict=True):
            lengths = starts[nodes + 1] - starts[nodes]
            shifts = starts[nodes] - np.cumsum(lengths) + lengths
            out[np.repeat(shifts, lengths) + np.arange(part.size)] = part
        return out

    # costs

    def measure(self, X: NDArray[np.float64] | sparse.csr_array, check: Check = lambda: None) -> BlockCosts:
        check()
        rows = np.ascontiguousarray(X)
        shared = self.cluster.share("rmgl-embedding", rows)
        self.cluster.traffic.add("embedding", rows.nbytes, 0)
        pieces, bounds = self.cluster.in_strips(shared, MOST_STRIPS)
        return self.measured_on(RemoteMatrix(self.cluster, pieces, bounds, rows.shape[1]))

    def measured_on(self, matrix: RemoteMatrix) -> BlockCosts:
        """The squared distances of the rows of a matrix on the same cluster."""
        return BlockCosts(self.cluster, measured_pairs(matrix, self.blocks, self.nodes))

    def entries_of(self, square: NDArray[np.float64]) -> BlockCosts:
        raise ValueError("all distances of a view do not belong on a cluster: fit without client=")

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
        raise ValueError("known labels are not possible on a cluster yet: fit without client=")

    def localized(self, distances: BlockCosts, scales: Vector, floors: Vector) -> BlockCosts:
        shared = [self.cluster.share("rmgl-scales", own) for own in (scales, floors)]
        return BlockCosts(self.cluster, self.each("rmgl-scale-costs", pair_blocks.localized, distances, *shared))

    def least(self, costs: BlockCosts) -> float:
        return costs.summary[0]

    def largest(self, costs: BlockCosts) -> float:
        return costs.summary[1]

    def sample(self, costs: BlockCosts, size: int) -> Vector:
        """The costs that a list of all pairs on one machine would take."""
        starts = np.concatenate([[0], np.cumsum(self.degrees, dtype=np.int64)])
        chosen = np.arange(0, starts[-1], max(1, starts[-1] // size))
        owner = np.searchsorted(starts, chosen, side="right") - 1
        ranks, block_of, place_of = chosen - starts[owner], *self._places
        own = [np.flatnonzero(block_of[owner] == block) for block in range(len(self.blocks))]
        tasks = self.each(
            "rmgl-sample-costs", pair_blocks.sampled, costs, [place_of[owner[some]] for some in own], [ranks[some] for some in own]
        )
        found = np.empty(chosen.size)
        for some, part in zip(own, self.cluster.gather(tasks), strict=True):
            found[some] = part
        return found

    @cached_property
    def _places(self) -> tuple[Indices, Indices]:
        """The block of every node, and its place in the block."""
        blocks = self.by_node([np.full(nodes.size, block) for block, nodes in enumerate(self.nodes)])
        return blocks, self.by_node([np.arange(nodes.size) for nodes in self.nodes])

    def cheapest(self, costs: BlockCosts, share: float) -> Cheapest:
        """The blocks count costs by their bits, 8 at a time, until few have those of the next cost; these come to the client.

        Where many costs are equal, all of their bits become known, and none has to come.
        """
        n, entries, bits = len(self.blocks), 2 * self.n_pairs, 64
        rank = min(int(share * entries), entries // 2)
        left, known, count = rank, 0, entries
        while bits and (bits == 64 or count > MOST_COSTS):
            bits -= pair_blocks.DIGIT
            tasks = self.cluster.map("rmgl-rank-costs", pair_blocks.digits, costs.parts, [bits] * n, [known] * n)
            counts = sum(self.cluster.gather(tasks))
            digit = int(np.searchsorted(np.cumsum(counts), left, side="right"))
            left, known, count = left - int(counts[:digit].sum()), (known << pair_blocks.DIGIT) | digit, int(counts[digit])
        low, high = np.array([known << bits, (known + (bits > 0)) << bits], dtype=np.uint64).view(np.float64).tolist()
        found = self.cluster.gather(self.cluster.map("rmgl-costs-around", pair_blocks.around, costs.parts, [low] * n, [high] * n))
        below, near = sum(part[1] for part in found), np.sort(np.concatenate([part[2] for part in found]))
        level, total = (float(near[left]), below + float(near[:left].sum())) if bits else (low, below + left * low)
        return Cheapest((rank * level - total) / 2, costs.summary[2] / entries)

    # what a solver asks

    def evaluate(self, u: Vector, costs: BlockCosts) -> Evaluation:
        parts = self._request(EVALUATIONS, u.nbytes, self._row_sums(u, costs))
        excess, counts, squares = (self.by_node(part) for part in zip(*parts, strict=True))
        return Evaluation(excess, counts.astype(np.float64), squares.sum() / 2)

    def _row_sums(self, u: Vector, costs: BlockCosts) -> list[Future]:
        """The sums of all blocks at some potentials; those of the last evaluation are with the workers already."""
        last = self._evaluated
        if last is None or last[1]() is not costs or not np.array_equal(last[0], u):
            last = (u.copy(), weakref.ref(costs), self.each("rmgl-evaluate", pair_blocks.row_sums, costs, self._shared(u)))
            self._evaluated = last
        return last[2]

    def _shared(self, u: Vector) -> Shared:
        """The potentials on the workers; those of the last request are there already."""
        last = self._last
        if last is None or not np.array_equal(last[0], u):
            last = self._last = (u.copy(), self.cluster.share("rmgl-potentials", u))
        return last[1]

    def active_pairs(self, u: Vector, costs: BlockCosts, counts: Vector) -> ActivePairs:
        entries, available = int(counts.sum()), available_memory()
        given = (costs, self._shared(u), self._row_sums(u, costs))
        if available is not None and 4 * entries > MOST_SHARE * available:
            multiply = self._remote_product(self.each("rmgl-active-pairs", pair_blocks.active_list, *given))
        else:
            tasks = self.each("rmgl-active-pairs", pair_blocks.active_nodes, *given)
            in_parts = self.in_parts if entries >= PARALLEL_ENTRIES else one_part
            starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            multiply = multiplier(starts, self._by_row(starts, self._request(ACTIVE, 0, tasks)), in_parts)
        return ActivePairs(multiply, passes=1.0, passes_per_product=entries / max(1, 2 * self.n_pairs))

    def _remote_product(self, active: list[Future]) -> Callable[[Vector], Vector]:
        """The product on the workers, each of which has the active pairs of its blocks."""

        def multiply(v: Vector) -> Vector:
            shared = self.cluster.share("rmgl-direction", v)
            tasks = self.each("rmgl-multiply", pair_blocks.active_product, active, shared)
            return self.by_node(self._request(PRODUCTS, v.nbytes, tasks))

        return multiply

    def active(self, u: Vector, costs: BlockCosts, least: float) -> sparse.csr_array:
        parts = self._request("layer", 0, self.each("rmgl-weights", pair_blocks.active_rows, costs, self._shared(u), least))
        counts, nodes, data = zip(*parts, strict=True)
        starts = np.concatenate([[0], np.cumsum(self.by_node(counts), dtype=np.int64)])
        indptr = starts if starts[-1] > np.iinfo(np.int32).max else starts.astype(np.int32)
        found = (self._by_row(starts, data), self._by_row(starts, nodes), indptr)
        return sparse.csr_array(found, shape=(self.n_nodes, self.n_nodes))

    def inner(self, costs: BlockCosts, weights: sparse.csr_array) -> float:
        submit, totals = self.cluster.submit, np.empty(self.n_nodes)
        pieces = list(self._rows_of(weights))
        tasks = [
            submit("rmgl-inner-product", pair_blocks.row_products, self.blocks[block], costs.parts[block], first, rows)
            for block, first, rows in pieces
        ]
        for (block, first, _), part in zip(pieces, self._request("inner product", 12 * weights.nnz, tasks), strict=True):
            totals[self.nodes[block][first : first + part.size]] = part
        return float(totals.sum() / 2)

    def _rows_of(self, graph: sparse.csr_array) -> Iterator[tuple[int, int, pair_blocks.GraphRows]]:
        """The rows of a graph, in pieces that are small enough to send: block, place of the first row in it, and rows."""
        most = max(1, PIECE_BYTES * self.n_nodes // (12 * max(1, graph.nnz)))
        for block, nodes in enumerate(self.nodes):
            for first in range(0, nodes.size, most):
                part = graph[nodes[first : first + most]]
                yield block, first, (np.diff(part.indptr), part.indices.astype(np.int32), part.data)
