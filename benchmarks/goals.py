"""The table of goals in CONTRIBUTING.md: each goal, the measured value, and why it is missed."""

from collections.abc import Iterable
from typing import Any

from benchmarks.goal import Goal
from benchmarks.neighbors import ALL_THREADS, ONE_THREAD, described
from benchmarks.proportions import compare, median
from benchmarks.quality_goals import quality_goals
from benchmarks.reasons import REASONS
from benchmarks.results import Row
from benchmarks.sparse_views import times_input
from benchmarks.tables import GIB, done, number, table

Rows = dict[str, list[Row]]
"""Rows by suite."""
N_SETS = 18


def ledger(rows: Rows) -> Iterable[str]:
    """The table of goals, and why some are missed."""
    found = list(goals(rows))
    head = ["goal", "command", "measured", "verdict", "commit (rows)"]
    yield table(head, [goal.line() for goal in found])
    missed: dict[str, list[str]] = {}
    for goal in found:
        if goal.verdict.startswith("missed") and goal.text in REASONS:
            missed.setdefault(REASONS[goal.text], []).append(goal.text)
    if missed:
        reasons = [f"- {'; '.join(texts)}: {reason}" for reason, texts in missed.items()]
        yield "Why goals are missed:\n\n" + "\n".join(reasons)


def goals(rows: Rows) -> Iterable[Goal]:
    """All goals, including those for which nothing has been measured."""
    found = {suite: [row for row in own if done(row)] for suite, own in rows.items()}
    yield from scale_goals(found.get("scale", []))
    yield from search_goals(found.get("search", []))
    yield from worker_goals(found.get("distributed", []))
    yield from proportion_goals(found.get("proportion", []))
    yield from sparse_goals(found.get("sparse", []))
    yield from startup_goals(found.get("startup", []))
    yield from practice_goals(found.get("practice", []))
    yield from quality_goals(found)


def first(rows: list[Row], **fields: Any) -> Row | None:
    """The first row with these values."""
    return next(
        (row for row in rows if all(row.get(name) == value for name, value in fields.items())), None
    )


def timed(text: str, command: str, most: float, row: Row | None) -> Goal:
    """A goal for the time of one row."""
    if row is None:
        return Goal(text, command, most)
    return Goal(text, command, most, row["seconds"], f"{number(row['seconds'])} s", (row,))


def ratio(text: str, command: str, most: float, own: Row | None, other: Row | None) -> Goal:
    """A goal for the time of one row, relative to another row."""
    if own is None or other is None:
        return Goal(text, command, most)
    value = own["seconds"] / other["seconds"]
    figure = f"{value:.2f} ({number(own['seconds'])} s, {number(other['seconds'])} s)"
    return Goal(text, command, most, value, figure, (own, other))


def scale_goals(rows: list[Row]) -> Iterable[Goal]:
    for n, most in ((1_000_000, 1500.0), (300_000, 240.0), (100_000, 50.0)):
        own = first(rows, data="mixture", n=n, method="rmgl_defaults")
        yield timed(f"{n:,} rows with the defaults in at most {most:.0f} s", "scale", most, own)
    million = first(rows, data="mixture", n=1_000_000, method="rmgl_defaults")
    text = "1,000,000 rows with the defaults in at most 9 GiB"
    if million is None or not million["memory"]["peak"]:
        yield Goal(text, "scale", 9.0)
    else:
        peak = million["memory"]["peak"] / GIB
        yield Goal(text, "scale", 9.0, peak, f"{peak:.2f} GiB", (million,))
    for n in (30_000, 70_000):
        own, other = (
            first(rows, data="mnist", n=n, method=method)
            for method in ("rmgl_defaults", "sklearn_spectral")
        )
        text = f"MNIST, {n:,} rows in two views, in at most 0.3 times the time of scikit-learn"
        yield ratio(text, "scale", 0.3, own, other)


def search_goals(rows: list[Row]) -> Iterable[Goal]:
    """Time with two threads compared with one, for each kind of rows."""
    places = dict.fromkeys((row["n"], row["view"]) for row in rows if row["method"] == ALL_THREADS)
    for n, view in places or {(100_000, "right"): None}:
        both, one = (
            first(rows, n=n, view=view, method=method) for method in (ALL_THREADS, ONE_THREAD)
        )
        text = "with two threads in at most 0.55 times the time of one"
        yield ratio(f"Search of {described(n, view)} {text}", "search", 0.55, both, one)


def worker_goals(rows: list[Row]) -> Iterable[Goal]:
    """Time of one Dask worker compared with one thread, and of two workers compared with one."""
    alone, one, two = (first(rows, what="fit", n=100_000, workers=k) for k in (0, 1, 2))
    text = "Fit of 100,000 rows by one Dask worker in at most 1.25 times the time of one thread"
    yield ratio(text, "distributed", 1.25, one, alone)
    text = "Fit of 100,000 rows by two Dask workers in at most 0.6 times the time of one"
    yield ratio(text, "distributed", 0.6, two, one)


def proportion_goals(rows: list[Row]) -> Iterable[Goal]:
    found = compare(rows)
    texts = {
        "median": f"times the time of spectral clustering, median over {N_SETS} sets, one thread",
        "worst": f"times the time of spectral clustering, worst of {N_SETS} sets, one thread",
    }
    for name, most in (("median", 3.0), ("worst", 8.0)):
        text = f"Labels with the defaults in at most {most:.0f} {texts[name]}"
        if not found:
            yield Goal(text, "proportion", most)
            continue
        worst = max(found, key=lambda one: one.ratio)
        chosen = found if name == "median" else [worst]
        value = median(one.ratio for one in chosen)
        sets = f"{len(found)} sets" if name == "median" else worst.dataset
        lacks = f"{len(found)} of {N_SETS} sets" if len(found) < N_SETS else ""
        told = tuple(row for one in chosen for row in one.ours)
        yield Goal(text, "proportion", most, value, f"{value:.2f} ({sets})", told, lacks)


def sparse_goals(rows: list[Row]) -> Iterable[Goal]:
    found = {one.ours[0]["n"]: one for one in compare(rows)}
    large, small = found.get(10_000), found.get(2000)
    text = "10,000 documents in two sparse views no slower than spectral clustering, one thread"
    if large is None:
        yield Goal(text, "sparse", 1.0)
    else:
        figure = f"{large.ratio:.2f} ({number(large.seconds)} s)"
        yield Goal(text, "sparse", 1.0, large.ratio, figure, tuple(large.ours))
    text = "Memory for 10,000 documents, as a multiple of the nonzeros, no more than for 2,000"
    if large is None or small is None:
        yield Goal(text, "sparse", 1.0)
        return
    times = [times_input(one) for one in (large, small)]
    figure = f"{times[0]:.1f} times the input; {times[1]:.1f} for 2,000"
    yield Goal(text, "sparse", 1.0, times[0] / times[1], figure, tuple(large.ours))


def startup_goals(rows: list[Row]) -> Iterable[Goal]:
    aims = {
        "first fit, no compiled code": ("The first fit, with nothing compiled yet,", 5.0),
        "rmgl --help": ("`rmgl --help`", 0.3),
    }
    for what, (text, most) in aims.items():
        yield timed(f"{text} in at most {most:g} s", "startup", most, first(rows, what=what))


def practice_goals(rows: list[Row]) -> Iterable[Goal]:
    row = first(rows, what="many new rows", n_fitted=100_000)
    text = "Labels of 10,000 new rows, after a fit of 100,000 with the defaults, in at most 4 s"
    yield timed(text, 'practice --only "many new rows"', 4.0, row)
    for n in (5000, 50_000, 300_000):
        own = first(rows, what="number", n=n)
        other = None if own is None else {**own, "seconds": own["fit_seconds"]}
        text = f'`n_clusters="auto"` in at most 3 times the time with a fixed K, {n:,} rows'
        yield ratio(text, "practice --only number", 3.0, own, other)
