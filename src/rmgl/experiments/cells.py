"""Cells of the experiments. A cell is one setting on one problem, stored in a file so that runs can
resume.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rmgl.archive.atomic import new_file
from rmgl.embedding.labels import cluster_rows
from rmgl.experiments.data import Problem
from rmgl.experiments.grids import Setting
from rmgl.experiments.methods import METHODS
from rmgl.matrix import Floats
from rmgl.metrics import clustering_accuracy, normalized_mutual_info_score
from rmgl.running.threads import number_of_workers
from rmgl.version import __version__

RECIPE = 2  # increased when a method changes, so that stored cells are computed again


@dataclass(frozen=True)
class Cell:
    """One setting on one problem. `problem` loads the data in the process that needs them."""

    label: str
    problem: Callable[[], Problem]
    fingerprint: str
    setting: Setting
    runs: int

    def path(self, folder: Path) -> Path:
        """Return the path to the result. Its name includes a hash of everything that the result
        depends on.
        """
        setting = self.setting
        origin = [__version__, RECIPE, self.fingerprint]
        identity = json.dumps(
            [*origin, setting.method, setting.parameters, self.runs], sort_keys=True
        )
        method = "".join(letter for letter in setting.method if letter.isalnum())
        code = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return folder / f"{self.label}-{method}-{code}.npz"


def compute(
    cells: Sequence[Cell], folder: Path, n_jobs: int, progress: Callable[[int, int, str], None]
) -> None:
    """Compute the cells that are not stored yet, in `n_jobs` processes."""
    folder.mkdir(parents=True, exist_ok=True)
    by_path = {cell.path(folder): cell for cell in cells}
    missing = [cell for path, cell in by_path.items() if not readable(path)]
    parallel = Parallel(n_jobs=number_of_workers(n_jobs), return_as="generator_unordered")
    finished = parallel(delayed(compute_one)(cell, folder) for cell in missing)
    progress(0, len(missing), "")
    for done, label in enumerate(finished, start=1):
        progress(done, len(missing), label)


def readable(path: Path) -> bool:
    """Return whether a finished cell exists and is not damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile, zlib.error):
        return False


def compute_one(cell: Cell, folder: Path) -> str:
    """Compute one cell and store it. The file is written completely or not at all."""
    problem = cell.problem()
    began = perf_counter()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # settings that do not converge are also scored
        warnings.simplefilter("ignore", UserWarning)
        embeddings = METHODS[cell.setting.method](problem, **cell.setting.parameters)
        seconds = perf_counter() - began
        scores = {
            name: score(rows, problem, cell.runs)
            for name, rows in embeddings.items()
            if not name.startswith("_")
        }
    arrays: dict[str, Any] = {f"embedding:{name}": rows for name, rows in embeddings.items()}
    arrays["scores"] = np.array(json.dumps({"seconds": seconds, "rows": scores}))
    with new_file(cell.path(folder)) as draft, draft.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return f"{cell.label} {cell.setting.method}"


def score(rows: Floats, problem: Problem, runs: int) -> dict[str, list[float]]:
    """Return NMI and accuracy of k-means on the rows, for `runs` seeds."""
    clusters = [cluster_rows(rows, problem.n_clusters, random_state=seed) for seed in range(runs)]
    return {
        "nmi": [float(normalized_mutual_info_score(problem.target, labels)) for labels in clusters],
        "accuracy": [clustering_accuracy(problem.target, labels) for labels in clusters],
    }


def read(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the scores and embeddings of a finished cell."""
    with np.load(cell.path(folder), allow_pickle=False) as stored:
        scores = json.loads(str(stored["scores"]))
        embeddings = {
            name.removeprefix("embedding:"): stored[name]
            for name in stored.files
            if name.startswith("embedding:")
        }
    return scores, embeddings
