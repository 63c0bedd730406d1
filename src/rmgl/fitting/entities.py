"""Extend results for the learned entities, in canonical order, to all entities, in the caller's
order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.embedding.eigenvectors import signed
from rmgl.embedding.labels import as_met, balance_among
from rmgl.fitting.fitted import FittedModel
from rmgl.fitting.ready import Ready
from rmgl.matrix import Indices
from rmgl.running.threads import Team


def with_others_placed(
    model: FittedModel, entities: Indices | None, ready: Ready, team: Team
) -> FittedModel:
    """Extend results for `entities` (None for all) to all entities. The others are placed like new
    rows.
    """
    if entities is None:
        return model
    views, known = ready.views, ready.known
    others = np.setdiff1d(np.arange(views.n_rows), entities)
    placed = model.placement().place(views.of_entities(others), team)

    def among_all(values: NDArray[Any], of_others: Any = 0) -> NDArray[Any]:
        extended = np.zeros((views.n_rows, *values.shape[1:]), dtype=values.dtype)
        extended[entities], extended[others] = values, of_others
        return extended

    labels = among_all(model.labels, placed.votes.sum(axis=1).argmax(axis=1))
    return replace(
        model,
        views=views,
        labels=labels if known is None else np.where(known >= 0, known, labels),
        embedding=signed(among_all(model.embedding, placed.embedding)),
        guide=None if model.guide is None else among_all(model.guide),
        outlier_score=among_all(model.outlier_score),
        layers=[replace(layer, nodes=entities).among_all(views.n_rows) for layer in model.layers],
        fragments=entities[model.fragments],
        placed=others,
    )


def in_order_of_caller(model: FittedModel, ready: Ready) -> FittedModel:
    """Convert a model from canonical order to the caller's order.

    Unless labels are known, clusters are numbered by first appearance in the caller's rows.
    """
    order = ready.canonical.order
    place = np.argsort(order)
    learned = np.setdiff1d(np.arange(order.size), model.placed)
    labels = model.labels[place]
    return replace(
        model,
        views=model.views.in_order(place),
        labels=as_met(labels, model.n_clusters) if ready.known is None else labels,
        embedding=model.embedding[place],
        guide=None if model.guide is None else model.guide[place],
        outlier_score=model.outlier_score[place],
        layers=[layer.in_order(place) for layer in model.layers],
        number=None if model.number is None else model.number.in_order(np.argsort(order[learned])),
        balance=balance_among(model.balance, place),
        fragments=np.sort(order[model.fragments]),
        placed=np.sort(order[model.placed]),
    )
