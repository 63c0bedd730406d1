"""Silhouettes: which clusters are compact, and which entities are between two clusters
====================================================================================

The silhouette of an entity compares the distance to its own cluster with the distance to the
nearest other cluster, in the common embedding. It is near 1 if the entity is far from all other
clusters, 0 if it is between two clusters, and negative if another cluster is nearer. The figure
shows all entities, cluster by cluster. The data describe 569 breast tumors in three views: the
mean, the standard error and the largest value of each measurement of the cell nuclei. With all
three views, few tumors have small silhouettes, and these tumors are often in the wrong cluster.
Silhouettes are larger in the embedding than in the data, because the embedding separates the
clusters. Compare the silhouettes of RMGL with one another, but not with those of other methods.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from rmgl import RMGL
from rmgl.plots import plot_silhouettes, silhouettes_data

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only every second tumor")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_breast_cancer(as_frame=True)
rows = slice(None, None, 2 if args.quick else 1)
target = data.target.to_numpy()[rows]  # for scoring only
parts = {"mean": r"^mean ", "error": r" error$", "worst": r"^worst "}
views = {name: data.data.filter(regex=columns)[rows] for name, columns in parts.items()}
figure, axes = plt.subplots(1, 2, figsize=(12.5, 4.8), sharex=True, layout="constrained")
for ax, names in zip(axes, (("error",), tuple(views)), strict=True):
    model = RMGL(n_clusters=2, random_state=0).fit({name: views[name] for name in names})
    found = silhouettes_data(model)
    below = found.entities[found.silhouettes < 0.2]
    kinds = np.array([np.bincount(target[model.labels_ == k]).argmax() for k in range(2)])
    wrong = kinds[model.labels_] != target
    title = "error view alone" if len(names) == 1 else "all three views"
    print(f"{title}: mean silhouette {found.mean:.2f}, {below.size} of {target.size} below 0.2;")
    print(
        f"  {wrong[below].mean() if below.size else 0:.0%} of these are in the cluster of the "
        f"other diagnosis, compared with {np.delete(wrong, below).mean():.0%} of the others"
    )
    plot_silhouettes(model, ax=ax)
    ax.set_title(f"{title.capitalize()}: {ax.get_title().lower()}")
figure.savefig(args.output / "silhouettes.png", dpi=120)
print(f"Figure: {args.output / 'silhouettes.png'}")
