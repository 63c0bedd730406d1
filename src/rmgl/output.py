"""A fitted model as a folder of files, written completely or not at all."""

from __future__ import annotations

import csv
import json
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.estimator import RMGL

WRITTEN = {"labels.csv", "embedding.npy", "layers", "summary.json", "embedding.png", "layers.png", "convergence.png"}


def check_folder(folder: Path, force: bool) -> None:
    """Refuse a folder that exists, unless `force` is given and nothing but our own files is in it."""
    if not folder.parent.is_dir():
        raise ValueError(f"{folder}: its parent folder does not exist")
    if not folder.exists() and not folder.is_symlink():
        return
    if not force:
        raise ValueError(f"{folder} exists already: choose another name, or replace it with --force")
    if not folder.is_dir() or folder.is_symlink():
        raise ValueError(f"{folder} is not a folder: choose another name")
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in WRITTEN)
    if foreign:
        raise ValueError(f"{folder} holds {foreign[0]!r}, which rmgl did not write, so --force will not replace it: choose another name")


@contextmanager
def new_folder(folder: Path, force: bool) -> Iterator[Path]:
    """A folder beside the wanted one to write into; it takes the wanted name when the block ends without an error."""
    check_folder(folder, force)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        draft.chmod(0o755)
        yield draft
        if folder.exists():
            check_folder(folder, force)
            aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            folder.rename(aside / folder.name)
            draft.rename(folder)
            shutil.rmtree(aside)
        else:
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_results(folder: Path, model: RMGL, *, ids: Sequence[str] | None, seconds: float, pictures: bool) -> None:
    """Write labels.csv, embedding.npy, layers/NAME.npz, summary.json and, if wanted, the pictures."""
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row" if ids is None else "id", "label"])
        writer.writerows(zip(range(len(model.labels_)) if ids is None else ids, model.labels_.tolist(), strict=True))
    np.save(folder / "embedding.npy", model.embedding_)
    (folder / "layers").mkdir()
    file_names = layer_file_names(model.view_names_)
    for layer, file_name in zip(model.layers_, file_names, strict=True):
        sparse.save_npz(folder / "layers" / file_name, layer.adjacency)
    summary = summarise(model, seconds, file_names)
    (folder / "summary.json").write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if pictures:
        draw_pictures(folder, model)


def draw_pictures(folder: Path, model: RMGL) -> None:
    from rmgl import plots

    plots.draw_embedding(model.embedding_, model.labels_).savefig(folder / "embedding.png")
    plots.draw_layers(model.layers_, model.labels_).savefig(folder / "layers.png")


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
        "cluster_sizes": np.bincount(model.labels_, minlength=model.n_clusters).tolist(),
        "parameters": model.get_params(),
        "layers": layers,
        "seconds": {"fit": round(seconds, 3), "alternation": round(last["seconds"], 3)},
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("rmgl", "numpy", "scipy", "scikit-learn", "numba")},
        "history": model.history_,
    }
