"""graspologic 3.4.4: omnibus embedding of the graphs of 15 nearest neighbors in each view, followed
by k-means on the concatenated embeddings.
"""

ENVIRONMENT = "numpy1"
PACKAGES = ["graspologic"]


def cluster(views, n_clusters, seed, n_threads):
    import numpy as np
    from graspologic.embed import OmnibusEmbed
    from neighbor_graphs import neighbor_graphs
    from sklearn.cluster import KMeans

    graphs = [graph.toarray() for graph in neighbor_graphs(views)]
    embeddings = OmnibusEmbed(n_components=n_clusters, svd_seed=seed).fit_transform(graphs)
    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(np.hstack(list(embeddings)))
