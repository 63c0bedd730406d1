"""
How it works, stage by stage
============================

This page follows one fit on 500 handwritten digits from the data to the report. Each section names
the attribute that contains its result.
"""

# %%
# The data: six views of the same digits
# --------------------------------------
# rmgl includes 2000 handwritten digits in six views: pixels, Fourier coefficients, profile
# correlations, Karhunen-Loève coefficients, Zernike moments and six morphological features. We use
# every fourth digit. The true digits serve only for comparison.

import matplotlib.pyplot as plt
import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.metrics import normalized_mutual_info_score
from rmgl.plots import COLORS, plot_embedding, plot_layer, plot_number_of_clusters

data = load_uci_digits()
views, target = {name: X[::4] for name, X in data.views.items()}, data.target[::4]
model = RMGL(n_clusters=10, random_state=0).fit(views)

# %%
# Scaling: ``scale_``
# -------------------
# Distances are meaningful only if the columns are comparable. RMGL chooses the scaling of each view
# based on its entries: signs, zeros and skewness.

for name, (how, reason) in zip(model.view_names_, model.scale_, strict=True):
    print(f"{name}: {how} ({reason})")

# %%
# Local scale: ``local_scaling_``
# -------------------------------
# Some clusters are dense, others are sparse. RMGL divides squared distances by :math:`s_i s_j`,
# where :math:`s_i` is the distance from entity i to its 7th neighbor. Entities in dense and sparse
# clusters then get similar numbers of edges.

scales = model.local_scaling_[list(views).index("pix")].scales
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
means = np.array([scales[target == digit].mean() for digit in range(10)])
order = np.argsort(means)
ax.bar(range(10), means[order], color=COLORS[0])
ax.set(
    xticks=range(10),
    xticklabels=[f"digit {digit}" for digit in order],
    ylabel="mean distance to\nthe 7th neighbor",
)
ax.set_title(
    f"Pixels: a {order[-1]} is {means.max() / means.min():.1f} times as far from its "
    f"neighbors as a {order[0]}"
)
ax.tick_params(axis="x", rotation=45)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One layer per view: ``layers_``
# -------------------------------
# From each view, RMGL learns the graph that solves the layer problem (:doc:`the_model`). It solves
# for the parameter :math:`\alpha` at which a node has 12 edges on average. The figures show the
# adjacency matrices, ordered by cluster. Dark blocks on the diagonal are edges inside clusters.
# Dark areas elsewhere connect different clusters.

figure, axes = plt.subplots(2, 3, figsize=(9, 6.2), layout="constrained")
for ax, layer in zip(axes.flat, model.layers_, strict=False):
    plot_layer(layer, model.labels_, ax=ax)
    inside = layer.adjacency[model.labels_[:, None] == model.labels_].sum() / layer.adjacency.sum()
    ax.set_title(f"{layer.name}: {inside:.0%} of the weight inside clusters", fontsize=10)
figure.suptitle("Pixels separate the clusters best, morphological features least")
plt.show()

# %%
# The certificate: ``Layer.kkt_residual``, ``gap``, ``exact``
# -----------------------------------------------------------
# The layer problem is convex, so we can prove that a solution is optimal. The KKT residual measures
# the violation of the optimality conditions. The gap bounds the relative improvement that any other
# graph could achieve. If ``exact`` is True, both hold over all pairs of entities: the search did
# not miss any pair that could carry an edge (:doc:`/mathematics` has the proof).

for layer in model.layers_:
    if not layer.given:
        print(
            f"{layer.name:10s} exact {layer.exact}  KKT residual {layer.kkt_residual:.0e}  "
            f"gap {layer.gap:.0e}"
        )

# %%
# Consensus and neighbors: ``Layer.role``
# ---------------------------------------
# RMGL computes two more layers from all views together. It learns the *consensus* in the same way
# as the other layers. The graph of nearest *neighbors* keeps the common graph connected.

for layer in model.layers_:
    print(
        f"{layer.name:10s} {layer.role:10s} {2 * layer.n_edges / layer.n_nodes:5.1f} edges per "
        f"node, {layer.n_components} component(s)"
    )

# %%
# Weights: ``view_roughness_`` and ``view_weights_``
# --------------------------------------------------
# The *roughness* of a view measures how well its layer agrees with the embedding of all views. It
# is 0 if neighbors in the layer have the same position in the embedding, and 1 if they are
# unrelated. The weight of a view is proportional to roughness to the power -2. RMGL needs no labels
# for this.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.scatter(model.view_roughness_, 100 * model.view_weights_, s=60, color=COLORS[0], zorder=3)
for name, roughness, weight in zip(
    model.view_names_, model.view_roughness_, model.view_weights_, strict=True
):
    ax.annotate(name, (roughness, 100 * weight), xytext=(7, 5), textcoords="offset points")
best = model.view_names_[int(np.argmax(model.view_weights_))]
ax.set(
    xlabel="roughness (0: neighbors agree, 1: unrelated)",
    ylabel="weight, %",
    xlim=(0, None),
    ylim=(0, None),
)
ax.set_title(f"{best} agrees best with all views together, so it counts most")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The common embedding: ``embedding_`` and ``eigenvalues_``
# ---------------------------------------------------------
# The weighted layers add up to one graph. The columns of the embedding are the eigenvectors of the
# 10 smallest eigenvalues of its Laplacian. Algorithm 1 then alternates. It learns the layers again,
# with the embedding in their costs, and then the embedding from the layers, until the objective
# stops decreasing (``history_``).

for row in model.history_:
    print(f"{row['step']:10s} objective {row['objective']:.6f}")
figure, ax = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
plot_embedding(model, ax=ax)
ax.set_title("The common embedding: one group for each cluster")
plt.show()

# %%
# Clusters: ``labels_`` and ``fragments_``
# ----------------------------------------
# RMGL scales the rows of the embedding to length one and clusters them with k-means. A small,
# weakly connected group could form a cluster of its own. RMGL leaves such *fragments* out of the
# embedding and assigns them to the clusters of their neighbors.

print("cluster sizes", np.bincount(model.labels_))
print("entities in fragments", model.fragments_.size)
print(f"NMI with the true digits {normalized_mutual_info_score(target, model.labels_):.3f}")

# %%
# The number of clusters: ``number_``
# -----------------------------------
# With ``n_clusters="auto"``, RMGL cuts the common graph into K parts for every K. The score of K is
# modularity times the square of the silhouette. The shaded range contains all K that are about as
# good as the best one. Stability measures how well RMGL recovers the parts from four fifths of the
# entities.

found = RMGL(n_clusters="auto", random_state=0).fit(views)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_number_of_clusters(found, ax=ax)
ax.set_title(f"K = {found.n_clusters_}, range {found.number_.range[0]} to {found.number_.range[1]}")
plt.show()
for row in found.number_.table:
    print(row["sentence"])

# %%
# This sample has fewer digits than the whole data set, so the criterion merges digits that look
# alike. :doc:`/guide/choosing_k` explains what you can do.

# %%
# Quick refits and verdict: ``report_``
# -------------------------------------
# RMGL clusters the data again without a fifth of the entities, without each view, and from the
# nearest neighbors alone. It compares these clusters with the result (1: identical clusters).

refits = model.report_.refits
print(f"{refits.resampled:.2f} with a fifth of the entities left out")
for name, agreement in refits.without.items():
    print(f"{agreement:.2f} without the {name} layer")
print(f"{refits.neighbors_only:.2f} from the nearest neighbors alone")
print("verdict", model.report_.trust)

# %%
# New rows: ``predict``
# ---------------------
# A new row becomes one more node of each layer, and the other nodes stay fixed. Its edge weights
# follow from the same optimality conditions. It joins the cluster that has most of its edge weight.
# New rows may be missing from some of the views.

new = {name: X[1::40] for name, X in data.views.items()}
shares = model.predict_proba(new)
print(
    "clusters", shares.argmax(axis=1)[:10], "share of the weight", shares.max(axis=1)[:10].round(2)
)
print("from pixels alone", model.predict({"pix": new["pix"]})[:10])
