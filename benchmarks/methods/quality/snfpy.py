"""snfpy 0.2.2: similarity network fusion with its defaults (20 neighbors, mu = 0.5, 20 rounds),
followed by spectral clustering.
"""

ENVIRONMENT = "numpy1"
PACKAGES = ["snfpy"]


def cluster(views, n_clusters, seed, n_threads):
    import snf
    from sklearn.cluster import spectral_clustering

    fused = snf.snf(snf.make_affinity(views, metric="sqeuclidean"))
    return spectral_clustering(fused, n_clusters=n_clusters, random_state=seed)
