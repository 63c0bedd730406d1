"""`Network`: a view defined by a graph on the entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound
from rmgl.matrix import Matrix
from rmgl.views.features import FeatureView, check_columns, no_rows
from rmgl.views.incomplete import Mask
from rmgl.views.pair_view import PairView, check_not_negative, observed_nodes, square_matrix
from rmgl.views.view import Comparing, GivenGraph, View

SMALLEST_NETWORK = 10
"""Minimum number of rows in a view that can look like a network."""
MOST_EDGES = 0.2
"""Maximum share of nonzero entries in a square view that can look like a network."""


@dataclass(frozen=True, eq=False)
class Network:
    """A view defined by a graph on the entities: citations, friendships, interactions.

    The layer of the view is the network itself. Its weights are scaled so that the degrees sum to
    the number of nodes. With `learn=True`, RMGL learns a layer L close to the network L0, which is
    scaled in the same way:

        minimize   alpha ||L - L0||_F^2 + beta tr(Q' L Q)
        over graph Laplacians L with tr(L) = tr(L0) on the edges of L0

    This is the layer problem with costs z_ij = c - 2 alpha (d0_i + d0_j + 2 w0_ij). Without an
    embedding, the solution is the network. With an embedding, edges between clusters become weaker.
    The constant c makes the smallest cost zero and does not change the solution. The solution is
    exact over the edges of the network. With `two_steps=True`, it is also exact over all pairs with
    a common neighbor, which have w0 = 0.

    Entities without edges are treated as missing from the view. Directed graphs are symmetrized:
    the weight of an edge is the mean of the two directions. Self-loops are ignored.

    Parameters
    ----------
    graph : scipy sparse or dense matrix of shape (N, N), DataFrame, networkx graph, or igraph graph
        Edge weights >= 0. Node i is the entity in row i of the other views. If the other views have
        row labels, these are matched to the labels of a DataFrame or to node names (in igraph,
        the vertex attribute "name").
    learn : bool
        Whether to learn the layer on the edges of the network instead of using the network as is.
    two_steps : bool
        Whether neighbors of neighbors may also get edges; requires `learn=True`.
    weight : str
        Edge attribute that holds the weights in a networkx or igraph graph. Edges without it have
        weight one.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL, Network
    >>> blocks = np.kron(np.eye(2), np.ones((6, 6)))
    >>> blocks[5, 6] = blocks[6, 5] = 1.0
    >>> model = RMGL(2, random_state=0).fit({"links": Network(blocks)})
    >>> model.labels_.tolist() in ([0] * 6 + [1] * 6, [1] * 6 + [0] * 6)
    True
    """

    graph: Any = field(repr=False)
    learn: bool = False
    two_steps: bool = False
    weight: str = "weight"

    def __post_init__(self) -> None:
        for name in ("learn", "two_steps"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"Network: {name}={getattr(self, name)!r} must be True or False")
        if self.two_steps and not self.learn:
            raise ValueError(
                "Network: two_steps=True requires learn=True, because it adds candidate edges: "
                "set learn=True"
            )

    def labels(self) -> list[Any] | None:
        """Return the names of the nodes. None if they are 0, 1, 2, ..."""
        graph = self.graph
        if _is_networkx(graph):
            names = list(graph.nodes)
        elif _is_igraph(graph):
            if "name" not in graph.vs.attributes():
                return None
            names = list(graph.vs["name"])
        elif hasattr(graph, "iloc"):
            names, columns = list(graph.index), list(graph.columns)
            if columns not in (names, list(range(len(names)))):
                raise ValueError(
                    "Network: the row labels and the column labels of the table differ: both "
                    "must name the nodes in the same order"
                )
        else:
            return None
        return None if names == list(range(len(names))) else names

    def matrix(self, name: str) -> Any:
        """Return the original weights, with the nodes in their own order."""
        if _is_networkx(self.graph):
            return _from_networkx(name, self.graph, self.weight)
        if _is_igraph(self.graph):
            return _from_igraph(name, self.graph, self.weight)
        return self.graph

    def placed(self, name: str, index: Sequence[Any]) -> Network:
        """Return this network with one node per entity. Every node must be an entity."""
        names = self.labels()
        assert names is not None
        places = {label: place for place, label in enumerate(index)}
        by_text = {str(label): place for place, label in enumerate(index)}
        nodes = [places.get(label, by_text.get(str(label), -1)) for label in names]
        unknown = [label for label, place in zip(names, nodes, strict=True) if place < 0]
        if unknown:
            raise ValueError(
                f"view {name!r}: node {unknown[0]!r} of the network is not an entity in the "
                f"other views (number of such nodes: {len(unknown)}): use the row labels as node "
                "names, and remove nodes that are not entities"
            )
        if len(set(nodes)) < len(nodes):
            raise ValueError(
                f"view {name!r}: two nodes of the network have the same name: make node names "
                "unique"
            )
        entries = sparse.coo_array(square_matrix(name, "the network", self.matrix(name)))
        rows, columns = (np.asarray(nodes, dtype=np.intp)[axis] for axis in entries.coords)
        graph = sparse.csr_array((entries.data, (rows, columns)), shape=(len(index), len(index)))
        return Network(graph, self.learn, self.two_steps, self.weight)

    def to_view(self, name: str, observed: Mask | None) -> NetworkView:
        """Return symmetric weights >= 0 without loops. Entities without edges count as missing."""
        X = sparse.csr_array(square_matrix(name, "the network", self.matrix(name)))
        check_not_negative(name, "the network", X)
        seen = observed_nodes(name, X.shape[0], observed)
        kept = sparse.diags_array(seen.astype(np.float64))
        X = sparse.coo_array(kept @ ((X + X.T) / 2) @ kept)
        rows, columns = X.coords
        off = rows != columns
        X = sparse.csr_array((X.data[off], (rows[off], columns[off])), shape=X.shape)
        X.eliminate_zeros()
        X.sort_indices()
        linked = np.diff(X.indptr) > 0
        if not linked.any():
            raise ValueError(
                f"view {name!r}: the network has no edge between two different entities: "
                "leave the view out"
            )
        largest = float(X.data.max())
        if not float(X.data.min()) / largest > 1e-100 or not 1e-200 < largest < 1e200:
            raise ValueError(
                f"view {name!r}: the weights of the network are too large, too small or too far "
                "apart for double precision: rescale them"
            )
        entities = None if linked.all() else np.flatnonzero(linked)
        return NetworkView(name, X, entities, bool(self.learn), bool(self.two_steps))


@record
@dataclass(frozen=True)
class NetworkView(PairView):
    """Symmetric edge weights >= 0 without loops. The layer is fixed, or learned close to them.

    A network has no distances.
    """

    learn: bool = False
    two_steps: bool = False

    @property
    def graph(self) -> GivenGraph:
        return GivenGraph(self.matrix, self.learn, self.two_steps)

    def points(self) -> Any:
        raise TypeError(f"view {self.name!r} is a network and has no distances")

    def whole_space(self) -> Any:
        return self.points()

    def without_clusters(
        self, normal: NDArray[np.float64], random_state: np.random.RandomState
    ) -> NetworkView:
        """Return a network with randomly rewired edges that preserves the expected degrees."""
        edges = sparse.triu(self.matrix, 1).tocoo()
        ends = np.concatenate([edges.row, edges.col])
        ends = random_state.permutation(ends).reshape(2, -1)
        kept = ends[0] != ends[1]
        upper = sparse.csr_array((edges.data[kept], ends[:, kept]), shape=self.matrix.shape)
        return replace(self, matrix=sparse.csr_array(upper + upper.T))

    @property
    def words(self) -> str:
        return "network, learned again" if self.learn else "network"

    @property
    def described(self) -> str:
        return f"{sparse.csr_array(self.matrix).nnz // 2} edges"

    @property
    def made_from(self) -> str:
        return "a network"

    def against(self, given: Any) -> Any:
        return given.graph if isinstance(given, Network) else super().against(given)

    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        if rows is None:
            return no_rows(self.name, n_new, self.n_rows, is_sparse=True)
        check_columns(self, rows, self.n_rows)
        check_not_negative(self.name, "the network", rows.matrix)
        weights = sparse.csr_array(rows.matrix)
        weights.eliminate_zeros()
        linked = np.flatnonzero(rows.mask & (np.diff(weights.indptr) > 0))
        return FeatureView(self.name, weights, linked, gaps=rows.gaps)

    def comparing(self) -> Comparing:
        return self.points()  # type: ignore[no-any-return]

    def check(self, n_rows: int, most: float = np.inf) -> None:
        if not sparse.issparse(self.matrix):
            raise Unsound(f"view {self.name!r} is not the square matrix of a network")
        super().check(n_rows, most)


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "is_multigraph") and hasattr(graph, "adj")


def _is_igraph(graph: Any) -> bool:
    return hasattr(graph, "vcount") and hasattr(graph, "get_edgelist")


def _from_networkx(name: str, graph: Any, weight: str) -> sparse.csr_array:
    places = {node: place for place, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data=weight, default=1.0))
    pairs = [(places[one], places[other]) for one, other, _ in edges]
    weights = [value for _, _, value in edges]
    return _of_edges(name, pairs, weights, len(places), graph.is_directed())


def _from_igraph(name: str, graph: Any, weight: str) -> sparse.csr_array:
    weights = graph.es[weight] if weight in graph.es.attributes() else [1.0] * graph.ecount()
    return _of_edges(name, graph.get_edgelist(), weights, graph.vcount(), graph.is_directed())


def _of_edges(
    name: str,
    edges: Sequence[tuple[int, int]],
    weights: Sequence[Any],
    n_nodes: int,
    directed: bool,
) -> sparse.csr_array:
    """Return the weights of a list of edges as a matrix. Parallel edges add up.

    An undirected edge counts in both directions.
    """
    try:
        values = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"view {name!r}: an edge of the network has a weight that is not a number ({error})"
        ) from error
    rows, columns = np.array(edges, dtype=np.intp).reshape(len(edges), 2).T
    graph = sparse.csr_array((values, (rows, columns)), shape=(n_nodes, n_nodes))
    return graph if directed else sparse.csr_array(graph + graph.T)


def looks_like_network(X: Matrix) -> bool:
    """Return whether rows look like the adjacency matrix of a network.

    Such a matrix is square, symmetric, >= 0 and mostly zero, with a zero diagonal.
    """
    if X.shape[0] != X.shape[1] or X.shape[0] < SMALLEST_NETWORK:
        return False
    entries = sparse.csr_array(X)
    share = entries.count_nonzero() / X.shape[0] ** 2
    if not 0 < share <= MOST_EDGES or entries.data.min() < 0 or entries.diagonal().any():
        return False
    return bool(abs(entries - entries.T).max() == 0)
