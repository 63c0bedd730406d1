"""Which view matters: six views of digits, and one of noise
=========================================================

This example shows how to read ``view_weights_`` (how much a view counts) and ``view_roughness_``
(how much its layer disagrees with the others). RMGL computes both without labels. The right panel
checks them with labels. It shows the scores of each view alone, and of all views except that one.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.metrics import normalized_mutual_info_score
from rmgl.plots import COLORS

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only every eighth digit")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
rows = slice(None, None, 8 if args.quick else 1)
target = data.target[rows]
views = {name: X[rows] for name, X in data.views.items()}
views["noise"] = np.random.default_rng(0).normal(size=(target.size, 50))


def score(some):
    return normalized_mutual_info_score(
        target, RMGL(n_clusters=10, random_state=0).fit_predict(some)
    )


model = RMGL(n_clusters=10, random_state=0).fit(views)
everything = normalized_mutual_info_score(target, model.labels_)
alone = {name: score({name: views[name]}) for name in views}
without = {name: score({other: X for other, X in views.items() if other != name}) for name in views}

weights = dict(zip(model.view_names_, model.view_weights_, strict=True))
roughness = dict(zip(model.view_names_, model.view_roughness_, strict=True))
order = sorted(views, key=weights.get)
print("view    weight  roughness  NMI alone  NMI without it")
for name in reversed(order):
    print(
        f"{name:6s} {weights[name]:7.3f} {roughness[name]:10.3f} {alone[name]:10.3f} "
        f"{without[name]:15.3f}"
    )
print(
    f"All seven views together: NMI {everything:.3f}. The noise view has a weight of "
    f"{weights['noise']:.1%}."
)
for warning in model.report_.warnings:
    print(f"The report warns: {warning}.")

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(12, 4.2), sharey=True, layout="constrained"
)
colors = ["0.6" if name == "noise" else COLORS[0] for name in order]
for ax, values, room in ((left, weights, 1.15), (middle, roughness, 1.15)):
    bars = ax.barh(order, [values[name] for name in order], color=colors)
    ax.bar_label(bars, fmt="%.3f", padding=3, fontsize=9)
    ax.set_xlim(0, room * max(values.values()))
right.axvline(everything, color="0.5", linestyle=":", zorder=0)
right.scatter([without[name] for name in order], order, s=55, color=COLORS[3], zorder=3)
right.scatter([alone[name] for name in order], order, s=55, color=COLORS[2], marker="s")
right.text(
    0.5,
    0.3,
    "this view\nalone",
    color=COLORS[2],
    transform=right.transAxes,
    ha="center",
    va="center",
)
right.text(
    0.78,
    0.14,
    "all but\nthis view",
    color=COLORS[3],
    transform=right.transAxes,
    ha="right",
    va="center",
)
right.text(
    everything,
    len(order) - 0.45,
    f"all: {everything:.3f}",
    ha="right",
    va="bottom",
    fontsize=9,
    color="0.35",
)
left.set(title="Weight: how much the view counts", xlabel="share of the total weight")
middle.set(
    title="Roughness: how much the view disagrees", xlabel="0: neighbors agree, 1: unrelated"
)
right.set(
    title="Check: noise alone finds nothing",
    xlabel="NMI with the true digits",
    xlim=(-0.03, 1.03),
)
for ax in (left, middle, right):
    ax.spines[["top", "right"]].set_visible(False)
figure.suptitle(
    f"RMGL recognizes the noise view without labels: its weight is {weights['noise']:.1%}"
)
figure.savefig(args.output / "which_view_matters.png", dpi=120)
print(f"Figure: {args.output / 'which_view_matters.png'}")
