"""
The model in pictures and formulas
==================================

Two small views of the same 90 entities show what RMGL computes, and what its two parameters do.
"""

# %%
# Views, entities, layers
# -----------------------
# Each row of a view describes one *entity*. Here the entities belong to three groups. In the first
# view the groups 1 and 2 look alike, in the second one the groups 0 and 1, so neither view is
# enough.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from rmgl import RMGL, learn_layer
from rmgl.plots import COLORS

rng = np.random.default_rng(0)
group = np.repeat([0, 1, 2], 30)
places = {"left": np.array([[0, 0], [3, 0], [3, 0]]), "right": np.array([[0, 0], [0, 0], [3, 0]])}
views = {
    name: centers[group] + rng.uniform(-0.85, 0.85, size=(90, 2))
    for name, centers in places.items()
}


def draw_graph(ax, points, adjacency, title):
    """Draw a graph on the points of a view; heavier edges are darker."""
    rows, columns = adjacency.nonzero()
    weights = np.asarray(adjacency[rows, columns]).ravel()
    lines = LineCollection(
        points[np.column_stack([rows, columns])],
        colors="black",
        linewidths=1,
        alpha=np.clip(weights / 0.3, 0.05, 0.8),
    )
    ax.add_collection(lines)
    for g in range(3):
        ax.scatter(*points[group == g].T, s=22, color=COLORS[g], zorder=3)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")


def name_groups(ax, points):
    """Write the groups beside their points."""
    together = {}
    for g in range(3):
        together.setdefault(tuple(np.round(np.median(points[group == g], axis=0))), []).append(g)
    for members in together.values():
        own = points[np.isin(group, members)]
        text = " and ".join(f"group {g}" for g in members)
        ax.text(own[:, 0].mean(), own[:, 1].max() + 0.25, text, ha="center", fontsize=10)
    ax.set(ylim=(-1.1, 1.6))


# %%
# One layer
# ---------
# A *layer* is a graph on the entities with edge weights :math:`w_{ij} \ge 0`, learned from one
# view. It is the solution of
#
# .. math::
#
#    \min_{w \ge 0} \; \sum_{i<j} w_{ij} \|x_i - x_j\|^2
#    + \alpha \Big( \sum_i d_i^2 + 2 \sum_{i<j} w_{ij}^2 \Big)
#
# subject to :math:`\sum_i d_i = N`, where :math:`d_i = \sum_j w_{ij}` are the degrees.
#
# The first term wants edges between entities that are near. The second one spreads the weight over
# more edges, the more so the larger :math:`\alpha` is. Because the total weight is fixed, no weight
# has to be chosen, and most of them are exactly zero.

figure, axes = plt.subplots(1, 3, figsize=(11, 2.6), layout="constrained")
for ax, alpha in zip(axes, (0.1, 1, 10), strict=True):
    layer = learn_layer(views["left"], alpha=alpha, scale="none")
    draw_graph(
        ax,
        views["left"],
        layer.adjacency,
        f"alpha = {alpha:g}: {2 * layer.n_edges / 90:.0f} edges a node",
    )
figure.suptitle("A larger alpha gives more edges")
plt.show()

# %%
# You need not choose :math:`\alpha`: with ``alpha="auto"``, RMGL solves for the one at which a node
# has 12 edges on average.
#
# All layers and one embedding
# ----------------------------
# With :math:`L_m` the Laplacian of layer m (degrees on the diagonal, minus the weights elsewhere)
# and :math:`S_m = X_m X_m'`, the first term above is :math:`\operatorname{tr}(L_m S_m)` and the
# second one is :math:`\alpha \|L_m\|_F^2`. RMGL learns one layer for each view, and one common
# *embedding* :math:`Q` with K columns:
#
# .. math::
#
#    \min_{L_1, \dots, L_M, \, Q} \; \sum_m \operatorname{tr}(L_m S_m)
#    + \alpha_m \|L_m\|_F^2 + \beta_m \operatorname{tr}(Q' L_m Q)
#
# subject to :math:`\operatorname{tr}(L_m) = N` and :math:`Q'Q = I_K`.
#
# The last term couples the layers. Since :math:`\operatorname{tr}(Q' L_m Q) = \sum_{i<j} w_{ij}
# \|q_i - q_j\|^2`, it adds :math:`\beta_m \|q_i - q_j\|^2` to the cost of every pair: an edge
# between entities that the embedding sets apart becomes expensive. The embedding in turn sets
# entities apart that few layers connect. RMGL solves for the layers and for :math:`Q` in turn,
# until nothing changes.

figure, axes = plt.subplots(2, 2, figsize=(9.5, 5.6), layout="constrained")
for row, (beta, told) in zip(axes, ((0.0, "each view alone"), (100.0, "coupled")), strict=True):
    model = RMGL(3, alpha=3, beta=beta, scale="none", random_state=0).fit(views) if beta else None
    for ax, (name, X) in zip(row, views.items(), strict=True):
        layer = (
            learn_layer(X, alpha=3, scale="none")
            if model is None
            else model.layers_[list(views).index(name)]
        )
        between = layer.adjacency[group[:, None] != group].sum() / layer.adjacency.sum()
        draw_graph(
            ax,
            X,
            layer.adjacency,
            f"{name} view, {told}:\n{between:.0%} of the edge weight is between groups",
        )
        name_groups(ax, X)
figure.suptitle(
    "Coupled by the embedding, each layer also keeps apart what only the other view separates"
)
plt.show()

# %%
# Components are clusters
# -----------------------
# :math:`\operatorname{tr}(Q'LQ)` is smallest where the columns of :math:`Q` are the eigenvectors of
# the K smallest eigenvalues, and it is zero if and only if the graph has K components or more. With
# a large :math:`\beta`, every layer therefore falls into K components, which are the clusters. This
# is the "rank constraint" in the name of the method: a Laplacian with K components has rank N - K.

betas = np.array([1, 3, 10, 30, 100, 300])
counts = {name: [] for name in views}
for beta in betas:
    model = RMGL(3, alpha=3, beta=beta, scale="none", random_state=0, max_iter=100).fit(views)
    for layer in model.layers_:
        counts[layer.name].append(layer.n_components)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for (name, found), color, shift in zip(counts.items(), COLORS, (-0.04, 0.04), strict=False):
    ax.plot(betas, np.array(found) + shift, "o-", color=color)
    ax.text(betas[-1] * 1.2, found[-1] + 3 * shift, f"{name} layer", color=color, va="center")
ax.axhline(3, color="0.6", linestyle=":", zorder=0)
ax.set(
    xscale="log",
    xlabel="beta",
    ylabel="components",
    yticks=range(1, max(map(max, counts.values())) + 1),
    xlim=(0.8, 1500),
    ylim=(0.8, 3.4),
)
ax.set_title("From beta = 100 on, both layers fall into the three groups")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``RMGL(components=True)`` raises beta until every layer has exactly K components. By default beta
# is small, and k-means on the rows of :math:`Q` gives the clusters, which is better where clusters
# touch. Nothing of this has to be chosen by hand:

model = RMGL(3, random_state=0).fit(views)
print("groups   ", np.bincount(group))
print("clusters ", np.bincount(model.labels_))
