"""The clusterings that `trust` and `numbers` are calibrated on: public data sets, subsets of their
rows and classes, generated data sets, and clouds without clusters.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.datasets import FILES, Dataset, load, stored
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from benchmarks.suite_complementary import KINDS
from rmgl import Network
from rmgl.datasets import make_complementary_views

NETWORKS = {
    "seventh_sex": (0, 1, 2),
    "lazega_office": (0, 1, 2),
    "aucs": (0, 1, 2, 3, 4),
    "texas": (1,),
    "cora": (0,),
    "citeseer": (0,),
}
"""Indices of the views that are networks."""
LAST = ("acm", "citeseer", "cora", "network: cora", "network: citeseer")
LEFT_OUT = ("mfeat",)
"""Another copy of the digits."""
SIZES = (100, 300)
MOST_ROWS = 400
"""Subsets are drawn from data sets with more rows than this."""
CLOUDS = ("normal", "two factors", "elongated", "uniform", "heavy tails", "skewed", "bits")
NUMBERS = (2, 3, 5, 8)


def run(
    measure: Callable[[str, str, int], Row],
    results: Results,
    settings: Settings,
    quick: bool = False,
    datasets: tuple[str, ...] = (),
) -> None:
    """Measure every clustering, with one process per thread."""
    wanted = [item for item in answers() if not datasets or item[0] in datasets]
    wanted = [item for item in wanted if item[0] == "nutrimouse"] if quick else wanted
    rows = ({"dataset": name, "part": part, "seed": seed} for name, part, seed in wanted)
    results.add_all(measure, rows, settings.n_threads)


def answers() -> Iterator[tuple[str, str, int]]:
    """Names of data sets, the part of each that is clustered, and the seed for that part."""
    for name in sets():
        if name not in LEFT_OUT:
            yield name, "all", 0
            if not name.startswith(("generated", "network")):
                yield from ((name, f"{size} rows", seed) for size in SIZES for seed in (1, 2))
                yield from ((name, part, 1) for part in ("half of the classes", "two classes"))
    for cloud in CLOUDS:
        yield from ((f"cloud: {cloud}", f"{k} clusters", 0) for k in NUMBERS)


def sets() -> dict[str, Any]:
    """Functions that load the data sets, by name; the slowest data sets come last."""
    generated = {f"generated: {kind}": partial(complementary, kind) for kind in KINDS}
    networks = {f"network: {name}": partial(with_networks, name) for name in NETWORKS}
    plain = {name: partial(load, name) for name in ("digits", "coil20", *FILES)}
    incomplete = {
        f"digits without {share:.0%}": partial(incomplete_digits, share) for share in (0.2, 0.5)
    }
    named = {**incomplete, **generated, **plain, **networks}
    return {name: named[name] for name in sorted(named, key=lambda name: LAST.count(name))}


def complementary(kind: str) -> Dataset:
    made = make_complementary_views(random_state=0, **KINDS[kind])
    return Dataset(kind, made.views, made.target)


def with_networks(name: str) -> Dataset:
    data = stored(name)
    views = {
        view: Network(X) if place in NETWORKS[name] else X
        for place, (view, X) in enumerate(data.views.items())
    }
    return Dataset(name, views, data.target)


def incomplete_digits(share: float) -> Dataset:
    """A quarter of the digits, with a share of the rows missing from each view."""
    data = load("digits")
    present = np.random.default_rng(0).random((500, 6)) >= share
    present[:, 0] |= ~present.any(axis=1)
    views = {
        name: np.where(present[:, [m]], X[::4], np.nan)
        for m, (name, X) in enumerate(data.views.items())
    }
    return Dataset("digits", views, data.target[::4])


@cache
def loaded(name: str) -> Dataset:
    data = sets()[name]()
    return Dataset(name, data.views, np.unique(data.target, return_inverse=True)[1])


def part_of(name: str, part: str, seed: int) -> Dataset | None:
    """The data for one clustering, or None if the data set is too small for this part."""
    random = np.random.default_rng(seed)
    if name.startswith("cloud"):
        n_clusters = int(part.split()[0])
        views = cloud(name.removeprefix("cloud: "), random)
        return Dataset(name, views, random.integers(n_clusters, size=400))
    data = loaded(name)
    if part == "all":
        return data
    n, n_classes = data.target.size, data.n_clusters
    if part.endswith("rows"):
        rows = np.sort(random.permutation(n)[: int(part.split()[0])])
        return taken(data, rows) if n > MOST_ROWS else None
    if n_classes < 4:
        return None
    classes = random.permutation(n_classes)[: 2 if part == "two classes" else n_classes // 2]
    return taken(data, np.flatnonzero(np.isin(data.target, classes)))


def taken(data: Dataset, rows: np.ndarray) -> Dataset:
    return Dataset(data.name, {v: X[rows] for v, X in data.views.items()}, data.target[rows])


def cloud(kind: str, random: np.random.Generator) -> dict[str, Any]:
    """Two views of a single cloud, which has no clusters."""
    drawn = {
        "normal": partial(random.normal, size=(400, 16)),
        "uniform": partial(random.uniform, size=(400, 5)),
        "heavy tails": partial(random.standard_t, 3, size=(400, 13)),
        "skewed": lambda: np.exp(random.normal(size=(400, 12))),
        "bits": lambda: random.integers(2, size=(400, 8)).astype(float),
        "elongated": lambda: random.normal(size=(400, 10)) * ([5.0] + [1.0] * 9),
        "two factors": lambda: (
            random.normal(size=(400, 2)) @ random.normal(size=(2, 16))
            + 0.3 * random.normal(size=(400, 16))
        ),
    }
    X = drawn[kind]()
    half = X.shape[1] // 2
    return {"left": X[:, :half], "right": X[:, half:]}
