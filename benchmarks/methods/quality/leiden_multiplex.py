"""leidenalg 0.12, `find_partition_multiplex` with Reichardt and Bornholdt's modularity, on the 15
nearest neighbors in each view.

It chooses the number of clusters itself (resolution 1) and ignores `n_clusters`.
"""

ENVIRONMENT = "modern"
PACKAGES = ["leidenalg", "igraph"]


def cluster(views, n_clusters, seed, n_threads):
    import igraph
    import leidenalg
    import numpy as np
    from neighbor_graphs import neighbor_graphs
    from scipy.sparse import triu

    edges = [np.stack(triu(graph).nonzero(), axis=1) for graph in neighbor_graphs(views)]
    graphs = [igraph.Graph(n=len(views[0]), edges=pairs) for pairs in edges]
    membership, _ = leidenalg.find_partition_multiplex(
        graphs, leidenalg.RBConfigurationVertexPartition, seed=seed, n_iterations=-1
    )
    return membership
