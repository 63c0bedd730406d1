"""Synthetic layers (from the paper), and views that each separate only some of the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.utils import Bunch, check_random_state

from rmgl.embedding.eigenvectors import smallest_eigenvectors
from rmgl.matrix import Floats, Indices

COUNT_COLUMNS = 150
"""Number of columns in a count view."""
RATE_SHAPE = 0.3
RATE_SPREAD = 0.8
"""Parameters of the mean counts: the shape of a gamma distribution, and the standard deviation of
each group's log factor.
"""
DEPTH_SPREAD = 0.4
"""Standard deviation of the log row totals in a count view."""
TRIALS = 1000


def make_complementary_layers(
    *,
    class_sizes: Sequence[int] = (25, 25, 25, 25),
    n_layers: int = 3,
    within: float = 0.6,
    between: float = 0.2,
    n_signals: int = 15,
    noise: float = 0.01,
    unit_length: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate views of a graph with complementary layers (RMGL paper, Section V).

    In layer m, class m is disconnected from the other classes. The other classes are joined to one
    another, but edges between classes are less frequent than edges within them. The columns of view
    m are the eigenvectors for the `n_signals` smallest eigenvalues of layer m's Laplacian, plus
    Gaussian noise.

    Parameters
    ----------
    class_sizes : sequence of int
        Number of nodes in each class.
    n_layers : int
        Number of layers, at most the number of classes. Layer m separates class m.
    within, between : float
        Probability of an edge inside a class, and of an edge between two classes that are joined.
    n_signals : int
        Number of columns in each view.
    noise : float
        Variance of the noise. Larger values make the classes harder to separate.
    unit_length : bool
        Whether eigenvectors have length one. The paper does not state their scale. With length one
        and variance 0.01, the noise is as large as the signal, and even a classifier that knows the
        class means makes errors in most draws. By default, columns have a mean square of one, so
        `noise` is the ratio of noise to signal.
    random_state : int, RandomState or None

    Returns
    -------
    sklearn.utils.Bunch
        `views`: dict of name -> (N, n_signals); `target`: the class of each node; `layers`: dict of
        name -> true adjacency (CSR).

    Examples
    --------
    >>> from rmgl.datasets import make_complementary_layers
    >>> data = make_complementary_layers(random_state=0)
    >>> {name: X.shape for name, X in data.views.items()}
    {'layer_0': (100, 15), 'layer_1': (100, 15), 'layer_2': (100, 15)}
    """
    n_classes = len(class_sizes)
    if not 1 <= n_layers <= n_classes:
        raise ValueError(
            f"n_layers={n_layers} must be from 1 to the number of classes, {n_classes}"
        )
    if n_classes < 3 or not all(isinstance(size, Integral) and size >= 2 for size in class_sizes):
        raise ValueError(
            f"class_sizes={list(class_sizes)} must contain at least three classes of at least "
            "two nodes"
        )
    if not 0 <= between < within <= 1:
        raise ValueError(
            "edge probabilities must satisfy 0 <= between < within <= 1, not "
            f"between={between}, within={within}"
        )
    if not (
        np.isfinite(noise)
        and noise >= 0
        and isinstance(n_signals, Integral)
        and 1 <= n_signals <= sum(class_sizes)
    ):
        raise ValueError(
            f"noise={noise} must be a number >= 0 and n_signals={n_signals} from 1 to the "
            f"number of nodes, {sum(class_sizes)}"
        )
    random_state = check_random_state(random_state)
    target = np.repeat(np.arange(n_classes), class_sizes)
    layers, views = {}, {}
    for m in range(n_layers):
        adjacency = _draw_layer(target, m, within, between, random_state)
        signals = smallest_eigenvectors(adjacency, n_signals).vectors * (
            1.0 if unit_length else np.sqrt(target.size)
        )
        layers[f"layer_{m}"] = adjacency
        views[f"layer_{m}"] = signals + np.sqrt(noise) * random_state.standard_normal(signals.shape)
    return Bunch(views=views, target=target, layers=layers)


def _draw_layer(
    target: Indices, alone: int, within: float, between: float, random_state: np.random.RandomState
) -> sparse.csr_array:
    """Draw a layer with two components: the class `alone`, and the other classes together."""
    same = target[:, None] == target
    joined = (target[:, None] != alone) & (target != alone) & ~same
    probability = np.where(same, within, np.where(joined, between, 0.0))
    for _ in range(1000):
        upper = np.triu(random_state.random_sample(probability.shape) < probability, 1)
        adjacency = sparse.csr_array((upper | upper.T).astype(np.float64))
        if csgraph.connected_components(adjacency, directed=False, return_labels=False) == 2:
            return adjacency
    raise ValueError(
        f"within={within} and between={between} do not produce connected classes: increase them, "
        "or use larger classes"
    )


def make_complementary_views(
    layout: str | Sequence[Sequence[int]] = "grid",
    *,
    n_clusters: int = 9,
    n_views: int = 2,
    n_rows: int = 450,
    n_columns: int = 4,
    separation: float = 4.0,
    n_counts: int = 0,
    n_noise: int = 0,
    misleading: float = 0.0,
    unequal: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate views that each separate only some of the clusters but together separate all of
    them.

    Each view assigns the clusters to groups and does not distinguish the clusters in a group. A row
    is the center of its group plus standard Gaussian noise. Centers have random directions and
    length `separation`.

    Parameters
    ----------
    layout : {"grid", "pairs", "random"}, or a table of shape (n_views, n_clusters)
        The groups of clusters in each view. "grid": clusters are the cells of a grid, and view m
        shows the m-th coordinate (`n_clusters` must equal m ** `n_views` for an integer m).
        "pairs": view m merges two clusters and separates all others. "random": every view merges
        the clusters into half as many groups. A table contains the group of each cluster in each
        view.
    n_clusters, n_views : int
        Number of clusters, and number of views that separate some of them. Both are ignored if
        `layout` is a table.
    n_rows : int
        Number of entities.
    n_columns : int
        Number of columns in each view.
    separation : float
        Length of the centers, in standard deviations of the noise.
    n_counts : int
        Number of views that contain counts instead of measurements, starting with the first view.
        They are Poisson counts in 150 columns, with rates that depend on the group and totals that
        depend on the row.
    n_noise : int
        Number of additional views of pure noise.
    misleading : float
        If positive, a view is added with `n_clusters` groups to which entities are assigned at
        random. The value is the length of the group centers.
    unequal : bool
        Whether cluster sizes decrease from 3 to 1 (relative sizes) instead of being equal.
    random_state : int, RandomState or None

    Returns
    -------
    sklearn.utils.Bunch
        `views`: dict of name -> (n_rows, columns); `target`: the cluster of each row; `groups`: the
        group of each cluster in each view.

    Examples
    --------
    >>> from rmgl.datasets import make_complementary_views
    >>> data = make_complementary_views("grid", n_clusters=9, n_views=2, random_state=0)
    >>> {name: X.shape for name, X in data.views.items()}
    {'view_0': (450, 4), 'view_1': (450, 4)}
    >>> data.groups.tolist()
    [[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2]]
    """
    random = check_random_state(random_state)
    groups = _groups(layout, n_clusters, n_views, random)
    n_views, n_clusters = groups.shape
    whole = {
        "n_rows": (n_rows, n_clusters),
        "n_columns": (n_columns, 1),
        "n_counts": (n_counts, 0),
        "n_noise": (n_noise, 0),
    }
    for name, (value, least) in whole.items():
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name}={value!r} must be an integer of at least {least}")
    if n_counts > n_views:
        raise ValueError(f"n_counts={n_counts} must be at most the number of views, {n_views}")
    for name, length in (("separation", separation), ("misleading", misleading)):
        if not isinstance(length, Real) or not 0 <= float(length) < np.inf:
            raise ValueError(f"{name}={length!r} must be a number >= 0")
    sizes = np.linspace(3, 1, n_clusters) if unequal else np.ones(n_clusters)
    ends = np.round(np.cumsum(sizes) / sizes.sum() * n_rows).astype(np.intp)
    target = np.searchsorted(ends, np.arange(n_rows), side="right")
    views = {
        f"view_{m}": _counts(group[target], random)
        if m < n_counts
        else _measurements(group[target], n_columns, separation, random)
        for m, group in enumerate(groups)
    }
    views |= {f"noise_{m}": random.standard_normal((n_rows, n_columns)) for m in range(n_noise)}
    if misleading > 0:
        views["misleading"] = _measurements(
            random.permutation(target), n_columns, misleading, random
        )
    return Bunch(views=views, target=target, groups=groups)


def _groups(layout: Any, n_clusters: Any, n_views: Any, random: np.random.RandomState) -> Indices:
    """Return the group of every cluster in every view. Every pair of clusters is separated in at
    least one view.
    """
    if not isinstance(layout, str):
        table = np.asarray(layout)
        if table.ndim != 2 or table.dtype.kind not in "iu" or table.size == 0 or table.min() < 0:
            raise ValueError(
                "layout must be 'grid', 'pairs', 'random' or a table of integers >= 0 with one "
                "row for each view"
            )
        groups = table.astype(np.intp)
    else:
        for name, value in (("n_clusters", n_clusters), ("n_views", n_views)):
            if not isinstance(value, Integral) or value < 2:
                raise ValueError(f"{name}={value!r} must be an integer of at least 2")
        if layout not in LAYOUTS:
            raise ValueError(
                f"layout={layout!r} is unknown: use one of "
                f"{', '.join(map(repr, LAYOUTS))}, or a table"
            )
        groups = LAYOUTS[layout](int(n_clusters), int(n_views), random)
    if np.unique(groups, axis=1).shape[1] < groups.shape[1]:
        raise ValueError(
            f"layout={layout!r}: two clusters share a group in every view, so no method can "
            "separate them; change the table, n_clusters or n_views"
        )
    return groups


def _grid(n_clusters: int, n_views: int, random: np.random.RandomState) -> Indices:
    side = round(n_clusters ** (1 / n_views))
    if side**n_views != n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters} must equal m ** n_views for an integer m "
            f"(n_views={n_views}), such as {side**n_views}"
        )
    return np.array(np.unravel_index(np.arange(n_clusters), (side,) * n_views))


def _pairs(n_clusters: int, n_views: int, random: np.random.RandomState) -> Indices:
    groups = np.tile(np.arange(n_clusters), (n_views, 1))
    order = random.permutation(n_clusters)
    for view in range(n_views):
        first, second = order[(2 * view) % n_clusters], order[(2 * view + 1) % n_clusters]
        groups[view, second] = first
    return groups


def _random_groups(n_clusters: int, n_views: int, random: np.random.RandomState) -> Indices:
    half = max(2, n_clusters // 2)
    for _ in range(TRIALS):
        groups = np.array(
            [random.permutation(np.arange(n_clusters) % half) for _ in range(n_views)]
        )
        if np.unique(groups, axis=1).shape[1] == n_clusters:
            break
    return groups


LAYOUTS = {"grid": _grid, "pairs": _pairs, "random": _random_groups}


def _measurements(
    group: Indices, n_columns: int, separation: float, random: np.random.RandomState
) -> Floats:
    centers = random.standard_normal((group.max() + 1, n_columns))
    centers *= separation / np.linalg.norm(centers, axis=1, keepdims=True)
    return centers[group] + random.standard_normal((group.size, n_columns))


def _counts(group: Indices, random: np.random.RandomState) -> Floats:
    rates = random.gamma(RATE_SHAPE, size=COUNT_COLUMNS) * np.exp(
        RATE_SPREAD * random.standard_normal((group.max() + 1, COUNT_COLUMNS))
    )
    depth = np.exp(DEPTH_SPREAD * random.standard_normal(group.size))
    return np.asarray(random.poisson(depth[:, None] * rates[group]), dtype=np.float64)
