"""Seconds by stage, and memory, as N grows: two views of a Gaussian mixture and of MNIST.

RMGL at its defaults (`rmgl_defaults`), with approximate candidates (`rmgl_approximate`) and with
alpha and beta given (`rmgl_scale`, up to 300 000 rows unless it is named), beside scikit-learn's
spectral clustering (`sklearn_spectral`, up to 100 000 rows). One timed call; the first call, which
is not timed, takes a few thousand rows.
"""

from functools import partial

from benchmarks.datasets import SHAPES
from benchmarks.judge import Settings
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row
from benchmarks.suite_fit import measure

SIZES = {
    "mixture": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "mnist": (10_000, 30_000, 70_000),
}
QUICK_SIZES = {"mixture": (1000, 3000)}


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("scale", only)
    for name, sizes in (QUICK_SIZES if quick else SIZES).items():
        for n in sizes:
            if datasets and not {name, f"{name}-{n}"} & set(datasets):
                continue
            data = prepare(results.path.parent, name, n)
            if data is None:
                break
            for method in methods:
                if only or method.largest is None or n <= method.largest:
                    results.add(
                        partial(with_widths, method, data, name, settings),
                        data=name,
                        size=n,
                        method=method.name,
                    )


def with_widths(method: Method, data: Prepared, name: str, settings: Settings) -> Row:
    """A row of `fit`, with the columns of the spaces that are searched: those of the views and, at
    the defaults, of all of them.
    """
    widths = list(SHAPES[name])
    return {
        "widths": widths if method.name == "rmgl_scale" else [*widths, sum(widths)],
        **measure(method, data, settings),
    }
