"""Views that each separate only some of the clusters: compare RMGL with spectral clustering of the
concatenated views on many kinds of generated data.
"""

from functools import partial

from benchmarks.datasets import Dataset
from benchmarks.judge import Settings
from benchmarks.labels import measure
from benchmarks.methods import find_methods
from benchmarks.prepared import keep
from benchmarks.results import Results
from rmgl.datasets import make_complementary_views

DRAWS = 3
KINDS = {
    "grid of 9": {"layout": "grid"},
    "grid of 9, closer": {"layout": "grid", "separation": 3.2},
    "grid of 9, a noise view": {"layout": "grid", "n_noise": 1},
    "grid of 9, unequal sizes": {"layout": "grid", "unequal": True},
    "grid of 8 in three views": {"layout": "grid", "n_clusters": 8, "n_views": 3},
    "grid of 16": {"layout": "grid", "n_clusters": 16, "n_rows": 800, "separation": 5.0},
    "6, a pair merged in each of three views": {
        "layout": "pairs",
        "n_clusters": 6,
        "n_views": 3,
        "n_columns": 5,
    },
    "the same and a noise view": {
        "layout": "pairs",
        "n_clusters": 6,
        "n_views": 3,
        "n_columns": 5,
        "n_noise": 1,
    },
    "10, a pair merged in each of three views": {
        "layout": "pairs",
        "n_clusters": 10,
        "n_views": 3,
        "n_columns": 10,
        "separation": 5.0,
    },
    "8 in random groups, three views": {"layout": "random", "n_clusters": 8, "n_views": 3},
    "6 in random groups, two views": {"layout": "random", "n_clusters": 6, "separation": 5.0},
    "6, pairs, counts and measurements": {
        "layout": "pairs",
        "n_clusters": 6,
        "n_counts": 1,
        "n_columns": 15,
    },
    "grid of 9, counts and measurements": {"layout": "grid", "n_counts": 1},
    "a misleading view": {
        "layout": [[0, 1, 2, 3]] * 2,
        "misleading": 9.0,
        "n_columns": 6,
        "n_rows": 240,
    },
}
"""Arguments of `make_complementary_views`. In the last kind, two views agree, and a third view with
different clusters dominates.
"""
METHODS = ("rmgl_defaults", "sklearn_spectral_our_scaling")


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("quality", only or METHODS)
    for place, (kind, arguments) in enumerate(KINDS.items()):
        if (datasets and kind not in datasets) or (quick and place > 0):
            continue
        for draw in range(1 if quick else DRAWS):
            made = make_complementary_views(random_state=draw, **arguments)
            stored = keep(
                results.path.parent,
                f"complementary-{place}-{draw}",
                Dataset(kind, made.views, made.target, "none"),
            )
            for method in methods:
                results.add(
                    partial(measure, method, stored, settings),
                    kind=kind,
                    draw=draw,
                    method=method.name,
                )
