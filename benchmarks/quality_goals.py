"""Goals for scores: clusterings, verdicts, numbers of clusters, networks and small studies."""

from collections.abc import Callable, Iterable

import numpy as np

from benchmarks import few_rows
from benchmarks.goal import Goal
from benchmarks.quality import OURS
from benchmarks.results import Row
from benchmarks.suite_numbers import is_exact, is_inside, is_near, public
from benchmarks.suite_quality import COMPARED

Rows = dict[str, list[Row]]
"""Rows by suite."""
WORSE, BETTER = 0.3, 0.8
"""Adjusted Rand indices that are too low to be called good, and too high to be called poor."""
OTHERS = {"sum_of_networks": "spectral clustering of the sum", "leiden_networks": "Leiden"}


def quality_goals(found: Rows) -> Iterable[Goal]:
    """All goals for scores, including those for which nothing has been measured."""
    yield from score_goals(found.get("quality", []))
    yield from verdict_goals(found.get("trust", []))
    yield from number_goals(public(found.get("numbers", [])))
    yield from network_goals(found.get("networks", []))
    yield from small_goals(found.get("robustness", []))


def at_least(text: str, command: str, limit: float, rows: list[Row], find: Callable) -> Goal:
    """A goal for the number that `find(rows)` returns with its text, if there are rows."""
    if not rows:
        return Goal(text, command, limit, at_least=True)
    value, figure = find(rows)
    return Goal(text, command, limit, value, figure, tuple(rows), at_least=True)


def none_of(text: str, command: str, rows: list[Row], is_wrong: Callable[[Row], bool]) -> Goal:
    """A goal that no row is wrong."""
    if not rows:
        return Goal(text, command, 0.0)
    wrong = sum(map(is_wrong, rows))
    return Goal(text, command, 0.0, wrong, f"{wrong} of {len(rows)}", tuple(rows))


def average(name: str) -> Callable[[list[Row]], tuple[float, str]]:
    def find(rows: list[Row]) -> tuple[float, str]:
        value = float(np.mean([row[name] for row in rows]))
        return value, f"{value:.4f}"

    return find


def score_goals(rows: list[Row]) -> Iterable[Goal]:
    """Mean NMI of the defaults, on all data sets and on those that all methods ran on."""
    own = [row for row in rows if row["method"] == OURS]
    ten = [row for row in own if row["dataset"] in COMPARED]
    yield at_least(
        "Mean NMI of at least 0.66 on 18 data sets", "quality", 0.66, own, average("nmi")
    )
    text = "Mean NMI of at least 0.878 on ten of them"
    yield at_least(text, "quality", 0.878, ten, average("nmi"))


def verdict_goals(rows: list[Row]) -> Iterable[Goal]:
    """Good, fair and poor results should differ, and none should be called the opposite."""
    known = [row for row in rows if not row["dataset"].startswith("cloud")]
    by_word = {
        word: [row for row in known if row["trust"] == word] for word in ("good", "fair", "poor")
    }

    def apart(higher: str, lower: str) -> Callable[[list[Row]], tuple[float, str]]:
        def find(rows: list[Row]) -> tuple[float, str]:
            means = [np.mean([row["ari"] for row in by_word[word]]) for word in (higher, lower)]
            return float(means[0] - means[1]), f"{means[0]:.2f} and {means[1]:.2f}"

        return find

    for higher, lower in (("good", "fair"), ("fair", "poor")):
        rated = by_word[higher] + by_word[lower] if by_word[higher] and by_word[lower] else []
        text = f"Results rated {higher} better than {lower} ones by 0.2 in adjusted Rand index"
        yield at_least(text, "trust", 0.2, rated, apart(higher, lower))
    yield none_of(
        f"No result below {WORSE} rated good", "trust", by_word["good"], lambda r: r["ari"] < WORSE
    )
    yield none_of(
        f"No result above {BETTER} rated poor",
        "trust",
        by_word["poor"],
        lambda r: r["ari"] > BETTER,
    )


def number_goals(known: list[Row]) -> Iterable[Goal]:
    """How often the number of classes is chosen, and how often it is in the range."""

    def share(is_right: Callable[[Row], bool]) -> Callable[[list[Row]], tuple[float, str]]:
        def find(rows: list[Row]) -> tuple[float, str]:
            right = sum(map(is_right, rows))
            return right / len(rows), f"{right} of {len(rows)}"

        return find

    incomplete = ("network", "digits without")
    whole = [
        row for row in known if row["part"] == "all" and not row["dataset"].startswith(incomplete)
    ]
    for text, limit, rows, is_right in (
        ("Number of classes chosen for 11 of 18 data sets", 11 / 18, whole, is_exact),
        ("Number of classes chosen for a third of data sets and subsets", 1 / 3, known, is_exact),
        ("Chosen number near that of classes for half of them", 0.5, known, is_near),
        ("Number of classes in the range for 80% of them", 0.8, known, is_inside),
    ):
        yield at_least(text, "numbers", limit, rows, share(is_right))
    sure = [row for row in known if row["confidence"] == "high"]
    text = "Chosen number always near that of classes if the confidence is high"
    yield none_of(text, "numbers", sure, lambda row: not is_near(row))


def network_goals(rows: list[Row]) -> Iterable[Goal]:
    """Mean NMI of networks, compared with two other ways to cluster them."""
    nmi = {(row["method"], row["dataset"]): row["nmi"] for row in rows}
    for method, title in OTHERS.items():
        sets = [d for m, d in nmi if m == method and ("rmgl_networks", d) in nmi]

        def compare(
            _: list[Row], method: str = method, sets: list[str] = sets
        ) -> tuple[float, str]:
            ours, theirs = (np.mean([nmi[m, d] for d in sets]) for m in ("rmgl_networks", method))
            return float(ours - theirs), f"{ours:.3f} and {theirs:.3f} ({len(sets)} sets)"

        kept = [row for row in rows if row["method"] == "rmgl_networks" and row["dataset"] in sets]
        text = f"Networks: mean NMI at least that of {title}"
        yield at_least(text, "networks", 0.0, kept, compare)


def small_goals(rows: list[Row]) -> Iterable[Goal]:
    """60 rows of every data set, compared with spectral clustering."""
    apart = [ours - theirs for ours, theirs in few_rows.by_set(rows).values()]
    own = [row for row in rows if row["change"] == few_rows.CHANGE and row["method"] == OURS]

    def gain(_: list[Row]) -> tuple[float, str]:
        value = float(np.mean([values.mean() for values in apart]))
        return value, f"{value:+.3f}"

    text = "Small studies: mean NMI 0.05 above spectral clustering"
    yield at_least(text, "robustness", 0.05, own, gain)
    text = f"Small studies: no draw more than {few_rows.LOSS} below spectral clustering"
    if not own:
        yield Goal(text, "robustness", 0.0)
        return
    lost = sum(int((values < -few_rows.LOSS).sum()) for values in apart)
    yield Goal(text, "robustness", 0.0, lost, f"{lost} of {len(own)}", tuple(own))
