"""Silhouettes: which clusters are compact, and who is between two
===============================================================

The silhouette of an entity compares its distance to its own cluster with that to the nearest other
one, in the common embedding: near 1 far from all others, 0 between two, negative nearer to another
cluster. The picture shows all entities, cluster by cluster. Six views of digits are compared with
one of them alone: the same clusters get longer silhouettes from more views. Silhouettes are larger
in the embedding than in the data, because the embedding was made to separate the clusters; compare
them with one another, and not with those of other methods.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.plots import plot_silhouettes, silhouettes_data

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="every fourth row only")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the picture"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
rows = slice(None, None, 4 if args.quick else 1)
target = data.target[rows]
figure, axes = plt.subplots(1, 2, figsize=(12.5, 4.8), sharex=True, layout="constrained")
for ax, names in zip(axes, (("fou",), tuple(data.views)), strict=True):
    model = RMGL(n_clusters=10, random_state=0).fit({n: data.views[n][rows] for n in names})
    found = silhouettes_data(model)
    below = found.entities[found.silhouettes < 0.2]
    names_of = np.array([np.bincount(target[model.labels_ == k]).argmax() for k in range(10)])
    wrong = names_of[model.labels_] != target
    title = "view fou alone" if len(names) == 1 else "all six views"
    print(f"{title}: mean silhouette {found.mean:.2f}, {below.size} of {target.size} below 0.2;")
    print(
        f"  {wrong[below].mean() if below.size else 0:.0%} of these are in a cluster of another "
        f"digit, and {np.delete(wrong, below).mean():.0%} of the rest"
    )
    plot_silhouettes(model, ax=ax)
    ax.set_title(f"{title.capitalize()}: {ax.get_title().lower()}")
figure.savefig(args.output / "silhouettes.png", dpi=120)
print(f"Picture: {args.output / 'silhouettes.png'}")
