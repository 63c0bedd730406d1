"""Smallest eigenvectors of a common graph: the eigen-solver of this package beside scipy's, from a
cold start to a residual of 1e-8.

The graphs are those RMGL ends with: the digits at the paper's parameters and at its defaults, and
the mixture at the defaults. No solver starts from vectors that are nearly right: that of this
package has no such start.
"""

from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.datasets import load
from benchmarks.judge import Settings, judge
from benchmarks.limits import ENTRY_BYTES
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.datasets.uci_digits import PAPER_PARAMETERS
from rmgl.embedding.common_graph import weighted_sum

GRAPHS = {
    "digits, paper": ("digits", None),
    "digits": ("digits", None),
    "mixture-20000": ("mixture", 20_000),
    "mixture-100000": ("mixture", 100_000),
}
QUICK_GRAPHS = {"mixture-2000": ("mixture", 2000)}


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("eigen", only)
    for name, (source, n) in (QUICK_GRAPHS if quick else GRAPHS).items():
        if datasets and name not in datasets:
            continue
        data, k = store_graph(results.path.parent / "data", name, source, n)
        for method in methods:
            results.add(partial(measure, method, data, k, settings), graph=name, method=method.name)


def store_graph(folder: Path, name: str, source: str, n: int | None) -> tuple[Prepared, int]:
    """The common graph of a fit as rows (i, j, weight) in a file, and its number of clusters."""
    data = load(source, n).scaled()
    path = folder / f"graph-{name.replace(', ', '-')}.npz"
    if not path.exists():
        parameters = PAPER_PARAMETERS if "paper" in name else {}
        model = RMGL(
            data.n_clusters, n_jobs=-1, random_state=0, **{**parameters, "scale": "none"}
        ).fit(data.views)
        graph = sparse.coo_array(
            weighted_sum(
                [layer.adjacency for layer in model.layers_], model.beta_ / model.beta_.max()
            )
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, view_0=np.column_stack([graph.row, graph.col, graph.data]))
    return Prepared(name, path), data.n_clusters


def measure(method: Method, data: Prepared, k: int, settings: Settings) -> Row:
    verdict = judge(method, data.path, {"k": k, "n_threads": settings.n_threads}, settings)
    if not verdict.ok:
        return verdict.row
    edges = data.view()
    n = int(edges[:, :2].max()) + 1
    W = sparse.csr_array(
        (edges[:, 2], (edges[:, 0].astype(int), edges[:, 1].astype(int))), shape=(n, n)
    )
    degrees, Q = W.sum(axis=1), verdict.arrays["found"]
    image = degrees[:, None] * Q - W @ Q
    values = np.einsum("nk,nk->k", Q, image)
    residual = float(np.linalg.norm(image - Q * values, axis=0).max() / (2 * degrees.max()))
    # what a product reads of the matrix, listed or as an array
    once = min(ENTRY_BYTES * len(edges), 8 * n * n)
    return {
        "n": n,
        "edges": len(edges) // 2,
        "k": k,
        "product_bytes": once,
        **verdict.row,
        "residual": residual,
        "trace": float(values.sum()),
    }
