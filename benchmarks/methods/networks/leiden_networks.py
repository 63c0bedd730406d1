"""leidenalg 0.12, `find_partition_multiplex` with Reichardt and Bornholdt's modularity, on the
networks and the graphs of 15 nearest neighbors.

It chooses the number of clusters itself (resolution 1) and ignores `n_clusters`.
"""

ENVIRONMENT = "modern"
PACKAGES = ["leidenalg", "igraph"]
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    import igraph
    import leidenalg
    import numpy as np
    from given_networks import all_graphs
    from scipy.sparse import triu

    graphs = []
    for matrix in all_graphs(views):
        upper = triu(matrix, k=1).tocoo()
        edges = np.column_stack([upper.row, upper.col])
        graphs.append(
            igraph.Graph(n=matrix.shape[0], edges=edges, edge_attrs={"weight": upper.data})
        )
    kind = leidenalg.RBConfigurationVertexPartition
    membership, _ = leidenalg.find_partition_multiplex(
        graphs, kind, seed=seed, n_iterations=-1, weights="weight"
    )
    return membership
