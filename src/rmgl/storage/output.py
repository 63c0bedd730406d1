"""Write the results of a fitted model to a folder, completely or not at all."""

from __future__ import annotations

import csv
import json
import platform
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive import atomic
from rmgl.archive.atomic import new_file
from rmgl.fitting.fitted import FittedModel
from rmgl.matrix import Floats, Indices
from rmgl.results.associations import Associations
from rmgl.results.clusters import stable_levels
from rmgl.results.explain import Explanation
from rmgl.results.report import Report
from rmgl.storage.multigraph import (
    node_attributes,
    write_edge_lists,
    write_graphml,
    write_graphmls,
)
from rmgl.storage.outcome_file import write_associations
from rmgl.storage.paths import Output, check_folder
from rmgl.storage.row_ids import name_of_ids, shown_as_text
from rmgl.version import __version__

FEATURES_LISTED = 200
"""Maximum number of features per cluster and view in features.csv. The largest effects are kept."""
LONGEST_VIEW_NAME = 120
"""Maximum bytes of a view's name in a file name. Encrypted folders allow 143, others more."""


def check_names(names: Sequence[str], ids: NDArray[Any] | None) -> None:
    """Raise a ValueError for view names and row ids that cannot be written as text."""
    texts = [("the name of view", name) for name in names] + [
        ("the row id", str(label)) for label in (() if ids is None else ids)
    ]
    for what, text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{what} {text!r} is not valid UTF-8 text: rename it") from None
        if "\0" in text:
            raise ValueError(
                f"{what} {text!r} contains a NUL character, which is not text: rename it"
            )


def write_predictions(
    path: Path,
    labels: Indices,
    shares: Floats,
    ids: NDArray[Any] | None,
    scores: Floats | None = None,
    *,
    id_column: str | None = None,
) -> None:
    """Write the label of every row, its share, and the shares of all clusters to a CSV file.

    Outlier scores, if passed, are an additional column. The file is written completely or not at
    all. Ids are written as `rmgl.storage.row_ids` describes.
    """
    with new_file(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        columns = ["row" if ids is None else name_of_ids(id_column), "label", "share"]
        columns += [f"cluster_{k}" for k in range(shares.shape[1])]
        writer.writerow(columns if scores is None else [*columns, "outlier_score"])
        for row, name in enumerate(row_names(ids, len(shares))):
            numbers = [shares[row].max(), *shares[row]]
            numbers += [] if scores is None else [scores[row]]
            writer.writerow([name, int(labels[row]), *(f"{number:.4f}" for number in numbers)])


def row_names(ids: NDArray[Any] | None, n_rows: int) -> Sequence[Any]:
    """Return the first column of a table of rows: their ids or, without ids, their numbers."""
    return range(n_rows) if ids is None else [shown_as_text(str(identifier)) for identifier in ids]


@contextmanager
def new_folder(folder: Path, force: bool) -> Iterator[Path]:
    """Create a folder, completely or not at all. `force` replaces an old result."""
    check_folder(folder, force)
    with atomic.new_folder(folder, replace=force) as draft:
        yield draft
        check_folder(folder, force)  # again, because it may have changed in the meantime


def write_features(path: Path, explanation: Explanation) -> None:
    """Write what distinguishes each cluster to a CSV file, the largest effects first."""
    table = explanation.top(FEATURES_LISTED, by_view=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["cluster", "view", "feature", "effect_size", "mean_inside", "mean_outside", "auc"]
        )
        texts = (map(shown_as_text, names) for names in (table.view, table.feature))
        numbers = (table.effect_size, table.mean_inside, table.mean_outside, table.auc)
        for cluster, view, feature, *values in zip(
            table.cluster.tolist(), *texts, *numbers, strict=True
        ):
            writer.writerow([cluster, view, feature, *(f"{value:.6g}" for value in values)])


def write_labels(path: Path, model: FittedModel, id_column: str | None) -> None:
    """Write the label and the outlier score of every row to a CSV file.

    Ids are written as `rmgl.storage.row_ids` describes, under their column name in the input files.
    If the number of clusters was chosen automatically, there is a column for every stable
    resolution.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        levels = stable_levels(model)
        numbers = [f"label_{level.n_clusters}" for level in levels]
        first = "row" if model.index is None else name_of_ids(id_column)
        writer.writerow([first, "label", "outlier_score", *numbers])
        names = row_names(model.index, len(model.labels))
        scores = [f"{score:.4f}" for score in model.outlier_score]
        others = (level.labels.tolist() for level in levels)
        writer.writerows(zip(names, model.labels.tolist(), scores, *others, strict=True))


def write_results(
    folder: Path,
    wanted: Output,
    model: FittedModel,
    report: Report,
    seconds: float,
    explanation: Explanation | None,
    associations: Associations | None,
    id_column: str | None,
) -> None:
    """Write labels, embedding, layers, summary and report, and other requested files in `FILES`."""
    write_labels(folder / "labels.csv", model, id_column)
    np.save(folder / "embedding.npy", model.embedding)
    (folder / "layers").mkdir()
    file_names = layer_file_names([layer.name for layer in model.layers])
    for layer, file_name in zip(model.layers, file_names, strict=True):
        sparse.save_npz(folder / "layers" / file_name, layer.adjacency)
    summary = summarize(model, report, seconds, file_names)
    (folder / "summary.json").write_text(
        json.dumps(plain(summary), indent=2, allow_nan=False) + "\n", encoding="utf-8"
    )
    (folder / "report.txt").write_text(f"{report}\n", encoding="utf-8")
    if explanation is not None:
        write_features(folder / "features.csv", explanation)
    if associations is not None:
        write_associations(folder / "associations.csv", associations)
    if wanted.pictures:
        draw_pictures(folder, model, associations)
    nodes = node_attributes(model.labels, model.outlier_score, model.index)
    stems = [file_name.removesuffix(".npz") for file_name in file_names]
    if wanted.graphml:
        write_graphml(folder / "layers.graphml", model.layers, nodes)
        write_graphmls(folder / "layers", model.layers, stems, nodes)
    if wanted.edge_lists:
        write_edge_lists(folder / "layers", model.layers, stems, nodes)


def draw_pictures(folder: Path, model: FittedModel, associations: Associations | None) -> None:
    """Draw the embedding, the layers, the choice of the number of clusters, and survival."""
    from rmgl import plots

    plots.draw_embedding(model).savefig(folder / "embedding.png")
    plots.draw_layers(model).savefig(folder / "layers.png")
    if model.number is not None:
        plots.draw_resolutions(model).savefig(folder / "clusters.png")
    if associations is not None and associations.survival is not None:
        plots.draw_survival(associations).savefig(folder / "survival.png")


def layer_file_names(view_names: Sequence[str]) -> list[str]:
    """Return a distinct file name for every view: its name, cut short and made safe."""
    names: dict[str, str] = {}
    for view in view_names:
        base = re.sub(r"[^\w.-]", "_", view).strip(".") or "view"
        base = base.encode("utf-8")[:LONGEST_VIEW_NAME].decode("utf-8", "ignore")
        name, count = f"{base}.npz", 1
        while case_insensitive(name) in {*names, "nodes.npz"}:  # all layers share nodes.csv
            count += 1
            name = f"{base}_{count}.npz"
        names[case_insensitive(name)] = name
    return list(names.values())


def case_insensitive(name: str) -> str:
    """Return a key that is equal for file names that some file systems treat as the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def plain(value: Any) -> Any:
    """Convert a value to JSON types: NumPy numbers to numbers, nonfinite numbers to null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def summarize(
    model: FittedModel, report: Report, seconds: float, file_names: Sequence[str]
) -> dict[str, Any]:
    """Return the content of summary.json."""
    layers = [
        {
            "name": layer.name,
            "file": f"layers/{file_name}",
            "alpha": float(alpha),
            "beta": float(beta),
            "status": layer.status,
            "kkt_residual": layer.kkt_residual,
            "gap": layer.gap,
            "n_edges": layer.n_edges,
            "n_components": layer.n_components,
        }
        for layer, file_name, alpha, beta in zip(
            model.layers, file_names, model.alpha, model.beta, strict=True
        )
    ]
    last = model.history[-1]
    return {
        "status": "converged"
        if model.converged and all(layer.solved for layer in model.layers)
        else "not converged",
        "n_iter": model.n_iter,
        "objective": last["objective"],
        "eigen_residual": last["eigen_residual"],
        "n_rows": len(model.labels),
        "cluster_sizes": np.bincount(model.labels, minlength=model.n_clusters).tolist(),
        "parameters": model.parameters.as_dict(),
        "layers": layers,
        "report": report.as_dict(),
        "number_of_clusters": None if model.number is None else model.number.as_dict(),
        "seconds": {"fit": round(seconds, 3), "alternation": round(float(last["seconds"]), 3)},
        "versions": {"python": platform.python_version(), "rmgl": __version__}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "history": model.history,
    }
