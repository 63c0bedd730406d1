"""Seconds by stage, and memory, as N grows: two views of a Gaussian mixture and of MNIST."""

from functools import partial

from benchmarks.judge import Settings
from benchmarks.methods import find_methods
from benchmarks.prepared import prepare
from benchmarks.results import Results
from benchmarks.suite_fit import measure

SIZES = {"mixture": (10_000, 30_000, 100_000, 300_000, 1_000_000), "mnist": (10_000, 30_000, 70_000)}
QUICK_SIZES = {"mixture": (1000, 3000)}


def run(results: Results, settings: Settings, quick: bool = False, only: tuple[str, ...] = (), datasets: tuple[str, ...] = ()) -> None:
    methods = find_methods("scale", only)
    for name, sizes in (QUICK_SIZES if quick else SIZES).items():
        for n in sizes if not datasets or name in datasets else ():
            data = prepare(results.path.parent, name, n)
            if data is None:
                break
            for method in methods:
                results.add(partial(measure, method, data, settings), data=name, size=n, method=method.name)
