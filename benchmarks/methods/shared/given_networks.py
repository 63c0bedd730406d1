"""Data sets with networks. A square view holds the weights of a network; all other views hold
features.
"""

from fitted import trust
from neighbor_graphs import neighbor_graphs
from scipy import sparse


def split(views):
    """Return the feature views and the networks."""
    square = [X.shape[0] == X.shape[1] for X in views]
    return [X for X, own in zip(views, square, strict=True) if not own], [
        X for X, own in zip(views, square, strict=True) if own
    ]


def all_graphs(views):
    """Return symmetric graphs for methods that accept only graphs: the networks, unchanged, and
    graphs of the 15 nearest neighbors of feature rows scaled to length one.
    """
    from sklearn.preprocessing import normalize

    features, networks = split(views)
    graphs = [sparse.csr_matrix(X) for X in networks] + [
        sparse.csr_matrix(graph) for graph in neighbor_graphs(map(normalize, features))
    ]
    return [graph - sparse.diags(graph.diagonal()) for graph in graphs]


def fit_networks(views, n_clusters, seed, n_threads, learn):
    """Fit RMGL with its defaults to the features and the networks, which may be learned again."""
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
