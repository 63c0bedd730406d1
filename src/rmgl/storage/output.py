"""A fitted model as a folder of files, written completely or not at all."""

from __future__ import annotations

import csv
import json
import platform
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.estimators.rmgl import RMGL
from rmgl.storage.graphs import write_graphml

FILES = {
    "labels.csv",
    "embedding.npy",
    "layers",
    "summary.json",
    "report.txt",
    "embedding.png",
    "layers.png",
    "clusters.png",
    "layers.graphml",
}


def check_folder(folder: Path, force: bool) -> None:
    """Refuse a folder that exists, unless `force` is given and it holds a result of ours and nothing else."""
    if not folder.parent.is_dir():
        raise ValueError(f"{folder}: its parent folder does not exist")
    if not folder.exists() and not folder.is_symlink():
        return
    if not force:
        raise ValueError(f"{folder} exists already: choose another name, or replace it with --force")
    if not folder.is_dir() or folder.is_symlink():
        raise ValueError(f"{folder} is not a folder: choose another name")
    foreign = foreign_file(folder)
    if foreign is not None:
        raise ValueError(f"{folder} holds {foreign!r}, which rmgl did not write, so --force will not replace it: choose another name")


def check_file(path: Path, force: bool) -> None:
    """Refuse a file that exists, unless `force` is given."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: its parent folder does not exist")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: choose another name")
    if path.exists() and not force:
        raise ValueError(f"{path} exists already: choose another name, or replace it with --force")


def write_predictions(path: Path, shares: NDArray[np.float64], ids: Sequence[str] | None) -> None:
    """Label, its share of the edge weight, and the shares of all clusters, row by row; the file appears complete or not at all."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as temporary:
        draft = Path(temporary) / "new"
        with draft.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["row" if ids is None else "id", "label", "share", *(f"cluster_{k}" for k in range(shares.shape[1]))])
            for name, row in zip(range(len(shares)) if ids is None else ids, shares, strict=True):
                writer.writerow([name, int(row.argmax()), f"{row.max():.4f}", *(f"{share:.4f}" for share in row)])
        draft.replace(path)


def foreign_file(folder: Path) -> str | None:
    """Something in the folder that is no part of a result of ours, or None."""
    present = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        ours = FILES | {layer["file"] for layer in summary["layers"]} if "rmgl" in summary["versions"] else set()
    except (OSError, ValueError, KeyError, TypeError):
        ours = set()
    return next((name for name in present if name not in ours), None)


@contextmanager
def new_folder(folder: Path, force: bool) -> Iterator[Path]:
    """A folder beside the wanted one to write into; it takes the wanted name when the block ends without an error."""
    check_folder(folder, force)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        draft, old = Path(temporary) / "new", Path(temporary) / "old"
        draft.mkdir()
        yield draft
        check_folder(folder, force)
        if folder.exists():
            folder.rename(old)
        try:
            draft.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise


def write_results(folder: Path, model: RMGL, *, ids: Sequence[str] | None, seconds: float, pictures: bool, graphml: bool = False) -> None:
    """Write labels.csv, embedding.npy, layers/NAME.npz, summary.json, report.txt and, if wanted, the pictures and layers.graphml."""
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row" if ids is None else "id", "label", "outlier_score"])
        scores = [f"{score:.4f}" for score in model.outlier_score_]
        writer.writerows(zip(range(len(model.labels_)) if ids is None else ids, model.labels_.tolist(), scores, strict=True))
    np.save(folder / "embedding.npy", model.embedding_)
    (folder / "layers").mkdir()
    file_names = layer_file_names([layer.name for layer in model.layers_])
    for layer, file_name in zip(model.layers_, file_names, strict=True):
        sparse.save_npz(folder / "layers" / file_name, layer.adjacency)
    summary = summarise(model, seconds, file_names)
    (folder / "summary.json").write_text(json.dumps(plain(summary), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    (folder / "report.txt").write_text(f"{model.report_}\n", encoding="utf-8")
    if pictures:
        draw_pictures(folder, model)
    if graphml:
        write_graphml(model, folder / "layers.graphml", ids)


def draw_pictures(folder: Path, model: RMGL) -> None:
    from rmgl import plots

    plots.draw_embedding(model.embedding_, model.labels_).savefig(folder / "embedding.png")
    plots.draw_layers(model.layers_, model.labels_).savefig(folder / "layers.png")
    if model.number_ is not None:
        plots.draw_number_of_clusters(model.number_).savefig(folder / "clusters.png")


def layer_file_names(view_names: Sequence[str]) -> list[str]:
    """A file name for every view: its own where that is safe, else with odd characters replaced; never two alike."""
    names: list[str] = []
    for view in view_names:
        base = re.sub(r"[^\w.-]", "_", view).strip(".") or "view"
        name, count = f"{base}.npz", 1
        while name.lower() in (taken.lower() for taken in names):
            count += 1
            name = f"{base}_{count}.npz"
        names.append(name)
    return names


def plain(value: Any) -> Any:
    """The same with what JSON has: NumPy numbers as numbers, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def summarise(model: RMGL, seconds: float, file_names: Sequence[str]) -> dict[str, Any]:
    """What was done, with which parameters and versions, and how sure it is."""
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
        for layer, file_name, alpha, beta in zip(model.layers_, file_names, model.alpha_, model.beta_, strict=True)
    ]
    last = model.history_[-1]
    return {
        "status": "converged" if model.converged_ and all(layer.status == "converged" for layer in model.layers_) else "not converged",
        "n_iter": model.n_iter_,
        "objective": last["objective"],
        "eigen_residual": last["eigen_residual"],
        "n_rows": len(model.labels_),
        "cluster_sizes": np.bincount(model.labels_, minlength=model.n_clusters_).tolist(),
        "parameters": model.get_params(),
        "layers": layers,
        "report": model.report_.as_dict(),
        "number_of_clusters": None if model.number_ is None else model.number_.as_dict(),
        "seconds": {"fit": round(seconds, 3), "alternation": round(last["seconds"], 3)},
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("rmgl", "numpy", "scipy", "scikit-learn", "numba")},
        "history": model.history_,
    }
