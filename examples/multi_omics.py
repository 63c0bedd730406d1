"""Multi-omics: cells with RNA and protein, some with only one of the two
======================================================================

This example shows how to go from MuData to clusters and back (``rmgl.from_mudata``, ``fit``,
``rmgl.to_mudata``), and what the report says. RNA does not separate CD4 from CD8 T cells, and
protein does not separate monocytes from dendritic cells. RMGL therefore places cells with only one
of the two modalities after the fit, and cannot distinguish some of them. The example needs the
``plot`` and ``scverse`` extras.
"""

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.preprocessing import normalize, scale

import rmgl
from rmgl.metrics import normalized_mutual_info_score

try:
    import pandas as pd
    from anndata import AnnData
    from mudata import MuData, set_options
except ImportError as error:
    sys.exit(f"This example needs MuData ({error}): pip install mudata")

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only 600 cells")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

TYPES = np.array(["CD4 T", "CD8 T", "NK", "B", "monocyte", "dendritic"])
random = np.random.default_rng(0)
n_cells = 600 if args.quick else 3000
kind = random.choice(6, size=n_cells, p=(0.3, 0.2, 0.1, 0.15, 0.15, 0.1))
cells = pd.DataFrame({"type": TYPES[kind]}, index=[f"cell {i}" for i in range(n_cells)])
expression = random.gamma(0.3, size=300) * np.exp(random.normal(scale=0.8, size=(6, 300)))
expression[1] = expression[0]  # RNA does not separate the two kinds of T cells
# the number of counts differs from cell to cell
depth = random.lognormal(mean=-0.3, sigma=0.4, size=n_cells)
counts = random.poisson(depth[:, None] * expression[kind]).astype(float)
level = random.normal(size=(6, 20))
level[5] = level[4]  # protein does not separate the two kinds of myeloid cells
signal = 2.0 + level[kind] + random.normal(scale=0.8, size=(n_cells, 20))
rna, protein = AnnData(counts, obs=cells), AnnData(signal, obs=cells)
lost = random.permutation(n_cells)
no_protein, no_rna = np.split(lost[: int(0.3 * n_cells)], [int(0.2 * n_cells)])
set_options(pull_on_update=False)
mdata = MuData(
    {
        "rna": rna[np.setdiff1d(lost, no_rna)].copy(),
        "protein": protein[np.setdiff1d(lost, no_protein)].copy(),
    }
)
print(f"{mdata.n_obs} cells; {no_rna.size} have no RNA, and {no_protein.size} have no protein.")
# writes obs["rmgl"], obsm["X_rmgl"], obsp["rmgl_..."] and uns["rmgl"]
model = rmgl.scverse.cluster(mdata, n_clusters=6, random_state=0)
true, found = cells.loc[mdata.obs_names, "type"], mdata.obs["rmgl"]
scores = {"both": normalized_mutual_info_score(true, found)}
for name, own in mdata.mod.items():
    alone = rmgl.RMGL(n_clusters=6, random_state=0).fit_predict({name: own.X})
    scores[f"{name} alone"] = normalized_mutual_info_score(own.obs["type"], alone)
print(
    "NMI of RMGL (alone: on the cells of that view): "
    + ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
)
whole = cells.index[np.setdiff1d(lost, np.append(no_rna, no_protein))]
blocks = [
    X / np.sqrt(X.var(axis=0).sum())
    for X in (normalize(np.sqrt(rna[whole].X)), scale(protein[whole].X))
]
spectral = SpectralClustering(6, affinity="nearest_neighbors", random_state=0).fit_predict(
    np.hstack(blocks)
)
ours, theirs = (
    normalized_mutual_info_score(true[whole], labels) for labels in (found[whole], spectral)
)
print(
    f"On the {whole.size} cells with both: RMGL {ours:.3f}, spectral clustering of the "
    f"concatenated views {theirs:.3f}."
)
print(
    f"{model.placed_.size} cells were placed after the fit. Verdict on "
    f"the clusters: {model.report_.trust}"
)
print(
    "\n".join(f"The report warns: {warning}." for warning in model.report_.warnings)
    or "The report has no warnings."
)
table = pd.crosstab(found, true)[TYPES]
# clusters in the order of the types
table = table.iloc[table.to_numpy().argmax(axis=1).argsort(kind="stable")]
print(table.to_string())

figure, ax = plt.subplots(figsize=(8.5, 5), layout="constrained")
ax.imshow(table / table.sum(axis=0), cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
for (row, column), count in np.ndenumerate(table.to_numpy()):
    ax.text(column, row, count or "", ha="center", va="center")
ax.set(
    xticks=range(6), xticklabels=TYPES, yticks=range(6), yticklabels=table.index, xlabel="true type"
)
title = (
    f"Cells by cluster and type. NMI of cells with both views: {ours:.2f};\n"
    f"of all cells: {scores['both']:.2f}"
)
ax.set(title=title, ylabel="cluster")
figure.savefig(args.output / "multi_omics.png", dpi=120)
print(f"Figure: {args.output / 'multi_omics.png'}")
