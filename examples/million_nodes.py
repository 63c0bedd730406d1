"""A million nodes, with every layer certified to be exact
=======================================================

This example shows how long each stage of a fit of a million rows takes, and how to check the
certificate of a layer. ``--quick`` uses 3000 rows. The example sets beta, so RMGL skips the
automatic choice (a consensus layer, view weights, and guidance), which takes about twice as long.
docs/performance.md shows how time and memory grow with the number of rows.
"""

import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from rmgl import RMGL
from rmgl.metrics import normalized_mutual_info_score
from rmgl.plots import COLORS

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only 3000 rows")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

n_rows = 3000 if args.quick else 1_000_000
random = np.random.default_rng(0)
target = random.integers(20, size=n_rows)
views = {}
for name, width in (("left", 16), ("right", 32)):
    centers = random.normal(scale=1.15 * np.sqrt(16 / width), size=(20, width))
    views[name] = centers[target] + random.normal(size=(n_rows, width))

print(f"{n_rows:,} rows in two views, 20 classes.", flush=True)
if not args.quick:
    print("This takes many minutes on two cores, and several GiB of memory.")
    print(
        (
            "Most of the time is spent in the search for neighbors, before the progress bar for "
            "the rounds appears."
        ),
        flush=True,
    )
began = perf_counter()
model = RMGL(
    n_clusters=20,
    beta=n_rows / 1000,
    n_neighbors=20,
    scale="none",
    n_jobs=-1,
    random_state=0,
    verbose=1,
).fit(views)
seconds = perf_counter() - began

nmi = normalized_mutual_info_score(target, model.labels_)
print(
    f"Fitted in {seconds:.1f} s ({seconds / 60:.1f} minutes); NMI with the true classes {nmi:.3f}."
)
for stage, spent in model.seconds_.items():
    print(f"  {stage:10s} {spent:8.2f} s")
print(
    f"{'layer':10s} {'edges':>10s} {'exact':>6s} {'candidates':>12s} {'KKT residual':>13s} "
    f"{'duality gap':>12s}"
)
for layer in model.layers_:
    told = (
        f"{layer.n_edges:10,d} {layer.exact!s:>6s} {layer.candidates:>12s} "
        f"{layer.kkt_residual:13.0e} {layer.gap:12.0e}"
    )
    print(f"{layer.name:10s} {told}")

proved = all(layer.exact for layer in model.layers_)
worst = max(layer.kkt_residual for layer in model.layers_)
stages = {
    "neighbors": "neighbors\n(search, parameters)",
    "layers": "layers\n(Newton's method)",
    "embedding": "embedding\n(eigenvectors)",
    "clustering": "clustering\n(k-means, report)",
}
figure, ax = plt.subplots(figsize=(8.5, 3.8), layout="constrained")
drawn = ax.barh(
    [stages[stage] for stage in model.seconds_], list(model.seconds_.values()), color=COLORS[0]
)
ax.bar_label(
    drawn,
    [f"{spent:,.2f} s" if args.quick else f"{spent:,.0f} s" for spent in model.seconds_.values()],
    padding=4,
)
ax.invert_yaxis()
ax.set(xlabel="seconds", xlim=(0, 1.15 * max(model.seconds_.values())))
pairs = n_rows * (n_rows - 1) // 2
proof = f"exact over all {pairs:,} pairs" if proved else "NOT certified"
took = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
ax.set_title(
    f"{n_rows:,} nodes in {took}: NMI {nmi:.3f}\n{len(model.layers_)} layers, {proof} (KKT "
    f"residual {worst:.0e})"
)
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output / "million_nodes.png", dpi=120)
print(f"Figure: {args.output / 'million_nodes.png'}")
