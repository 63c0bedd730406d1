"""graspologic 3.4.4: multiple adjacency spectral embedding of 15 nearest neighbors in each view,
then k-means.
"""

ENVIRONMENT = "numpy1"
PACKAGES = ["graspologic"]


def cluster(views, n_clusters, seed, n_threads):
    from graspologic.embed import MultipleASE
    from neighbor_graphs import neighbor_graphs
    from sklearn.cluster import KMeans

    graphs = [graph.toarray() for graph in neighbor_graphs(views)]
    embedding = MultipleASE(n_components=n_clusters, svd_seed=seed).fit_transform(graphs)
    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(embedding)
