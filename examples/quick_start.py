"""Quick start: ten clusters of handwritten digits
===============================================

This example shows how to fit ``RMGL`` on several views of the same entities, how to read its
report, and how to draw its common embedding. The figure shows each cluster with the mean image of
its digits, and marks the digits that are in the cluster of another digit.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.metrics import normalized_mutual_info_score
from rmgl.plots import COLORS, embedding_data

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only every fourth digit")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
rows = slice(None, None, 4 if args.quick else 1)
# one matrix per view, with the same rows in each
views = {name: X[rows] for name, X in data.views.items()}
target = data.target[rows]  # for scoring only

model = RMGL(n_clusters=10, random_state=0)
labels = model.fit_predict(views)

print(model.report_)
# match clusters and digits as well as possible
_, digit = linear_sum_assignment(-contingency_matrix(labels, target))
wrong = digit[labels] != target
nmi = normalized_mutual_info_score(target, labels)
print(
    f"\nCompared with the true digits: NMI {nmi:.3f}; {1 - wrong.mean():.1%} are in the "
    "cluster of their digit."
)

points = embedding_data(model.embedding_)
figure, ax = plt.subplots(figsize=(8, 7), layout="constrained")
for c in range(10):
    own = points[labels == c]
    ax.scatter(*own.T, s=14, c=COLORS[c], alpha=0.7, linewidths=0)
    image = views["pix"][labels == c].mean(axis=0).reshape(16, 15)
    x, y = np.median(own, axis=0)
    frame = {"edgecolor": COLORS[c], "linewidth": 2.5}
    ax.add_artist(
        AnnotationBbox(
            OffsetImage(image, zoom=1.6, cmap="gray_r"), (x, y), pad=0.1, bboxprops=frame
        )
    )
ax.scatter(
    *points[wrong].T,
    s=45,
    marker="x",
    c="black",
    linewidths=1.4,
    label=f"in the cluster of another digit ({wrong.sum()})",
)
ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.08), frameon=False)
ax.set(
    xticks=[],
    yticks=[],
    title=(
        f"{len(target)} digits, no labels used: {1 - wrong.mean():.1%} are in the cluster of "
        "their digit"
    ),
)
ax.spines[:].set_visible(False)
figure.savefig(args.output / "quick_start.png", dpi=120)
print(f"Figure: {args.output / 'quick_start.png'}")
