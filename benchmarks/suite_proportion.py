"""How many times as long as spectral clustering of the concatenated views a fit at the defaults takes, with one thread.

RMGL gets the views as they are. scikit-learn's SpectralClustering gets one table of all views, scaled as RMGL scales them; scaling is not
part of its time. Every timing is one call in a fresh process, after a first call that is not timed. The two take turns, so that what else
the machine does meets both; the ratio is that of their medians.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.datasets import LOADERS, Dataset
from benchmarks.judge import Settings
from benchmarks.methods import find_methods
from benchmarks.methods.shared.concatenation import concatenated
from benchmarks.prepared import Prepared, keep, prepare
from benchmarks.proportions import compare, summary
from benchmarks.results import Results
from benchmarks.suite_fit import QUICK_ROWS, THE_DIGITS_AGAIN, measure


def run(results: Results, settings: Settings, quick: bool = False, only: tuple[str, ...] = (), datasets: tuple[str, ...] = ()) -> None:
    methods = [*find_methods("fit", ("rmgl_defaults",)), *find_methods("proportion")]
    methods = [method for method in methods if not only or method.name in only]
    alone = replace(settings, repeats=1, n_threads=1)
    for name in datasets or (["digits"] if quick else [name for name in LOADERS if name != THE_DIGITS_AGAIN]):
        raw = prepare(results.path.parent, name, QUICK_ROWS if quick else None, raw=True)
        if raw is None:
            continue
        table = side_by_side(results.path.parent, raw)
        for turn in range(settings.repeats):
            rows = []
            for method in methods:
                work = partial(measure, method, raw if method.raw else table, alone)
                rows.append(results.add(work, dataset=raw.name, method=method.name, turn=turn))
            if any(row["status"] != "ok" for row in rows):  # it would not end better the next time
                break
        for found in compare(results.rows.values()):
            if found.dataset == raw.name:
                print(found, flush=True)
    print(summary(compare(results.rows.values())))


def side_by_side(folder: Path, raw: Prepared) -> Prepared:
    """All views in one table, scaled, as a file."""
    with np.load(raw.path) as stored:
        views = [stored[name] for name in stored.files if name.startswith("view_")]
    return keep(folder, f"{raw.name}-table", Dataset(raw.name, {"table": concatenated(views)}, raw.target, "none"))
