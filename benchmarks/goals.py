"""The goals for speed and memory beside what was measured: a table that opens the page, computed
from the results there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks import new_rows, scaling, sparse_views
from benchmarks.limits import Limit, Rates, product_flops
from benchmarks.proportions import Proportion, compare, median
from benchmarks.reasons import REASONS
from benchmarks.results import Row
from benchmarks.solvers import OWN_SEARCH, OWN_SOLVER, eigen_limit
from benchmarks.tables import GIB, commits, done, number, table

Rows = dict[str, list[Row]]
"""The rows of all results by suite."""
N_SETS = 18
ON_WORKERS = [
    ("search", 30_000, 1.3),
    ("search", 100_000, 1.3),
    ("fit", 30_000, 1.3),
    ("fit", 100_000, 1.25),
]
"""What a worker does beside one thread, the number of rows, and the goal."""


@dataclass(frozen=True)
class Goal:
    """A goal, and the figure to compare with it: a number that may be at most `most` (None: it is
    only to be measured).
    """

    text: str
    command: str
    most: float | None = None
    value: float | None = None
    figure: str = ""
    """The number in words."""
    limit: str = ""
    reached: str = ""
    rows: tuple[Row, ...] = ()
    lacks: str = ""
    """What has not been measured of it."""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        if self.most is None or self.lacks:
            return f"incomplete: {self.lacks}" if self.lacks else "measured"
        return (
            "met"
            if self.value <= self.most
            else f"missed: {self.value / self.most:.2f} times the goal"
        )

    def line(self) -> list[Any]:
        if self.value is None:
            return [self.text, f"`{self.command}`", "", "", "", "", self.verdict]
        return [
            self.text,
            f"`{self.command}`",
            self.figure,
            self.limit,
            self.reached,
            commits(self.rows),
            f"**{self.verdict}**",
        ]


def section(rows: Rows, rates: Rates) -> Iterable[str]:
    yield "## Goals"
    yield (
        "What was aimed at, and what came out. The *limit* is the least that such an answer "
        "needs, in floating-point operations or "
        "bytes, with the seconds in which this machine does as much (see *Machine*), and "
        "*reached* the share of the machine's rate. The "
        "commands are those of `python -m benchmarks`; the sections below have the rows."
    )
    head = ["goal", "command", "measured", "limit", "reached", "commit (rows)", "verdict"]
    found = list(goals(rows, rates))
    yield table(head, [goal.line() for goal in found])
    why = [
        f"- {goal.text}: {REASONS[goal.text]}"
        for goal in found
        if goal.verdict.startswith("missed") and goal.text in REASONS
    ]
    if why:
        yield "Why goals are missed:\n\n" + "\n".join(why)


def goals(rows: Rows, rates: Rates) -> Iterable[Goal]:
    found = {suite: [row for row in of_suite if done(row)] for suite, of_suite in rows.items()}
    yield from proportion_goals(found.get("proportion", []), rates)
    yield from search_goals(found.get("search", []), rates)
    yield from scale_goals(found.get("scale", []), rates)
    yield eigen_goal(found.get("eigen", []), rates)
    yield from startup_goals(found.get("startup", []))
    yield from new_row_goals(found.get("practice", []), rates)
    yield from sparse_goals(found.get("sparse", []), rates)
    yield from worker_goals(found.get("distributed", []))


def timed(
    text: str, command: str, most: float | None, row: Row | None, limit: Limit | None = None
) -> Goal:
    """A goal for the seconds of one row."""
    if row is None:
        return Goal(text, command, most)
    seconds = row["seconds"]
    share = limit.share(seconds) if limit else ""
    return Goal(
        text, command, most, seconds, f"{number(seconds)} s", str(limit or ""), share, (row,)
    )


def first(rows: list[Row], **fields: Any) -> Row | None:
    """The first row with these values."""
    return next(
        (row for row in rows if all(row.get(name) == value for name, value in fields.items())), None
    )


def proportion_goals(rows: list[Row], rates: Rates) -> Iterable[Goal]:
    found = compare(rows)
    texts = {
        "median": (
            (
                "Labels at the defaults in at most 3 times the time of spectral clustering, "
                f"median over {N_SETS} sets, one thread"
            ),
            3.0,
        ),
        "worst": (f"The same in at most 6 times, worst of {N_SETS} sets", 6.0),
    }
    for name, (text, most) in texts.items():
        if not found:
            yield Goal(text, "proportion", most)
            continue
        worst = max(found, key=lambda one: one.ratio)
        chosen = found if name == "median" else [worst]
        ratio = median(one.ratio for one in chosen)
        sets = f"{len(found)} sets" if name == "median" else worst.dataset
        lacks = f"{len(found)} of {N_SETS} sets" if len(found) < N_SETS else ""
        yield Goal(
            text,
            "proportion",
            most,
            ratio,
            f"{ratio:.2f} ({sets})",
            *shares(chosen, rates),
            told(chosen),
            lacks,
        )


def told(found: Iterable[Proportion]) -> tuple[Row, ...]:
    return tuple(row for one in found for row in one.ours)


def shares(found: list[Proportion], rates: Rates) -> tuple[str, str]:
    """The limit of one data set, or only the median share of several."""
    if len(found) == 1:
        limit = found[0].limit(rates)
        return str(limit), limit.share(found[0].seconds)
    limits = [(one.limit(rates), one.seconds) for one in found]
    known = [limit.seconds / seconds for limit, seconds in limits if limit.seconds is not None]
    return "products of all pairs, by set", f"{100 * median(known):.2g}% (median)" if known else ""


def search_goals(rows: list[Row], rates: Rates) -> Iterable[Goal]:
    own = [row for row in rows if row["method"] == OWN_SEARCH]
    views = [first(own, n=70_000, view=view) for view in ("pixels", "hog")]
    text, command = (
        "Exact search, MNIST, 70,000 rows in two views, 30 neighbors, in at most 30 s",
        "search --dataset mnist",
    )
    both = [row for row in views if row]
    if len(both) < 2:
        yield Goal(text, command, 30.0)
    else:
        seconds = sum(row["seconds"] for row in both)
        figure = f"{number(seconds)} s, one thread, one view after the other"
        limit = rates.for_products(sum(search_flops(row) for row in both))
        yield Goal(
            text, command, 30.0, seconds, figure, str(limit), limit.share(seconds), tuple(both)
        )
    more = first(own, n=100_000, view="pixels")
    limit = rates.for_products(search_flops(more)) if more else None
    yield timed("Exact search, 100,000 rows of 784 columns, measured", command, None, more, limit)


def search_flops(row: Row) -> float:
    """Products of all pairs in the columns of the tiles."""
    return product_flops(row["n"], row["extra"].get("columns", row["dimension"]))


def scale_goals(rows: list[Row], rates: Rates) -> Iterable[Goal]:
    million = first(rows, data="mixture", n=1_000_000, method="rmgl_defaults")
    command = "scale --only rmgl_defaults --dataset mixture-1000000"
    limit = scaling.limit_of(million, rates) if million else None
    yield timed(
        "A million rows at the defaults in at most 45 minutes", command, 45 * 60.0, million, limit
    )
    text = "The same in at most 16 GiB"
    if million is None or not million["memory"]["peak"]:
        yield Goal(text, command, 16.0)
        return
    peak, inputs = (
        million["memory"]["peak"] / GIB,
        8 * million["n"] * sum(million["widths"][:2]) / GIB,
    )
    yield Goal(
        text,
        command,
        16.0,
        peak,
        f"{peak:.2f} GiB",
        f"the views: {inputs:.2f} GiB",
        f"{inputs / peak:.0%}",
        (million,),
    )


def eigen_goal(rows: list[Row], rates: Rates) -> Goal:
    """Our seconds over those of `eigsh`, and the share of the bandwidth on the largest graph."""
    text, command = "Eigenvectors as fast as scipy's `eigsh` (median over graphs)", "eigen"
    theirs = {row["graph"]: row["seconds"] for row in rows if row["method"] == "scipy_eigsh"}
    own = [row for row in rows if row["method"] == OWN_SOLVER and row["graph"] in theirs]
    if not own:
        return Goal(text, command, 1.0)
    ratios = {row["graph"]: row["seconds"] / theirs[row["graph"]] for row in own}
    largest, ratio = max(own, key=lambda row: row["n"]), median(ratios.values())
    figure = (
        f"{ratio:.2f} times "
        f"({', '.join(f'{graph} {value:.2f}' for graph, value in ratios.items())})"
    )
    limit = eigen_limit(largest, rates)
    reached = (
        f"{limit.share(largest['seconds'])} ({largest['graph']})" if limit and limit.seconds else ""
    )
    return Goal(text, command, 1.0, ratio, figure, str(limit or ""), reached, tuple(own))


def startup_goals(rows: list[Row]) -> Iterable[Goal]:
    aims = {
        "first fit, no compiled code": (
            "The first fit where nothing is compiled yet, in at most 4 s",
            4.0,
            "first fit, compiled code kept",
        ),
        "rmgl --help": ("`rmgl --help` in at most 0.3 s", 0.3, "python alone"),
        "import rmgl": ("`import rmgl` stays light", None, "python alone"),
    }
    for what, (text, most, least) in aims.items():
        row, other = first(rows, what=what), first(rows, what=least)
        limit = Limit(least, other["seconds"]) if other else None
        yield timed(text, "startup", most, row, limit)


def new_row_goals(rows: list[Row], rates: Rates) -> Iterable[Goal]:
    texts = {
        "many new rows": "10,000 new rows against 100,000 fitted at the defaults in at most 3 s",
        "many new rows, given parameters": "The same, fitted with alpha and beta given",
    }
    for what, text in texts.items():
        row = first(rows, what=what, n_fitted=100_000)
        limit = new_rows.limit_of(row, rates) if row else None
        yield timed(text, f'practice --only "{what}"', 3.0, row, limit)


def sparse_goals(rows: list[Row], rates: Rates) -> Iterable[Goal]:
    found = {one.ours[0]["n"]: one for one in compare(rows)}
    text = (
        "20,000 documents in two sparse views in at most 6 times the time of spectral "
        "clustering, one thread"
    )
    other = (
        "Their memory in proportion to the non-zeros: times the input no more than for 2,000 "
        "documents"
    )
    large, small = found.get(20_000), found.get(2000)
    if large is None:
        yield from (Goal(text, "sparse", 6.0), Goal(other, "sparse", 1.0))
        return
    limit = sparse_views.limit_of(large, rates)
    figure = f"{large.ratio:.2f} ({number(large.seconds)} s)"
    yield Goal(
        text,
        "sparse",
        6.0,
        large.ratio,
        figure,
        str(limit),
        limit.share(large.seconds),
        told([large]),
    )
    if small is None:
        yield Goal(other, "sparse", 1.0)
        return
    times = [sparse_views.times_input(one) for one in (large, small)]
    figure = f"{times[0]:.1f} times the input; {times[1]:.1f} for 2,000"
    least = f"the non-zeros: {large.ours[0]['input_bytes'] / 1e6:.0f} MB"
    yield Goal(
        other,
        "sparse",
        1.0,
        times[0] / times[1],
        figure,
        least,
        f"{1 / times[0]:.0%}",
        told([large]),
    )


def worker_goals(rows: list[Row]) -> Iterable[Goal]:
    """What one Dask worker takes beside one thread, and two workers beside one, on one
    machine.
    """
    by_case = {(row["what"], row["n"], row["workers"]): row for row in rows}
    one = "of {n:,} rows by one Dask worker in at most {most} times the time of one thread"
    cases = [
        (f"{what.capitalize()} {one.format(n=n, most=most)}", what, n, (1, 0), most)
        for what, n, most in ON_WORKERS
    ]
    two = "of 100,000 rows by two workers"
    cases += [
        (
            f"Search {two} 1.7 times as fast: in 0.588 of the time of one",
            "search",
            100_000,
            (2, 1),
            1 / 1.7,
        ),
        (f"Fit {two} in at most 0.6 of the time of one", "fit", 100_000, (2, 1), 0.6),
    ]
    for text, what, n, workers, most in cases:
        own, other = (by_case.get((what, n, number_of)) for number_of in workers)
        command = f"distributed --only {what}"
        if own is None or other is None:
            yield Goal(text, command, most)
            continue
        ratio, least = own["seconds"] / other["seconds"], other["seconds"] / workers[0]
        figure, reached = (
            f"{ratio:.3g} ({number(own['seconds'])} s)",
            f"{least / own['seconds']:.0%}",
        )
        yield Goal(
            text,
            command,
            most,
            ratio,
            figure,
            f"without overhead: {number(least)} s",
            reached,
            (own, other),
        )
