"""Two clusterings: which entities move between which clusters
===========================================================

What changes with another view, another number of clusters, or next year's data? ``plot_flows``
draws the clusters of a model on the left and another clustering on the right. A band between two
clusters is as wide as the number of entities that they share. The other clustering may be another
model, an earlier model that was saved, or known classes. Entities are matched by id, so the two
clusterings need not have the same rows. The data describe the chemistry of 178 wines in two views.
The left panel compares the clusters with the known cultivars. The right panel shows what changes
without the "phenols and color" view.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from rmgl import RMGL
from rmgl.plots import flows_data, plot_flows

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
table = wine.data.set_axis([f"wine {row}" for row in range(len(wine.data))])
phenols = [name for name in table if "phenol" in name or "flavan" in name or "cyan" in name]
views = {
    "minerals and acids": table[["malic_acid", "ash", "alcalinity_of_ash", "magnesium", "proline"]],
    "phenols and color": table[[*phenols, "color_intensity", "hue"]],
}
cultivar = wine.target.map({0: "first", 1: "second", 2: "third"}).set_axis(table.index)
model = RMGL(n_clusters=3, random_state=0).fit(views)
# without the second view, and without a tenth of the wines
fewer = RMGL(n_clusters=3, random_state=0).fit(
    {"minerals and acids": views["minerals and acids"].drop(table.index[::10])}
)

for name, other in (("the cultivars", cultivar), ("the model of minerals and acids", fewer)):
    found = flows_data(model, other)
    moved = found.counts.sum() - found.counts.max(axis=1).sum()
    print(
        f"Agreement with {name} {found.agreement:.2f}; {moved} of {found.counts.sum()} wines are "
        f"separated from most of their cluster; {found.n_only[0]} are only in the model."
    )
print(flows_data(model, cultivar).to_frame())

figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5.4), layout="constrained")
plot_flows(model, cultivar, names=("both views", "cultivar"), ax=left)
plot_flows(model, fewer, names=("both views", "minerals and acids"), ax=right)
figure.savefig(args.output / "two_answers.png", dpi=120)
print(f"Figure: {args.output / 'two_answers.png'}")
