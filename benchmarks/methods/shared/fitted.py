"""The recorded results of an RMGL fit: labels, rounds, passes over candidate edges, edges per node,
stages, and the report.
"""


def answer(model):
    return {
        "labels": model.labels_,
        "n_iter": model.n_iter_,
        "n_passes": float(sum(layer.n_passes for layer in model.layers_)),
        "edges_per_node": [2 * layer.n_edges / layer.n_nodes for layer in model.layers_],
        "stages": model.seconds_,
        "later": {"report": lambda: trust(model)},
    }


def trust(model):
    return {"trust": model.report_.trust.word, "reasons": model.report_.trust.reasons}
