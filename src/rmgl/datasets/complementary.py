"""The synthetic data of the paper: layers that each separate one class from the others."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.utils import Bunch, check_random_state

from rmgl.embedding.eigenvectors import smallest_eigenvectors


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

    In layer m, class m is disconnected from the other classes, which are joined by edges between
    classes; these are less frequent than edges within classes. View m holds, for every node, its
    entries in the eigenvectors of the `n_signals` smallest eigenvalues of the Laplacian of layer m,
    plus Gaussian noise.

    Parameters
    ----------
    class_sizes : sequence of int
        Number of nodes in each class.
    n_layers : int
        Number of layers. Layer m separates class m, so at most the number of classes.
    within, between : float
        Probability of an edge inside a class, and between two classes that are joined.
    n_signals : int
        Number of columns of each view.
    noise : float
        Variance of the noise; larger values make the classes harder to separate.
    unit_length : bool
        Whether eigenvectors have length one. The paper does not say how it scaled them; with length
        one and variance 0.01 the noise is as large as the signal, and even a classifier that knows
        the class means makes errors in most draws. By default columns have mean square one, so that
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
            f"class_sizes={list(class_sizes)} must hold at least three classes of at least "
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
    target: NDArray[np.intp],
    alone: int,
    within: float,
    between: float,
    random_state: np.random.RandomState,
) -> sparse.csr_array:
    """Draw a layer of two components: the class `alone`, and the other classes together."""
    same = target[:, None] == target
    joined = (target[:, None] != alone) & (target != alone) & ~same
    probability = np.where(same, within, np.where(joined, between, 0.0))
    for _ in range(1000):
        upper = np.triu(random_state.random_sample(probability.shape) < probability, 1)
        adjacency = sparse.csr_array((upper | upper.T).astype(np.float64))
        if csgraph.connected_components(adjacency, directed=False, return_labels=False) == 2:
            return adjacency
    raise ValueError(
        f"within={within} and between={between} do not give connected classes: raise them, "
        "or use larger classes"
    )
