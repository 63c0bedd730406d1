"""scikit-learn's SpectralClustering on the sum of all graphs, each with a mean degree of one."""

ENVIRONMENT = "main"
QUICK = True
RAW = True


def cluster(views, n_clusters, seed, n_threads):
    from given_networks import all_graphs
    from sklearn.cluster import SpectralClustering

    graphs = [graph * (graph.shape[0] / graph.sum()) for graph in all_graphs(views)]
    model = SpectralClustering(n_clusters, affinity="precomputed", random_state=seed)
    return model.fit_predict(sum(graphs))
