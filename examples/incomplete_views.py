"""Incomplete views: up to half of the (digit, view) pairs are missing
===================================================================

Rows of NaN mark entities that are missing from a view. RMGL does not impute them. The figure
compares RMGL with a scikit-learn pipeline that imputes the missing rows and then applies spectral
clustering to the concatenated views.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.metrics import normalized_mutual_info_score
from rmgl.plots import COLORS

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument(
    "--quick", action="store_true", help="use every fourth digit and two shares of missing pairs"
)
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
rows = slice(None, None, 4 if args.quick else 1)
views, target = {name: X[rows] for name, X in data.views.items()}, data.target[rows]
shares = (0.0, 0.5) if args.quick else (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def hide(share):
    """Set a share of the rows of all views to NaN; every digit keeps at least one view."""
    random = np.random.default_rng(0)
    missing = random.random((target.size, len(views))) < share
    bare = np.flatnonzero(missing.all(axis=1))
    missing[bare, random.integers(len(views), size=bare.size)] = False
    return {name: np.where(missing[:, [m]], np.nan, X) for m, (name, X) in enumerate(views.items())}


def filled(imputer):
    """Return a function that clusters the concatenated views with a scikit-learn pipeline."""
    spectral = SpectralClustering(
        10, affinity="nearest_neighbors", n_neighbors=10, assign_labels="cluster_qr", random_state=0
    )
    pipeline = make_pipeline(MinMaxScaler(), imputer, spectral)
    return lambda some: pipeline.fit_predict(np.hstack(list(some.values())))


methods = {
    "RMGL, nothing imputed": RMGL(n_clusters=10, random_state=0).fit_predict,
    "KNN imputation,\n         then spectral clustering": filled(KNNImputer()),
    "mean imputation,\n         then spectral clustering": filled(SimpleImputer()),
}
scores = {name: [] for name in methods}
for share in shares:
    some = hide(share)
    for name, cluster in methods.items():
        scores[name].append(normalized_mutual_info_score(target, cluster(some)))
    print(
        f"{share:.0%} missing: "
        + "; ".join(
            f"{' '.join(name.split())}: NMI {found[-1]:.3f}" for name, found in scores.items()
        ),
        flush=True,
    )

figure, ax = plt.subplots(figsize=(9.5, 5), layout="constrained")
for (name, found), color, marker in zip(
    scores.items(), (COLORS[0], COLORS[2], COLORS[3]), "os^", strict=True
):
    ax.plot(100 * np.array(shares), found, color=color, marker=marker, linewidth=2)
    ax.text(51.5, found[-1], f"{found[-1]:.2f}  {name}", va="center", color=color)
before, *_, after = scores["RMGL, nothing imputed"]
ax.set(
    xlabel="(digit, view) pairs missing, %",
    ylabel="NMI with the true digits",
    ylim=(0, 1),
    xlim=(-1, 74),
    xticks=range(0, 51, 10),
)
ax.set_title(
    f"With half of the data missing, the NMI of RMGL falls from {before:.2f} to {after:.2f}"
)
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output / "incomplete_views.png", dpi=120)
print(f"Figure: {args.output / 'incomplete_views.png'}")
