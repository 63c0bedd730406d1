"""The time of a fit with the defaults, relative to spectral clustering of the concatenated views,
with one thread.

RMGL gets the views as they are. scikit-learn's SpectralClustering gets one table of all views,
scaled as RMGL scales them; its time does not include the scaling. Every timing measures one call
that computes labels in a fresh process, after a first call that is not timed. RMGL's report is
timed separately after that. The two methods take turns, so that other programs on the machine
affect both; the ratio is the ratio of their median times.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.datasets import LOADERS, Dataset
from benchmarks.judge import Settings
from benchmarks.labels import measure
from benchmarks.limits import pair_flops, stored_bytes
from benchmarks.methods import Method, find_methods
from benchmarks.methods.shared.concatenation import concatenated
from benchmarks.prepared import Prepared, keep, prepare
from benchmarks.proportions import OURS, THEIRS, compare, summary
from benchmarks.results import Results, Row

THE_DIGITS_AGAIN = "mfeat"
QUICK_ROWS = 300


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    for name in datasets or (
        ["digits"] if quick else [name for name in LOADERS if name != THE_DIGITS_AGAIN]
    ):
        raw = prepare(results.path.parent, name, QUICK_ROWS if quick else None, raw=True)
        if raw is not None:
            take_turns(results, settings, raw, only)
    print(summary(compare(results.rows.values())))


def take_turns(
    results: Results, settings: Settings, raw: Prepared, only: tuple[str, ...] = ()
) -> None:
    """Time both methods on one data set, one call per fresh process."""
    methods = [*find_methods("quality", (OURS,)), *find_methods("proportion", (THEIRS,))]
    methods = [method for method in methods if not only or method.name in only]
    alone = replace(settings, repeats=1, n_threads=1)
    table = side_by_side(results.path.parent, raw)
    for turn in range(settings.repeats):
        rows = []
        for method in methods:
            work = partial(measure_one, method, raw, table, alone)
            rows.append(results.add(work, dataset=raw.name, method=method.name, turn=turn))
        if any(row["status"] != "ok" for row in rows):  # another turn would end the same way
            break
    for found in compare(results.rows.values()):
        if found.dataset == raw.name:
            print(found, flush=True)


def measure_one(method: Method, raw: Prepared, table: Prepared, settings: Settings) -> Row:
    """One row; RMGL's also has the brute-force number of operations and the size of the views."""
    if not method.raw:
        return measure(method, table, settings)
    views = raw.views()
    return {
        "least_flops": pair_flops(views),
        "input_bytes": sum(map(stored_bytes, views)),
        **measure(method, raw, settings),
    }


def side_by_side(folder: Path, raw: Prepared) -> Prepared:
    """Store all views, scaled, in one table in a file."""
    return keep(
        folder,
        f"{raw.name}-table",
        Dataset(raw.name, {"table": concatenated(raw.views())}, raw.target, "none"),
    )
