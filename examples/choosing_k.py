"""Choosing K: digits that have clusters, and data that have none
==============================================================

This example shows how RMGL chooses the number of clusters based on modularity times the square of
the silhouette, which other numbers are about as good, and when not to trust the result. RMGL also
chooses a K for data without clusters, but with low confidence. Even if the confidence is high, look
at the other stable resolutions.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.plots import COLORS

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
digits = {name: X[rows] for name, X in data.views.items()}
random = np.random.default_rng(0)
hidden = random.normal(size=(data.target[rows].size, 5))  # one round cloud in two views
cloud = {
    name: hidden @ random.normal(size=(5, 20)) + random.normal(size=(len(hidden), 20))
    for name in ("left", "right")
}

figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), sharey=True, layout="constrained")
for ax, (name, views) in zip(
    axes,
    {"Digits, ten classes": digits, "One round cloud, no clusters": cloud}.items(),
    strict=True,
):
    model = RMGL(n_clusters="auto", random_state=0).fit(views)
    number = model.number_
    least, most = number.range
    print(f"{name}: K = {model.n_clusters_}, confidence {number.confidence}.")
    print(f"  {number.reason}.")
    for row in number.table:
        print(
            f"  {row['sentence']} (modularity {row['modularity']:.2f}, silhouette "
            f"{row['silhouette']:.2f}, stability {row['stability']:.2f})."
        )
    for warning in model.report_.warnings:
        print(f"  The report warns: {warning}.")
    ks = number.candidates[number.candidates <= max(30, number.chosen)]
    ax.axvspan(least - 0.5, most + 0.5, color="0.93", zorder=0)
    curves = {"modularity": number.modularity, "silhouette": number.silhouette}
    for (curve, values), color in zip(curves.items(), (COLORS[3], COLORS[2]), strict=True):
        ax.plot(ks, values[: ks.size], color=color, linewidth=1.5)
        ax.text(ks[-1] + 0.5, values[ks.size - 1], curve, color=color, va="center")
    decides = number.score[: ks.size]
    ax.plot(ks, decides, "o-", color=COLORS[0], linewidth=2.5, markersize=5)
    ax.text(
        ks[-1] + 0.5,
        decides[-1],
        "modularity x\nsilhouette²",
        color=COLORS[0],
        va="center",
        fontweight="bold",
    )
    best = decides[ks == number.chosen][0]
    place = {"xytext": (number.chosen + 3, best + 0.16), "arrowprops": {"arrowstyle": "->"}}
    ax.annotate(f"chosen: K = {number.chosen}", (number.chosen, best + 0.01), **place)
    ax.set(
        title=f"{name}: K = {number.chosen}, confidence {number.confidence}",
        xlabel="number of clusters K",
        xlim=(1, 37),
        ylim=(0, 1.08),
    )
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("evidence, between 0 and 1")
figure.savefig(args.output / "choosing_k.png", dpi=120)
print(f"Figure: {args.output / 'choosing_k.png'}")
