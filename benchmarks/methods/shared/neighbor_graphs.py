"""One nearest-neighbor graph a view, for methods that start from graphs."""

from sklearn.neighbors import kneighbors_graph

N_NEIGHBORS = 15


def neighbor_graphs(views):
    """Symmetric 0/1 matrices (CSR): an edge where either node is among the 15 nearest neighbors of
    the other.
    """
    graphs = [kneighbors_graph(X, N_NEIGHBORS) for X in views]
    return [graph.maximum(graph.T) for graph in graphs]
