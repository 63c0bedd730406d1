"""
How it works, stage by stage
============================

This page follows one fit on 500 handwritten digits from the data to the report. Each stage names
the attribute that shows its result.
"""

# %%
# The data: six views of the same digits
# --------------------------------------
# The digits come with rmgl, in six descriptions: pixels, Fourier coefficients, profile
# correlations, Karhunen-Loève coefficients, Zernike moments and six morphological features. The
# true digits are used for nothing but comparison.

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
# Distances are meaningful only if columns can be compared. The scaling of each view is chosen by
# what its entries look like: signs, zeros and skewness.

for name, (how, reason) in zip(model.view_names_, model.scale_, strict=True):
    print(f"{name}: {how} ({reason})")

# %%
# Local scale: ``local_scaling_``
# -------------------------------
# Clusters may be dense or thin. Squared distances are divided by :math:`s_i s_j`, where :math:`s_i`
# is the distance of entity i to its 7th neighbor, so that both get edges alike.

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
# From each view RMGL learns the graph that solves the layer problem (:doc:`the_model`). The density
# parameter is solved for: a node gets 12 edges on average. Below, rows and columns are ordered by
# cluster. Dark blocks on the diagonal are edges inside clusters; whatever is dark elsewhere
# connects different clusters.

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
# The layer problem is convex, so its solution can be proved. The KKT residual says how far the
# optimality conditions are from holding, the gap by which share any other graph could be better,
# and ``exact`` whether this holds over all pairs of entities: the search for candidate pairs has
# not missed any (:doc:`/mathematics` has the proof).

for layer in model.layers_:
    if not layer.given:
        print(
            f"{layer.name:10s} exact {layer.exact}  KKT residual {layer.kkt_residual:.0e}  "
            f"gap {layer.gap:.0e}"
        )

# %%
# Consensus and neighbors: ``Layer.role``
# ---------------------------------------
# Two more layers come from all views side by side: the *consensus*, learned like the others, and
# the plain graph of the nearest *neighbors*, which holds the common graph together.

for layer in model.layers_:
    print(
        f"{layer.name:10s} {layer.role:10s} {2 * layer.n_edges / layer.n_nodes:5.1f} edges a "
        f"node, {layer.n_components} component(s)"
    )

# %%
# Weights: ``view_roughness_`` and ``view_weights_``
# --------------------------------------------------
# The *roughness* of a view says how badly its layer agrees with the embedding of all views: 0 if
# neighbors in the layer have the same place, 1 if they are unrelated. A view counts in proportion
# to roughness to the power -2. No labels are needed for it.

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
# The layers, times their weights, add up to one graph. The eigenvectors of the 10 smallest
# eigenvalues of its Laplacian are the columns of the embedding. Algorithm 1 then learns the layers
# again with the embedding in their costs, and the embedding from the layers, until the objective
# stops falling (``history_``).

for row in model.history_:
    print(f"{row['step']:10s} objective {row['objective']:.6f}")
figure, ax = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
plot_embedding(model, ax=ax)
ax.set_title("The common embedding: one group for each cluster")
plt.show()

# %%
# Clusters: ``labels_`` and ``fragments_``
# ----------------------------------------
# k-means on the rows of the embedding, scaled to length one, gives the clusters. Small groups that
# are connected to others would take a cluster for themselves; they are left out of the embedding
# and join the clusters of their neighbors.

print("sizes of the clusters", np.bincount(model.labels_))
print("entities in fragments", model.fragments_.size)
print(f"NMI with the true digits {normalized_mutual_info_score(target, model.labels_):.3f}")

# %%
# The number of clusters: ``number_``
# -----------------------------------
# With ``n_clusters="auto"`` the common graph is cut into K parts for every K. The score of K is
# modularity times the square of the silhouette. The shaded range holds all K that cannot be told
# from the best one. Stability is how well the parts are found again on four fifths of the entities.

found = RMGL(n_clusters="auto", random_state=0).fit(views)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_number_of_clusters(found, ax=ax)
ax.set_title(f"K = {found.n_clusters_}, of {found.number_.range[0]} to {found.number_.range[1]}")
plt.show()
for row in found.number_.table:
    print(row["sentence"])

# %%
# The evidence does not know what the clusters are called: with fewer digits than in the whole data,
# some that look alike are better kept together. :doc:`/guide/choosing_k` says what to do about it.

# %%
# Second answers and trust: ``report_``
# -------------------------------------
# How far can the answer be trusted? RMGL computes it again on four fifths of the entities, without
# each view, and from plain neighbors alone, and compares (1: the same clusters).

refits = model.report_.refits
print(f"{refits.resampled:.2f} on four fifths of the entities")
for name, agreement in refits.without.items():
    print(f"{agreement:.2f} without the layer of {name}")
print(f"{refits.neighbors_only:.2f} from plain neighbors alone")
print("trust", model.report_.trust)

# %%
# New rows: ``predict``
# ---------------------
# A new row becomes one more node of each layer; all others stay as they are. Its edge weights
# follow from the same optimality conditions, and it gets the cluster that most of its weight leads
# to. It need not have all views.

new = {name: X[1::40] for name, X in data.views.items()}
shares = model.predict_proba(new)
print(
    "clusters", shares.argmax(axis=1)[:10], "share of the weight", shares.max(axis=1)[:10].round(2)
)
print("from pixels alone", model.predict({"pix": new["pix"]})[:10])
