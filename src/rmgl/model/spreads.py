"""Squared distances in the embedding, on the pairs of a problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmgl.edges import Costs, PairStore
from rmgl.embedding.eigenvectors import Embedding
from rmgl.model.problems import ViewProblem
from rmgl.running.threads import Check, no_check


def store_of(view: ViewProblem) -> tuple[int, int]:
    """Return a key that problems with the same candidates and entities share."""
    return id(view.edges), id(view.nodes)


def shared_spreads(
    problems: Sequence[ViewProblem], embedding: Embedding
) -> dict[tuple[int, int], Costs]:
    """Compute ||q_i - q_j||^2 once for candidates that several problems share."""
    stores: dict[tuple[int, int], list[ViewProblem]] = {}
    for view in problems:
        stores.setdefault(store_of(view), []).append(view)
    return {
        store: spread_of(views[0], views[0].edges, embedding)
        for store, views in stores.items()
        if len(views) > 1
    }


def spread_of(
    view: ViewProblem, edges: PairStore, embedding: Embedding, check: Check = no_check
) -> Costs:
    """Compute ||q_i - q_j||^2 on pairs of nodes; 0 for pairs with a fragment.

    Fragments take no part in the embedding.
    """
    spread = edges.measure(view.own(embedding.vectors), check)
    if embedding.fragments is None:
        return spread
    with_one_fragment = edges.measure(
        view.own(embedding.fragments.astype(np.float64)[:, None]), check
    )
    return spread * (1.0 - with_one_fragment)
