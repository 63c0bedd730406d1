"""Choosing K: digits that have clusters, and data that has none
=============================================================

This example shows how RMGL chooses the number of clusters (the K with the largest modularity times the square of stability), what the
other curves mean, and when not to trust the answer. Data without clusters also give some K, but with low confidence. Even where the
confidence is high, look at the other resolutions that are stable.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.plots import plot_number_of_clusters

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--quick", action="store_true", help="every fourth row only")
parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the picture")
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
rows = slice(None, None, 4 if args.quick else 1)
digits = {name: X[rows] for name, X in data.views.items()}
random = np.random.default_rng(0)
hidden = random.normal(size=(data.target[rows].size, 5))  # one round cloud, seen twice
cloud = {name: hidden @ random.normal(size=(5, 20)) + random.normal(size=(len(hidden), 20)) for name in ("left", "right")}

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
for ax, (name, views) in zip(axes, {"Digits, ten classes": digits, "One round cloud, no clusters": cloud}.items(), strict=True):
    model = RMGL(n_clusters="auto", random_state=0).fit(views)
    number = model.number_
    print(f"{name}: K = {model.n_clusters_}, confidence {number.confidence}.")
    print(f"  {number.reason}.")
    for row in number.table:
        print(f"  {row['sentence']} (stability {row['stability']:.2f}, modularity {row['modularity']:.2f}).")
    for warning in model.report_.warnings:
        print(f"  The report warns: {warning}.")
    rivals = [str(k) for k in number.rivals]
    shown = ", ".join(rivals if len(rivals) < 4 else [*rivals[:2], "...", rivals[-1]])
    plot_number_of_clusters(number, ax=ax)
    ax.set_title(f"{name}:\nK = {number.chosen}, confidence {number.confidence} (about as good: {shown})")
    ax.get_legend().remove()
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("evidence, each between 0 and 1")
figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, ncols=4, loc="outside lower center")
figure.savefig(args.output / "choosing_k.png", dpi=120)
print(f"Picture: {args.output / 'choosing_k.png'}")
