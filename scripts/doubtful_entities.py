"""Print the share of entities in a wrong cluster, for low-confidence entities and for the others.

    python scripts/doubtful_entities.py                 # the bundled digits
    python scripts/doubtful_entities.py folder          # also the .npz files in that folder

Each file must contain the arrays view_0, view_1, ... and the classes y.

An entity is wrong if it is not in the cluster that is matched to its class: clusters and classes
are matched one to one, with as many entities as possible in the right cluster. The number of
clusters is the number of classes; everything else is chosen from the data.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.results.standing import standing_of

BOUNDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.01)
MOST_ROWS = 5000


def data_sets(folders: list[str]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield the name, views and classes of each data set."""
    digits = load_uci_digits()
    yield "digits", digits.views, digits.target
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.npz")):
        with np.load(path) as stored:
            views = {name: stored[name] for name in stored.files if name.startswith("view_")}
            # mfeat is the same data set as the digits
            if (
                views
                and "y" in stored.files
                and len(stored["y"]) <= MOST_ROWS
                and path.stem != "mfeat"
            ):
                yield path.stem, views, stored["y"]


def measure(views: dict[str, Any], classes: Any) -> tuple[Any, Any, str]:
    """Return the confidence of every entity, whether it is wrong, and the report's verdict."""
    n_classes = np.unique(classes).size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RMGL(n_classes, random_state=0).fit(views)
    counts = contingency_matrix(classes, model.labels_)  # rows: classes, columns: clusters
    known, cluster = linear_sum_assignment(-counts)
    names = np.unique(classes)
    right = dict(zip(cluster.tolist(), names[known].tolist(), strict=True))
    found = np.array([right.get(label) for label in model.labels_.tolist()])
    confidence = standing_of(
        model.layers_, model.beta_, model.labels_, model.n_clusters_
    ).confidence
    return confidence, found != classes, model.report_.trust.word


def main() -> None:
    names = [
        f"{low:.2f} to {high:.2f}" if high <= 1 else f"above {low:.2f}"
        for low, high in pairwise(BOUNDS)
    ]
    print(
        "Share of entities in a wrong cluster, by confidence (number of entities); all, "
        "below 0.6, at least 0.6"
    )
    print(
        f"{'data':14s} {'verdict':7s} {'all':>7s} "
        + " ".join(f"{name:>18s}" for name in ["below 0.60", "from 0.60", *names])
    )
    for name, views, classes in data_sets(sys.argv[1:]):
        confidence, wrong, trust = measure(views, classes)
        groups = [confidence < 0.6, confidence >= 0.6]
        groups += [(confidence >= low) & (confidence < high) for low, high in pairwise(BOUNDS)]
        cells = [
            f"{wrong[group].mean():7.1%} of {group.sum():6d}" if group.any() else f"{'-':>17s}"
            for group in groups
        ]
        print(
            f"{name:14s} {trust:7s} {wrong.mean():7.1%} "
            + " ".join(f"{cell:>18s}" for cell in cells),
            flush=True,
        )


if __name__ == "__main__":
    main()
