"""A heat map: what distinguishes the clusters in every view
=========================================================

This example clusters 178 wines based on their chemistry in two views: minerals and acids, and
phenols and color. The heat map has one column for each wine, ordered by cluster, and one block of
features for each view. The bars at the top show columns that were not used in the fit: the known
cultivar and the alcohol content. Light colors mean large values, also in grayscale. A feature that
is light in only one cluster characterizes that cluster.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

from rmgl import RMGL
from rmgl.metrics import clustering_accuracy
from rmgl.plots import heatmap_data, plot_heatmap

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="no effect, because the data are small")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

wine = load_wine(as_frame=True)
order = np.random.default_rng(0).permutation(len(wine.data))  # the rows are sorted by cultivar
table = wine.data.iloc[order].reset_index(drop=True)
views = {
    "minerals and acids": table[["malic_acid", "ash", "alcalinity_of_ash", "magnesium", "proline"]],
    "phenols and color": table[
        [
            "total_phenols",
            "flavanoids",
            "nonflavanoid_phenols",
            "proanthocyanins",
            "color_intensity",
            "hue",
            "od280/od315_of_diluted_wines",
        ]
    ],
}
cultivar = np.array(["first", "second", "third"])[wine.target.to_numpy()[order]]

model = RMGL(n_clusters=3, random_state=0).fit(views)
accuracy = clustering_accuracy(cultivar, model.labels_)
print(f"Accuracy compared with the cultivars, which were not used in the fit: {accuracy:.2f}")
found = heatmap_data(model, n_features=6)
for view, feature, values in zip(found.views, found.features, found.values, strict=True):
    means = [values[found.clusters == cluster].mean() for cluster in range(model.n_clusters_)]
    said = ", ".join(f"{mean:+.1f}" for mean in means)
    print(f"{view:20s} {feature:30s} mean in each cluster, in standard deviations: {said}")

ax = plot_heatmap(model, {"cultivar": cultivar, "alcohol": table["alcohol"]}, n_features=6)
ax.figure.savefig(args.output / "heat_map.png", dpi=120)
print(f"Figure: {args.output / 'heat_map.png'}")
