"""Print how large the page for a model is, and how long it takes to write: `python
scripts/page_sizes.py 2000 100000 1000000`.

Fitting a million rows takes half an hour, so a model fitted on 2000 rows of a Gaussian mixture in
three views is enlarged: its rows are repeated with noise, its layers with their edges moved to
random copies, and all entities are shuffled.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse

from rmgl import RMGL
from rmgl.layer import Layer
from rmgl.views.features import FeatureView
from rmgl.views.views import Views

N_ROWS = 2000
N_COLUMNS = 50


def small_model(rng: np.random.Generator) -> RMGL:
    """Return a model of ten clusters in three views."""
    centers = np.repeat(np.arange(10), N_ROWS // 10)
    views = {
        f"view {m}": rng.normal(size=(10, N_COLUMNS))[centers]
        + 0.8 * rng.normal(size=(N_ROWS, N_COLUMNS))
        for m in range(3)
    }
    return RMGL(10, random_state=0).fit(views)


def enlarged_layer(
    layer: Layer, n_copies: int, order: np.ndarray, rng: np.random.Generator
) -> Layer:
    """Return a layer of all copies, in which every edge leads to a random copy of the neighbor."""
    edges = sparse.triu(layer.adjacency).tocoo()
    starts = np.concatenate([edges.row + copy * N_ROWS for copy in range(n_copies)])
    ends = np.tile(edges.col, n_copies) + N_ROWS * rng.integers(0, n_copies, starts.size)
    weights = np.tile(edges.data, n_copies)
    half = sparse.csr_array((weights, (order[starts], order[ends])), shape=(order.size, order.size))
    return replace(
        layer,
        adjacency=sparse.csr_array(half + half.T),
        potentials=np.zeros(order.size),
        nodes=None,
        scaling=None,
    )


def enlarge(model: RMGL, n_rows: int, rng: np.random.Generator) -> RMGL:
    """Repeat the entities of a model, with noise, until there are `n_rows`."""
    n_copies, order = n_rows // N_ROWS, rng.permutation(n_rows)
    assert model.report_.n_rows == N_ROWS  # computed now, from the fit

    def repeated(values: np.ndarray, noise: float = 0.0) -> np.ndarray:
        found = np.empty((n_rows, *values.shape[1:]), dtype=values.dtype)
        found[order] = np.tile(values, (n_copies, *(1,) * (values.ndim - 1)))
        return found + noise * values.std() * rng.normal(size=found.shape) if noise else found

    model.labels_, model.embedding_ = repeated(model.labels_), repeated(model.embedding_, 0.05)
    model.outlier_score_ = repeated(model.outlier_score_)
    model.layers_ = [enlarged_layer(layer, n_copies, order, rng) for layer in model.layers_]
    kept = model.fitted_.views
    model.fitted_ = replace(
        model.fitted_,
        views=Views(tuple(FeatureView(view.name, repeated(view.matrix, 0.1)) for view in kept)),
    )
    model.index_ = np.array([f"entity-{row:07d}" for row in range(n_rows)], dtype=object)
    return model


def main() -> None:
    for n_rows in map(int, sys.argv[1:] or ["2000"]):
        rng = np.random.default_rng(0)
        model = small_model(rng)
        model = model if n_rows == N_ROWS else enlarge(model, n_rows, rng)
        with tempfile.TemporaryDirectory() as folder:
            path, began = Path(folder) / "report.html", perf_counter()
            model.to_html(path)
            print(
                (
                    f"{n_rows:9,d} rows: {path.stat().st_size / 1e6:.1f} MB, written in "
                    f"{perf_counter() - began:.0f} s"
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
