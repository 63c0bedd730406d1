"""Why this number of clusters? Coarser and finer clusterings as a tree
====================================================================

With ``n_clusters="auto"``, RMGL chooses the number of clusters. Data often support more than one
good clustering. ``plot_resolutions`` draws all stable resolutions as a tree. Every row of boxes is
one resolution, the width of a box is the size of its cluster, and bands lead to the clusters that
it splits into. The colors are those of the chosen clusters. The curves next to the tree show the
criteria and mark the chosen number. The printed output lists the digits in each cluster. If the
chosen resolution merges groups that you want to separate, use a finer one. If it splits a group,
use a coarser one. ``hierarchy_`` contains the labels of all resolutions.
"""

import argparse
from pathlib import Path

import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.plots import plot_resolutions, resolutions_data

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only every fourth row")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
rows = slice(None, None, 4 if args.quick else 1)
target = data.target[rows]
model = RMGL(n_clusters="auto", random_state=0).fit({n: X[rows] for n, X in data.views.items()})

found = resolutions_data(model)
print(f"K = {model.n_clusters_} was {model.number_.reason}.")
for level in found.levels:
    print(f"{level.n_clusters} clusters, stability {level.stability:.2f}:")
    for cluster in range(level.n_clusters if level.n_clusters <= 10 else 0):
        digits, counts = np.unique(target[level.labels == cluster], return_counts=True)
        common = [str(digit) for digit in digits[counts >= 0.1 * counts.sum()]]
        print(f"  cluster {cluster}: {counts.sum()} images, mostly {' and '.join(common)}")
largest = max(found.splits(), key=lambda row: row["members"])
print(
    f"The widest band connects cluster {largest['cluster']} of {largest['n_clusters']} and cluster "
    f"{largest['finer_cluster']} of {largest['n_finer']}: {largest['members']} images."
)

tree, curves = plot_resolutions(model)
tree.figure.savefig(args.output / "why_this_number.png", dpi=120)
print(f"Figure: {args.output / 'why_this_number.png'}")
