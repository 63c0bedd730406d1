"""RMGL with its defaults, except for one part of the automatic choices: a field of the `Policy` or
a parameter.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
RAW = True
ABLATION = True
DATASETS = (
    "3sources",
    "aloi10",
    "msrcv1_5v",
    "ngs",
    "nutrimouse",
    "orl_4v",
    "prokaryotic",
    "reuters600",
    "snareseq",
    "webkb",
)  # up to 1100 rows
VARIANTS = {
    # without consensus costs in the layers of complementary views
    "without_agreement": {"policy": {"consensus_share": 0.0}},
    "without_auto_scale": {"scale": "minmax"},
    # without the consensus layer; views are weighted by what they have in common
    "without_consensus": {"policy": {"consensus": "never"}},
    # with fragments included in the embedding
    "without_fragments": {"policy": {"small_cluster": 0.0}},
    # without the passes in which the embedding guides the layers
    "without_guidance": {"policy": {"guidance": ()}},
    # with all edges included in the roughness and the weights
    "without_informative_edges": {"policy": {"small_component": 0.0}},
    # with distances that are not scaled locally
    "without_local_scaling": {"policy": {"local_scaling": False}},
    # without the plain neighbor layer
    "without_neighbors": {"policy": {"neighbor_share": 0.0}},
    # with the same weight for every view
    "without_weights": {"policy": {"weighing": "equal"}},
}


def cluster(views, n_clusters, seed, n_threads, variant):
    from fitted import trust

    from rmgl import RMGL
    from rmgl.automatic.policy import Policy

    parameters = {**VARIANTS[variant], "policy": Policy(**VARIANTS[variant].get("policy", {}))}
    model = RMGL(n_clusters, random_state=seed, n_jobs=n_threads, **parameters).fit(views)
    return {"labels": model.labels_, **trust(model)}
