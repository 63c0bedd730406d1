"""Fit the digits and a mixture on two Dask workers, and print plans, layers and certificates."""

from __future__ import annotations

import argparse
import logging
from time import perf_counter
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from rmgl import RMGL
from rmgl.command_line.commands import layer_table
from rmgl.datasets import load_uci_digits
from rmgl.distributed.prepare import planned
from rmgl.metrics import normalized_mutual_info_score


def mixture(n_rows: int, n_classes: int = 20) -> tuple[dict[str, Any], Any]:
    """Return two views of a Gaussian mixture, and the classes."""
    random = np.random.default_rng(0)
    target = random.integers(n_classes, size=n_rows)
    views = {}
    for name, width in (("left", 16), ("right", 32)):
        centers = random.normal(scale=1.15 * np.sqrt(16 / width), size=(n_classes, width))
        views[name] = centers[target] + random.normal(size=(n_rows, width))
    return views, target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="number of rows in the mixture")
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    logging.getLogger("rmgl.distributed.workers").setLevel(logging.INFO)
    digits = load_uci_digits()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        Client(workers) as client,
    ):
        for name, (views, target) in {
            "digits": (digits.views, digits.target),
            "mixture": mixture(arguments.rows),
        }.items():
            model = RMGL(len(np.unique(target)), random_state=0)
            plan = planned(views, client, model.n_neighbors, model.candidates)
            print(f"\n{name}: {len(target):,} rows, {len(views)} views\n{plan}", flush=True)
            began = perf_counter()
            model.fit(views, client=client)
            print(layer_table(model))
            print(
                "exact over all pairs: "
                + ", ".join(f"{layer.name} {layer.exact}" for layer in model.layers_)
            )
            print(
                f"NMI {normalized_mutual_info_score(target, model.labels_):.3f}, "
                f"{perf_counter() - began:.1f} s"
            )


if __name__ == "__main__":  # worker processes import this file, too
    main()
