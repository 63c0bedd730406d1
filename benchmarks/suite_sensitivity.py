"""What each number and rule of the automatic choice is worth: NMI with it halved, doubled and
switched off, on the shared sets, the digits, networks and generated complementary views.
"""

import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields
from functools import cache, partial
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.datasets import FILES, Dataset, load, stored
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from benchmarks.suite_complementary import KINDS
from rmgl import RMGL, Network, Policy
from rmgl.automatic.policy import Verdict
from rmgl.datasets import make_complementary_views
from rmgl.metrics import normalized_mutual_info_score

NETWORKS = {
    "seventh_sex": (0, 1, 2),
    "lazega_office": (0, 1, 2),
    "aucs": (0, 1, 2, 3, 4),
    "texas": (1,),
    "cora": (0,),
    "citeseer": (0,),
}
"""The views that are networks."""
SLOW = ("acm", "citeseer", "cora", "network: cora", "network: citeseer")
OFF: dict[str, Any] = {
    "local_scaling": False,
    "floor_share": 0.0,
    "weighing": "equal",
    "least_roughness": 0.0,
    "few_entities": 0,
    "small_component": 0.0,
    "consensus": "never",
    "consensus_share": 0.0,
    "guidance": (),
    "coupling": 1e-6,
    "neighbor_share": 0.0,
    "unit_rows": False,
    "small_cluster": 0.0,
    "island_links": 0.0,
    "most_fragments": 1.0,
}
"""Values that switch an ingredient off."""
CONSTANTS: dict[str, tuple[Any, ...]] = {
    "rmgl.automatic.layers.PLAIN_NEIGHBORS": (5, 18),
    "rmgl.automatic.consensus.UNKNOWN_DISTANCE": (0.35, 1.0),
    "rmgl.edges.local_scaling.SCALE_NEIGHBOR": (4, 14),
    "rmgl.edges.local_scaling.FAR_COST": (1.0, 4.0, 1e300),
    "rmgl.edges.local_scaling.FLOOR_NEIGHBOR": (3, 10),
    "rmgl.views.scaling.COUNTS_ZEROS": (0.35, 0.95),
    "rmgl.views.scaling.COUNTS_WIDTH": (50, 200),
    "rmgl.views.scaling.FEW_NEGATIVE": (0.0, 0.1),
    "rmgl.views.scaling.SKEWED": (0.5, 2.0, 1e300),
}
"""Numbers that are not fields of the policy, with other values."""
REPORTED = ("stable", "clear", "apart", "ranges", "number", *Verdict.__dataclass_fields__)
"""Fields that have no part in the labels for a given number of clusters."""
COUNTED = ("rows_per_cluster", "draws")
"""Fields that choose the number of clusters."""


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    names = datasets or (("digits",) if quick else tuple(sets()))
    wanted = [("defaults", None), *variants()]
    if quick:
        wanted = [item for item in wanted if item[0] in ("defaults", "power")]
    wanted = [item for item in wanted if not only or item[0] in (*only, "defaults")]
    rows = (
        {"number": field, "value": value, "dataset": name}
        for name in names
        for field, value in wanted
    )
    results.add_all(measure, rows, settings.n_threads)


def variants() -> Iterator[tuple[str, Any]]:
    """Every number halved, doubled and off, within its range."""
    for constant, others in CONSTANTS.items():
        for value in others:
            yield constant, value
    for item in fields(Policy):
        if item.name in (*REPORTED, *COUNTED):
            continue
        values = []
        if "range" in item.metadata:
            values = [scaled(item, 0.5), scaled(item, 2.0)]
        if item.name in OFF:
            values.append(OFF[item.name])
        for value in dict.fromkeys(values):
            if value != item.default:
                yield item.name, value


def scaled(item: Any, factor: float) -> Any:
    """The default of a field times a factor, within the range of the field."""
    least, most = item.metadata["range"]
    value = np.clip(np.multiply(item.default, factor), least, most)
    if isinstance(item.default, tuple):
        return tuple(value.tolist())
    return type(item.default)(value)


def sets() -> dict[str, Any]:
    """The sets by name, each with a function that loads it; the slowest ones are last."""
    generated = {f"generated: {kind}": partial(complementary, kind) for kind in KINDS}
    networks = {f"network: {name}": partial(with_networks, name) for name in NETWORKS}
    plain = {name: partial(load, name) for name in ("digits", "coil20", *FILES)}
    incomplete = {
        f"digits without {share:.0%}": partial(incomplete_digits, share) for share in (0.2, 0.5)
    }
    named = {**incomplete, **generated, **plain, **networks}
    return {name: named[name] for name in sorted(named, key=lambda name: SLOW.count(name))}


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
    """A quarter of the digits; a share of the rows is missing from each view."""
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
    return sets()[name]()


def measure(field: str, value: Any, name: str) -> Row:
    """NMI on one set with one number changed, on one thread."""
    try:
        data = loaded(name)
    except FileNotFoundError as error:
        return {"status": f"skipped: {error}"}
    changed = field not in CONSTANTS and field != "defaults"
    policy = Policy(**{field: value}) if changed else Policy()
    began = perf_counter()
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if field in CONSTANTS:
            stack.enter_context(patch(field, value))
        model = RMGL(data.n_clusters, policy=policy, random_state=0, n_jobs=1).fit(data.views)
    return {
        "status": "ok",
        "seconds": perf_counter() - began,
        "nmi": normalized_mutual_info_score(data.target, model.labels_),
    }
