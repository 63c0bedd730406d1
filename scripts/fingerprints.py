"""Fingerprints of fits, to show that a code change does not change the results.

    python scripts/fingerprints.py > before.json          # at one commit
    python scripts/fingerprints.py --against before.json  # at another commit

The exact bits depend on the processor and the libraries, so compare two runs on the same machine.
`tests/test_fingerprints.py` compares results on the bundled data with numbers stored in the
repository, to an accuracy that all machines reach.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.datasets.uci_digits import PAPER_PARAMETERS

NAMES = (
    "3sources",
    "aloi10",
    "mfeat",
    "msrcv1_5v",
    "ngs",
    "nutrimouse",
    "orl_4v",
    "prokaryotic",
    "snareseq",
    "webkb",
    "100leaves",
)


def embedded_cases() -> Iterator[tuple[str, RMGL, dict[str, Any], dict[str, Any]]]:
    """Yield the name, model, views and `fit` options of every case on the bundled digits (every
    fourth row).
    """
    data = load_uci_digits()
    views = {name: X[::4] for name, X in data.views.items()}
    observed = np.random.default_rng(0).random((500, 6)) < 0.8
    observed[:, 0] |= ~observed.any(axis=1)
    yield "defaults", RMGL(10, random_state=0), views, {}
    yield "lists of neighbors", RMGL(10, candidates=15, random_state=0), views, {}
    yield "paper", RMGL(10, **PAPER_PARAMETERS, scale="minmax", random_state=0), views, {}
    yield "incomplete", RMGL(10, random_state=0), views, {"observed": observed}
    yield "number of clusters", RMGL("auto", random_state=0), views, {}


def stored_cases(folder: Path | None) -> Iterator[tuple[str, RMGL, dict[str, Any], dict[str, Any]]]:
    """Yield the data sets in a folder, with the default parameters."""
    for name in NAMES if folder is not None else ():
        path = folder / f"{name}.npz"
        if path.exists():
            with np.load(path) as stored:
                views = {key: stored[key] for key in stored.files if key.startswith("view_")}
                yield name, RMGL(len(np.unique(stored["y"])), random_state=0), views, {}


def arrays_of(model: RMGL, views: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return everything that must not change, by name."""
    found = {
        "labels": model.labels_,
        "embedding": model.embedding_,
        "outlier_score": model.outlier_score_,
    }
    for layer in model.layers_:
        found |= {
            f"{layer.name} weights": layer.adjacency.data,
            f"{layer.name} columns": layer.adjacency.indices,
        }
    return found | {
        "shares of new rows": model.predict_proba({name: X[::9] for name, X in views.items()})
    }


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def fingerprints(folder: Path | None) -> dict[str, dict[str, str]]:
    found = {}
    for cases in (embedded_cases(), stored_cases(folder)):
        for name, model, views, options in cases:
            model.fit(views, **options)
            found[name] = {key: digest(array) for key, array in arrays_of(model, views).items()}
            with tempfile.TemporaryDirectory() as folder:
                model.save(Path(folder) / "model.rmgl")
                loaded = arrays_of(RMGL.load(Path(folder) / "model.rmgl"), views)
            found[f"{name}, saved and loaded"] = {
                key: digest(array) for key, array in loaded.items()
            }
            sys.stderr.write(f"{name}\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Print fingerprints of fits, or compare them with earlier ones."
    )
    parser.add_argument(
        "--against", type=Path, help="A file of earlier fingerprints to compare with."
    )
    parser.add_argument(
        "--data",
        type=Path,
        help=(
            "A folder of .npz files with views (view_0, view_1, ...) and classes (y) to fit as "
            "well."
        ),
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = fingerprints(arguments.data)
    if arguments.against is None:
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return
    expected = json.loads(arguments.against.read_text())
    changed = [
        f"{case}: {key}"
        for case in expected
        for key in expected[case]
        if found.get(case, {}).get(key) != expected[case][key]
    ]
    sys.stdout.write(
        f"{len(expected)} cases, {len(changed)} differences\n"
        + "".join(f"{line}\n" for line in changed)
    )
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
