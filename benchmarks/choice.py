"""Sections of the quality page: the verdict and the number of clusters."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.results import Row
from benchmarks.suite_numbers import WORDS, is_exact, is_inside, is_near, public
from benchmarks.suite_trust import EDGES
from benchmarks.tables import done, table


def trust_section(rows: list[Row], output: Path) -> Iterable[str]:
    """How good clusterings were, by strength of the evidence."""
    kept = [row for row in rows if done(row) and row["strength"] is not None]
    clouds = [row for row in kept if row["dataset"].startswith("cloud")]
    known = [row for row in kept if not row["dataset"].startswith("cloud")]
    if len(known) < len(EDGES):
        return  # a quick run, or the data sets are missing
    scores = np.array([row["ari"] for row in known])
    yield "## Is the verdict calibrated?"
    ranks = {
        name: spearmanr([row[name] for row in known], scores).statistic
        for name in ("stability", "separation", "strength")
    }
    yield (
        f"This section uses {len(known)} clusterings of public and generated data sets, and of "
        "subsets of their rows and classes, with the true number of classes as `n_clusters`. The "
        f"rank correlation with the adjusted Rand index is {ranks['stability']:.2f} for stability, "
        f"{ranks['separation']:.2f} for separation and {ranks['strength']:.2f} for strength. The "
        "package contains the quartiles in the first table, smoothed so that stronger evidence "
        "never has lower quartiles (isotonic regression)."
    )
    place = np.digitize([row["strength"] for row in known], EDGES) - 1
    yield table(
        ["minimum strength", "clusterings", *SPREAD],
        [[edge, *described(scores[place == at])] for at, edge in enumerate(EDGES)],
    )
    words = np.array([row["trust"] for row in known])
    yield table(
        ["rating", "clusterings", "mean", *SPREAD],
        [
            [word, len(own), f"{own.mean():.2f}", *described(own)[1:]]
            for word in ("good", "fair", "poor")
            if len(own := scores[words == word])
        ],
    )
    inside = np.mean([is_between(known, row) for row in known])
    yield (
        "When the quartiles for each clustering are computed from all the other data sets, "
        f"{inside:.0%} of the clusterings fall between them; ideally, half would."
    )
    called = [sum(row["trust"] == word for row in clouds) for word in ("good", "fair", "poor")]
    yield (
        f"Of {len(clouds)} clusterings of data without clusters, {called[2]} are rated poor, "
        f"{called[1]} fair and {called[0]} good."
    )


def numbers_section(rows: list[Row], output: Path) -> Iterable[str]:
    """How often RMGL chose the number of classes, and how often the range contained it."""
    known = public(rows)
    if not known:
        return  # a quick run, or the data sets are missing
    yield "## Is the range for the number of clusters calibrated?"
    yield (
        f'This section evaluates `n_clusters="auto"` on {len(known)} public data sets and subsets '
        "of their rows and classes. *In the range*: the reported range contains the number of "
        "classes. *Near*: the chosen number differs from the number of classes by at most one, or "
        "by at most a fifth. The percentages in this table are part of the package. We chose the "
        "rule using these data sets, and many of them are subsets of the same "
        f"{len({row['dataset'] for row in known})}, so results on other data may be worse."
    )
    groups = {word: [row for row in known if row["confidence"] == word] for word in WORDS}
    yield table(
        ["confidence", "data sets", "in the range", "near", "exact"],
        [
            [word, len(own), *(f"{np.mean([f(row) for row in own]):.0%}" for f in COUNTED)]
            for word, own in {**groups, "all": known}.items()
            if own
        ],
    )
    whole = [row for row in known if row["part"] == "all"]
    yield "The data sets before subsets are drawn:"
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
        f"The confidence in the chosen number is high for {high} of {len(clouds)} data sets "
        f"without clusters. For {wrong} of {len(made) - len(clouds)} generated sets of "
        "complementary views, the chosen number is wrong even though the confidence is high: when "
        "each view separates only some of the clusters, the chosen number tends to be too low."
    )


COUNTED = (is_inside, is_near, is_exact)
SPREAD = ("lower quartile", "median", "upper quartile", "minimum", "maximum")


def described(scores: np.ndarray) -> list[str]:
    """The number of scores, their quartiles, and the minimum and maximum."""
    if not scores.size:
        return ["0", "", "", "", "", ""]
    numbers = np.quantile(scores, [0.25, 0.5, 0.75, 0.0, 1.0])
    return [str(scores.size), *(f"{number:.2f}" for number in numbers)]


def is_between(rows: list[Row], row: Row) -> bool:
    """Whether a score lies between the quartiles of similar clusterings of all other data sets."""
    group = np.digitize(row["strength"], EDGES)
    like = [
        other["ari"]
        for other in rows
        if other["dataset"] != row["dataset"] and np.digitize(other["strength"], EDGES) == group
    ]
    least, most = np.quantile(like, [0.25, 0.75]) if like else (0.0, 1.0)
    return bool(least <= row["ari"] <= most)
