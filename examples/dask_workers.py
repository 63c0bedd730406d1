"""Dask workers: a fit with a shared neighbor search
=================================================

The workers search for neighbors, and the result is the same as without workers. Two views of a
mixture are stored as ``.npy`` files. The example kills one of the two workers during the fit. With
workers on many machines, only the line that creates the client changes.
"""

import argparse
import os
import signal
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from rmgl import RMGL
from rmgl.plots import plot_embedding

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only 3000 rows")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)


def store_views(folder, n_rows):
    """Store two views of a Gaussian mixture of five classes, and return their files."""
    random = np.random.default_rng(0)
    target = random.integers(5, size=n_rows)
    views = {}
    for name, width in (("left", 6), ("right", 10)):
        centers = random.normal(scale=4 / np.sqrt(width), size=(5, width))
        views[name] = folder / f"{name}.npy"
        np.save(views[name], centers[target] + random.normal(scale=0.6, size=(n_rows, width)))
    return views


def main():
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as workers,
        Client(workers) as client,
    ):
        views = store_views(Path(folder), 3000 if args.quick else 30_000)
        lost = []

        def lose_a_worker(row):
            if not lost:
                lost.append(next(iter(client.run(os.getpid).values())))
                os.kill(lost[0], signal.SIGKILL)
                print(f"After step {row['step']!r}, worker process {lost[0]} was killed.")

        model = RMGL(n_clusters=5, random_state=0).fit(views, client=client, callback=lose_a_worker)
        alone = RMGL(n_clusters=5, random_state=0).fit(
            {name: np.load(path) for name, path in views.items()}
        )

    for layer, expected in zip(model.layers_, alone.layers_, strict=True):
        apart = abs(layer.adjacency - expected.adjacency).max()
        print(f"{layer.message}; largest difference from a fit on one machine {apart:.0e}")
    print(f"Same labels as on one machine: {(model.labels_ == alone.labels_).all()}")
    figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    plot_embedding(model.embedding_, model.labels_, ax=axes)
    axes.set_title("The common embedding, from pairs that two workers found")
    figure.savefig(args.output / "dask_workers.png", dpi=100)
    print(f"Figure: {args.output / 'dask_workers.png'}")


if __name__ == "__main__":  # worker processes import this file, too
    main()
