"""Sections of the page about quality: the numbers of the automatic choice, and the verdict."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.results import Row
from benchmarks.suite_numbers import WORDS, is_exact, is_inside, is_near, public
from benchmarks.suite_trust import EDGES
from benchmarks.tables import done, table

LARGE = 0.02
"""Change of the NMI of one set that is named."""


def sensitivity_section(rows: list[Row], output: Path) -> Iterable[str]:
    """What happens if a number of the choice is halved, doubled or switched off."""
    kept = [row for row in rows if done(row)]
    base = {row["dataset"]: row["nmi"] for row in kept if row["number"] == "defaults"}
    yield "## The numbers of the automatic choice"
    yield (
        "Each number of `Policy`, and those beside it, halved, doubled or switched off: the mean "
        f"change of the NMI over {len(base)} sets (shared sets, digits complete and incomplete, "
        "networks and generated complementary views), and the sets that change by more than "
        f"{LARGE}. One seed, one thread. The sets have few outliers, rare clusters and narrow "
        "tables of zeros, which some of the numbers are for."
    )
    lines = []
    wanted = dict.fromkeys((row["number"], str(row["value"])) for row in kept)
    for number, value in wanted:
        changes = {
            row["dataset"]: row["nmi"] - base[row["dataset"]]
            for row in kept
            if (row["number"], str(row["value"])) == (number, value)
        }
        large = sorted((d, name) for name, d in changes.items() if abs(d) > LARGE)
        named = ", ".join(f"{name} {d:+.3f}" for d, name in (*large[:3], *large[3:][-2:]))
        if number != "defaults":
            short = number.removeprefix("rmgl.")
            lines.append([f"`{short}`", value, f"{np.mean([*changes.values()]):+.4f}", named])
    yield table(["number", "value", "mean change", "sets"], lines)


def trust_section(rows: list[Row], output: Path) -> Iterable[str]:
    """What answers of a strength of evidence were worth."""
    kept = [row for row in rows if done(row) and row["strength"] is not None]
    clouds = [row for row in kept if row["dataset"].startswith("cloud")]
    known = [row for row in kept if not row["dataset"].startswith("cloud")]
    if len(known) < len(EDGES):
        return  # a quick run, or the data sets are not there
    scores = np.array([row["ari"] for row in known])
    yield "## Is the verdict calibrated?"
    ranks = {
        name: spearmanr([row[name] for row in known], scores).statistic
        for name in ("stability", "separation", "strength")
    }
    yield (
        f"{len(known)} answers on public and generated sets, some of their rows and some of their "
        "classes, with the number of classes given. Rank correlation with the adjusted Rand index: "
        + ", ".join(f"{name} {value:.2f}" for name, value in ranks.items())
        + ". The package ships the quartiles of this table."
    )
    place = np.digitize([row["strength"] for row in known], EDGES) - 1
    yield table(
        ["strength from", "answers", "lower quartile", "median", "upper quartile", "least", "most"],
        [[edge, *described(scores[place == at])] for at, edge in enumerate(EDGES)],
    )
    words = np.array([row["trust"] for row in known])
    yield table(
        ["word", "answers", "mean", "lower quartile", "median", "upper quartile", "least", "most"],
        [
            [word, len(own), f"{own.mean():.2f}", *described(own)[1:]]
            for word in ("good", "fair", "poor")
            if len(own := scores[words == word])
        ],
    )
    inside = np.mean([is_between(known, row) for row in known])
    yield (
        "With the quartiles of all other data sets (leaving out all answers on the set), "
        f"{inside:.0%} of the answers are between them; half would be by design."
    )
    called = [sum(row["trust"] == word for row in clouds) for word in ("good", "fair", "poor")]
    yield (
        f"Of {len(clouds)} answers on clouds without clusters, {called[2]} are called poor, "
        f"{called[1]} fair and {called[0]} good."
    )


def numbers_section(rows: list[Row], output: Path) -> Iterable[str]:
    """How often the number of classes was chosen, and how often it was in the range."""
    known = public(rows)
    if not known:
        return  # a quick run, or the data sets are not there
    yield "## Is the range of numbers calibrated?"
    yield (
        f'`n_clusters="auto"` on {len(known)} public sets, some of their rows and some of their '
        "classes. *In the range*: the number of classes is one that cannot be told from the chosen "
        "one. *Near*: the chosen number is within one, or a fifth, of it. The package ships the "
        "shares of this table. The rule was chosen on these sets, and many of them are parts of "
        f"the same {len({row['dataset'] for row in known})}: other data may do worse."
    )
    groups = {word: [row for row in known if row["confidence"] == word] for word in WORDS}
    yield table(
        ["confidence", "sets", "in the range", "near", "exact"],
        [
            [word, len(own), *(f"{np.mean([f(row) for row in own]):.0%}" for f in COUNTED)]
            for word, own in {**groups, "all": known}.items()
            if own
        ],
    )
    whole = [row for row in known if row["part"] == "all"]
    yield "The sets as they are:"
    yield table(
        ["data set", "classes", "chosen", "range", "confidence", "stability"],
        [
            [
                row["dataset"],
                row["n_clusters"],
                row["chosen"],
                " to ".join(map(str, row["range"])),
                row["confidence"],
                f"{row['stability']:.2f}",
            ]
            for row in whole
        ],
    )
    made = [row for row in rows if row["status"] == "ok" and row not in known]
    wrong = sum(row["confidence"] == "high" and not is_near(row) for row in made)
    clouds = [row for row in made if row["dataset"].startswith("cloud")]
    high = sum(row["confidence"] == "high" for row in clouds)
    yield (
        f"Of {len(clouds)} clouds without clusters, {high} have a number of high confidence. Of "
        f"{len(made) - len(clouds)} generated sets of complementary views, {wrong} have one that "
        "is wrong: where each view separates only some of the clusters, too few are counted."
    )


COUNTED = (is_inside, is_near, is_exact)


def described(scores: np.ndarray) -> list[str]:
    """The number of scores, their quartiles, and the least and largest of them."""
    if not scores.size:
        return ["0", "", "", "", "", ""]
    numbers = np.quantile(scores, [0.25, 0.5, 0.75, 0.0, 1.0])
    return [str(scores.size), *(f"{number:.2f}" for number in numbers)]


def is_between(rows: list[Row], row: Row) -> bool:
    """Whether an answer is between the quartiles of answers like it on all other sets."""
    group = np.digitize(row["strength"], EDGES)
    like = [
        other["ari"]
        for other in rows
        if other["dataset"] != row["dataset"] and np.digitize(other["strength"], EDGES) == group
    ]
    least, most = np.quantile(like, [0.25, 0.75]) if like else (0.0, 1.0)
    return bool(least <= row["ari"] <= most)
