"""One nearest-neighbor graph per view, for methods that start from graphs."""

from sklearn.neighbors import kneighbors_graph

N_NEIGHBORS = 15


def neighbor_graphs(views):
    """Return symmetric 0/1 matrices (CSR). Two nodes are joined by an edge if either is among the
    15 nearest neighbors of the other.
    """
    graphs = [kneighbors_graph(X, N_NEIGHBORS) for X in views]
    return [graph.maximum(graph.T) for graph in graphs]
