"""Known labels of some entities, which change the costs in the layers.

Pairs with the same label are tied; pairs with different labels are kept apart.

    z_ij  ->  the smallest cost at these nodes  if i and j are known to belong together
    z_ij  ->  z_ij + 100 s                      if i and j are known to belong to different clusters

The smallest cost is min(f_i, f_j), the floor of local scaling, or 0 without it: known members of a
cluster are as close to each other as nearest neighbors. s is the typical cost of a 7th neighbor,
which is 1 with local scaling. All tied pairs are candidates, and no other cost becomes smaller, so
the certificates of the layers still hold. Ties draw the known members of a cluster slightly away
from its other members. If labels agree with the clusters found without them, they only determine
the cluster numbers (`RMGL.fit`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges import Candidates, PairStore, Vector
from rmgl.edges.candidates import measured
from rmgl.edges.interface import as_vector
from rmgl.edges.local_scaling import LocalScaling
from rmgl.edges.neighborhoods import require_list_memory
from rmgl.edges.space import as_space
from rmgl.matrix import Indices
from rmgl.running.threads import Check, no_check

UNLABELED = -1
AGREEING = 0.95
"""Minimum fraction of the known labels that clusters found without them must match to agree."""
APART = 100.0
"""Cost added to a pair with different labels, relative to the cost of a typical 7th neighbor."""


def check_known(y: Any, n_rows: int, n_clusters: int | None) -> Indices | None:
    """Return the known labels, -1 for unknown; None if no label is known, or y has no -1.

    If all labels are known, there is nothing to find.
    """
    values = np.asarray(y)
    if values.dtype.kind == "f" and values.ndim == 1 and np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise ValueError(f"y[{row}] is NaN: use -1 for unknown labels")
    if not are_whole_numbers(values) or values.ndim != 1 or not (values == UNLABELED).any():
        return None
    known = values.astype(np.intp)
    if known.size != n_rows:
        raise ValueError(
            f"y has {known.size} labels for the {n_rows} rows of the views: pass one for each "
            "row, -1 for unknown labels"
        )
    if known.min() < UNLABELED:
        row = int(np.flatnonzero(known < UNLABELED)[0])
        raise ValueError(
            f"y[{row}] is {known[row]}: use the cluster numbers 0, 1, 2, ..., and -1 for unknown "
            "labels"
        )
    classes = np.unique(known[known >= 0])
    if n_clusters is not None and classes.size:
        check_classes(classes, n_clusters)
    return known if classes.size else None


def are_whole_numbers(values: NDArray[Any]) -> bool:
    """Check whether y can hold cluster numbers; scikit-learn may also pass scores or names."""
    if values.dtype.kind == "f":
        return bool(np.isfinite(values).all() and (values == values.round()).all())
    return values.dtype.kind in "iub"


def check_classes(classes: Indices, n_clusters: int) -> None:
    """Raise a ValueError if there are more classes, or larger labels, than clusters."""
    if classes.size > n_clusters:
        raise ValueError(
            f"y has {classes.size} classes, more than n_clusters={n_clusters}: ask for at "
            f"least {classes.size} clusters"
        )
    if classes[-1] >= n_clusters:
        raise ValueError(
            f"y has the label {classes[-1]}, but the n_clusters={n_clusters} clusters are "
            f"numbered from 0 to {n_clusters - 1}: number the "
            "labels from 0"
        )


def with_known(
    candidates: Candidates, space: Any, known: Indices, check: Check = no_check
) -> Candidates:
    """Tie candidates with the same known label and keep those with different labels apart.

    `space` is a matrix or a space.
    """
    if np.count_nonzero(known >= 0) < 2:
        return candidates
    space = as_space(space)
    if candidates.neighborhoods is not None:
        candidates = Candidates.certified(
            candidates.neighborhoods.with_pairs(tied_pairs(known)), check
        )
    scaling = candidates.scaling
    typical = 1.0 if scaling is not None else float(np.median(LocalScaling.of(space).scales) ** 2)

    def added(edges: PairStore, check: Check) -> Vector:
        places, left, right = edges.pairs_among(known >= 0)
        own = as_vector(measured(edges, space, scaling, check))
        least = (
            np.zeros(places.size)
            if scaling is None
            else np.minimum(scaling.floors[left], scaling.floors[right])
        )
        costs = np.zeros(own.size)
        same = known[left] == known[right]
        costs[places] = np.where(same, np.minimum(least - own[places], 0.0), APART * typical)
        return costs

    return candidates.with_added(added, check=check)


def tied_pairs(known: Indices) -> sparse.csr_array:
    """Return the pattern of all pairs with the same known label."""
    members = [
        np.flatnonzero(known == label).astype(np.int32) for label in np.unique(known[known >= 0])
    ]
    require_list_memory(
        1, sum(own.size**2 for own in members), "pairs of rows with the same known label"
    )
    rows = [np.repeat(own, own.size) for own in members]
    columns = [np.tile(own, own.size) for own in members]
    left, right = np.concatenate(rows), np.concatenate(columns)
    off = left != right
    return sparse.csr_array(
        (np.ones(int(off.sum()), dtype=bool), (left[off], right[off])),
        shape=(known.size, known.size),
    )
