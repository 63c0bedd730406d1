"""Survival curves: do patients in one cluster live longer?
========================================================

This example clusters patients based on two tables of molecular data and compares their survival,
which is not used in the fit. ``associate`` computes the log-rank test and the median survival of
each cluster, and ``plot_survival`` draws the Kaplan-Meier curves with their 95% confidence bands.
Ticks on a curve mark patients who were still alive when they were last seen. The left panel shows
the clusters from both tables. The right panel shows the clusters from RNA alone, which merge two
subtypes and hide the difference in survival between them.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rmgl import RMGL
from rmgl.plots import plot_survival

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use 300 patients instead of 1200")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

random = np.random.default_rng(0)
n_patients = 300 if args.quick else 1200
subtype = random.choice(3, n_patients, p=(0.4, 0.35, 0.25))
patients = [f"patient {row}" for row in range(n_patients)]
views = {}
for name, width, seen in (("rna", 40, [0, 1, 1]), ("methylation", 30, [0, 0, 1])):
    centers = random.normal(size=(2, width))  # each table separates only two of the subtypes
    noise = random.normal(size=(n_patients, width))
    views[name] = pd.DataFrame(centers[np.array(seen)[subtype]] + noise, index=patients)
months = random.exponential(np.array([70, 30, 12])[subtype])
observed = random.uniform(12, 72, n_patients)  # the study ends, or a patient moves away
clinical = pd.DataFrame(
    {"months": np.minimum(months, observed), "died": months <= observed}, index=patients
)

answers = {
    "RNA and methylation": RMGL(n_clusters="auto", random_state=0).fit(views),
    "RNA alone": RMGL(n_clusters="auto", random_state=0).fit({"rna": views["rna"]}),
}
figure, axes = plt.subplots(1, 2, figsize=(12.5, 4.8), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, answers.items(), strict=True):
    found = model.associate(clinical, time="months", event="died", pairwise=True)
    print(f"{name}: {model.n_clusters_} clusters")
    print(found.survival)
    for pair in found.pairs:
        print(
            f"  cluster {pair.first} compared with {pair.second}: log-rank q = {pair.q_value:.1g}"
        )
    plot_survival(found, ax=ax)
    ax.set_title(f"{name}: {model.n_clusters_} clusters, log-rank p = {found.rows[0].p_value:.0e}")
figure.savefig(args.output / "survival_curves.png", dpi=120)
print(f"Figure: {args.output / 'survival_curves.png'}")
