"""Data sets with networks: a view that is square holds the weights of one, all others hold
features.
"""

from fitted import trust
from neighbor_graphs import neighbor_graphs
from scipy import sparse


def split(views):
    """The views of features, and the networks."""
    square = [X.shape[0] == X.shape[1] for X in views]
    return [X for X, own in zip(views, square, strict=True) if not own], [
        X for X, own in zip(views, square, strict=True) if own
    ]


def all_graphs(views):
    """Symmetric graphs for methods that know nothing else: networks as they are, and 15 nearest
    neighbors of unit rows of features.
    """
    from sklearn.preprocessing import normalize

    features, networks = split(views)
    graphs = [sparse.csr_matrix(X) for X in networks] + [
        sparse.csr_matrix(graph) for graph in neighbor_graphs(map(normalize, features))
    ]
    return [graph - sparse.diags(graph.diagonal()) for graph in graphs]


def fit_networks(views, n_clusters, seed, n_threads, learn):
    """RMGL with its defaults on the features, and on the networks as they are or learned again."""
    from rmgl import RMGL, Network

    features, networks = split(views)
    model = RMGL(n_clusters, random_state=seed, n_jobs=n_threads).fit(
        [*features, *(Network(A, learn=learn) for A in networks)]
    )
    return {
        "labels": model.labels_,
        "n_iter": model.n_iter_,
        "weights": model.view_weights_.tolist(),
        **trust(model),
    }
