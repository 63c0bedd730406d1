"""Time by stage, and memory, as N grows: two views of a Gaussian mixture and of MNIST.

RMGL with its defaults (`rmgl_defaults`) and with approximate candidates (`rmgl_approximate`),
compared with scikit-learn's spectral clustering (`sklearn_spectral`, up to 100,000 rows). One call
is timed; a first call, which is not timed, uses a few thousand rows. If the machine has too little
free memory for a size, the size is skipped, and its row says so.
"""

from functools import partial

from benchmarks.datasets import SHAPES
from benchmarks.judge import Settings
from benchmarks.labels import measure
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row, free_memory

SIZES = {
    "mixture": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "mnist": (10_000, 30_000, 70_000),
}
QUICK_SIZES = {"mixture": (1000, 3000)}
NEEDED = {"mixture": 14_000, "mnist": 65_000}
"""Maximum memory that fits with the defaults have used so far, in bytes per row."""
GIB = 1 << 30


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
    """One row, with the number of columns in each searched space: every view, and the concatenated
    views.
    """
    needed, free = NEEDED[name] * len(data.target), free_memory()
    if free is not None and needed > free:
        lacking = f"needs about {needed / GIB:.0f} GiB of memory, {free / GIB:.0f} GiB are free"
        return {"status": f"skipped: {lacking}"}
    widths = SHAPES[name]
    return {"widths": [*widths, sum(widths)], **measure(method, data, settings)}
