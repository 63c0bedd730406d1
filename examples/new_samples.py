"""New samples: labels for rows that the model has not seen
========================================================

This example shows how to use ``predict``, how to interpret the shares of edge weight in
``predict_proba`` as confidence, how to see with ``by_view=True`` where the views disagree, and how
to ``save`` and ``load`` a model. Labels are used for scoring only.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.plots import COLORS

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only every second digit")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
random = np.random.default_rng(0)
chosen = random.permutation(data.target.size)[:: 2 if args.quick else 1]
known, new = np.split(chosen, [int(0.8 * chosen.size)])
model = RMGL(n_clusters=10, random_state=0).fit({name: X[known] for name, X in data.views.items()})
# the digit of each cluster
_, digit = linear_sum_assignment(-contingency_matrix(model.labels_, data.target[known]))

full = {name: X[new] for name, X in data.views.items()}
# three of the six views are missing for every new digit
absent = random.permuted(np.tile(np.arange(6) < 3, (new.size, 1)), axis=1)
half = {name: np.where(absent[:, [m]], np.nan, X) for m, (name, X) in enumerate(full.items())}
shares = {
    "all six views": model.predict_proba(full),
    "three views, chosen at random": model.predict_proba(half),
}
right = {name: digit[share.argmax(axis=1)] == data.target[new] for name, share in shares.items()}

print(
    f"{known.size} digits fitted, {np.mean(digit[model.labels_] == data.target[known]):.1%} "
    "of them in the cluster of their digit."
)
edges = np.array([0.0, 0.6, 0.8, 0.95, 0.999, 1.001])
names = ("below 60%", "60 to 80%", "80 to 95%", "95 to 99.9%", "above 99.9%")
rates, counts = {}, {}
for name, share in shares.items():
    group = np.digitize(share.max(axis=1), edges) - 1
    counts[name] = np.bincount(group, minlength=5)
    rates[name] = np.bincount(group, weights=right[name], minlength=5) / np.maximum(counts[name], 1)
    told = ", ".join(
        f"{n} {rate:.0%} of {count}"
        for n, rate, count in zip(names, rates[name], counts[name], strict=True)
    )
    print(
        f"{new.size} new digits, {name}: {right[name].mean():.1%} correct. By share of the "
        f"largest cluster: {told}."
    )

with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "digits.rmgl")
    size = (Path(folder) / "digits.rmgl").stat().st_size
    same = np.array_equal(
        RMGL.load(Path(folder) / "digits.rmgl").predict_proba(full), shares["all six views"]
    )
print(
    f"Saved in {size / 1e6:.1f} MB and loaded again: the shares of all new digits are "
    f"{'identical' if same else 'DIFFERENT'}."
)

doubtful = int(shares["all six views"].max(axis=1).argmin())
votes = model.predict_proba({name: X[[doubtful]] for name, X in full.items()}, by_view=True)[0]
votes = votes / votes.sum(axis=1, keepdims=True)  # shares within each layer
figure, (ax, bars) = plt.subplots(
    1, 2, figsize=(12, 4.6), layout="constrained", width_ratios=(4, 3)
)
for at, (name, color) in enumerate(zip(shares, (COLORS[0], COLORS[1]), strict=True)):
    drawn = ax.bar(np.arange(5) + 0.4 * at - 0.2, 100 * rates[name], 0.38, color=color)
    ax.text(
        -0.4,
        128 - 9 * at,
        f"{name}: {right[name].mean():.1%} correct",
        color=color,
        fontweight="bold",
    )
    ax.bar_label(
        drawn,
        [f"{r:.0%}\nof {n}" for r, n in zip(rates[name], counts[name], strict=True)],
        fontsize=8,
        padding=2,
    )
ax.set(
    xticks=range(5),
    xticklabels=names,
    xlabel="share of the edge weight that goes to the largest cluster",
    ylabel="correct, %",
)
sure, correct = (
    np.concatenate([share.max(axis=1) for share in shares.values()]) >= 0.95,
    np.concatenate(list(right.values())),
)
title = (
    f"Confident labels are better: {correct[sure].mean():.1%} correct above 95%, "
    f"{correct[~sure].mean():.0%} below"
)
ax.set(yticks=range(0, 101, 20), ylim=(0, 135), title=title)
named = votes.sum(axis=0).argsort()[::-1][:2]  # the two clusters with the largest shares
parts = {
    **{f"cluster of {digit[c]}": votes[:, c] for c in named},
    "all others": 1 - votes[:, named].sum(axis=1),
}
for at, ((name, part), color) in enumerate(
    zip(parts.items(), (COLORS[0], COLORS[1], "0.7"), strict=True)
):
    bars.barh(
        [layer.name for layer in model.layers_],
        part,
        left=np.sum(list(parts.values())[:at], axis=0),
        color=color,
    )
    bars.text(0.4 * at, len(votes) - 0.3, name, color=color, fontweight="bold")
bars.set(
    xlim=(0, 1.45),
    ylim=(-0.6, len(votes) + 0.2),
    ylabel="layer",
    xticks=(0, 0.5, 1),
    xlabel="share of the edge weight in each layer",
)
bars.set_title(
    f"The least certain new digit, a {data.target[new][doubtful]}: its views disagree",
    fontsize=11,
    loc="left",
)
picture = bars.inset_axes((0.73, 0.3, 0.26, 0.42), xticks=[], yticks=[])
picture.imshow(full["pix"][doubtful].reshape(16, 15), cmap="gray_r")
figure.savefig(args.output / "new_samples.png", dpi=120)
print(f"Figure: {args.output / 'new_samples.png'}")
