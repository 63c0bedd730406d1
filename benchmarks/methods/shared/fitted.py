"""What is recorded of a fitted RMGL, beside its labels: stages, passes over candidate edges,
rounds, and its report.
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
