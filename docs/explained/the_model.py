"""
The model in figures and formulas
=================================

Two small views of the same 90 entities show what RMGL computes and how its two parameters work.
"""

# %%
# Views, entities, layers
# -----------------------
# Each row of a view describes one *entity*. In this example, the entities belong to three groups.
# Groups 1 and 2 look alike in the first view, and groups 0 and 1 look alike in the second. Neither
# view is sufficient.

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
    """Write the names of the groups next to their points."""
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
# The first term prefers edges between similar entities. The second term spreads the weight over
# more edges; a larger :math:`\alpha` gives more edges. The constraint fixes the total weight. Most
# weights are exactly zero.

figure, axes = plt.subplots(1, 3, figsize=(11, 2.6), layout="constrained")
for ax, alpha in zip(axes, (0.1, 1, 10), strict=True):
    layer = learn_layer(views["left"], alpha=alpha, scale="none")
    draw_graph(
        ax,
        views["left"],
        layer.adjacency,
        f"alpha = {alpha:g}: {2 * layer.n_edges / 90:.0f} edges per node",
    )
figure.suptitle("A larger alpha gives more edges")
plt.show()

# %%
# You do not have to choose :math:`\alpha`. With ``alpha="auto"``, RMGL solves for the value at
# which a node has 12 edges on average.
#
# All layers and one embedding
# ----------------------------
# Let :math:`L_m` be the Laplacian of layer m (degrees on the diagonal, negative weights elsewhere)
# and :math:`S_m = X_m X_m'`. Then the first term above is :math:`\operatorname{tr}(L_m S_m)` and
# the second term is :math:`\alpha \|L_m\|_F^2`. RMGL learns one layer for each view and one common
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
# \|q_i - q_j\|^2`, it adds :math:`\beta_m \|q_i - q_j\|^2` to the cost of every pair. An edge
# between entities that are far apart in the embedding becomes expensive. The embedding in turn
# separates entities that few layers connect. RMGL solves for the layers and for :math:`Q` in turn,
# until the objective converges.

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
    "With coupling, each layer also separates the groups that only the other view separates"
)
plt.show()

# %%
# Components are clusters
# -----------------------
# :math:`\operatorname{tr}(Q'LQ)` is minimal if the columns of :math:`Q` are the eigenvectors of the
# K smallest eigenvalues. It is zero if and only if the graph has K components or more. With a large
# :math:`\beta`, every layer therefore splits into K components, which are the clusters. A Laplacian
# with K components has rank N - K; hence the "rank constraint" in the name of the method.

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
ax.set_title("From beta = 100 on, both layers split into the three groups")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``RMGL(components=True)`` increases beta until every layer has exactly K components. By default,
# beta is small, and RMGL clusters the rows of :math:`Q` with k-means, which works better for
# clusters that touch. With the defaults, RMGL chooses all of these parameters:

model = RMGL(3, random_state=0).fit(views)
print("groups   ", np.bincount(group))
print("clusters ", np.bincount(model.labels_))
