"""The sections on labeling many new rows and on choosing the number of clusters, and a study of how
well a model recognizes rows of a class that was not part of the fit.

python -m benchmarks.new_rows prints a Markdown table of this study, for every digit.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.limits import Limit, Rates, product_flops
from benchmarks.results import Row
from benchmarks.tables import done, number, table
from rmgl import RMGL
from rmgl.datasets import load_uci_digits

SHARES = (0.95, 0.99, 1.0)
"""Values of `unknown` that are measured."""


def section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    done_rows = [row for row in rows if done(row)]
    yield from number_section([row for row in done_rows if row["what"] == "number"])
    many = [row for row in done_rows if row["what"] == "many new rows"]
    if not many:
        return
    yield "## New rows"
    yield (
        "`predict` labels new rows of the mixture with a model that was just fitted with the "
        "defaults. *Again* is the median of additional calls. *Brute force* is the time needed to "
        "compute the products of all new rows with all fitted rows in every searched space, at the "
        "speed of single-precision matrix multiplication (GEMM)."
    )
    head = [
        "fitted",
        "new",
        "threads",
        "seconds",
        "again",
        "brute force, s",
        "brute force / seconds",
        "fit, s",
        "NMI",
        "NMI of the fit",
    ]
    yield table(head, [line(row, rates) for row in many])


def number_section(rows: list[Row]) -> Iterable[str]:
    """How long the choice of the number of clusters takes."""
    if not rows:
        return
    yield "## Choosing the number of clusters"
    yield (
        "The table shows the time needed to fit the mixture, which has 20 classes, with a fixed "
        '`n_clusters` and with `n_clusters="auto"`.'
    )
    lines = [
        [
            f"{row['n']:,}",
            row["n_threads"],
            number(row["fit_seconds"]),
            number(row["seconds"]),
            f"{row['seconds'] / row['fit_seconds']:.2f}",
            row["chosen"],
            " to ".join(map(str, row["range"])),
            f"{row['nmi']:.3f}",
        ]
        for row in rows
    ]
    head = ["rows", "threads", "fixed, s", "auto, s", "ratio", "chosen", "range", "NMI"]
    yield table(head, lines)


def line(row: Row, rates: Rates) -> list[object]:
    limit = limit_of(row, rates)
    return [
        f"{row['n_fitted']:,}",
        f"{row['n_new']:,}",
        row.get("n_threads", ""),
        number(row["seconds"]),
        number(row.get("again")),
        number(limit.seconds) if limit else "",
        limit.share(row["seconds"]) if limit else "",
        number(row["fit_seconds"]),
        f"{row['nmi']:.3f}",
        f"{row['fitted']:.3f}",
    ]


def limit_of(row: Row, rates: Rates) -> Limit | None:
    """None for rows that do not record the widths of the searched spaces."""
    if "widths" not in row:
        return None
    return rates.for_products(
        product_flops(row["n_new"], sum(row["widths"]), row["n_fitted"]), row["n_threads"]
    )


@dataclass(frozen=True)
class Unseen:
    """Scores of new rows of the digits, one of which was not part of the fit."""

    digit: int
    auc: float
    """The probability that a row of the unseen digit scores higher than a row of the others."""
    lost: tuple[float, ...]
    """The share of rows of the seen digits that are called unknown, for each of `SHARES`."""
    found: tuple[float, ...]
    """The share of rows of the unseen digit that are called unknown, for each of `SHARES`."""


def unseen(digit: int, every: int = 1, seed: int = 0) -> Unseen:
    """Fit four fifths of the other digits (every `every`-th row); score all other rows."""
    data = load_uci_digits()
    rows = np.random.default_rng(seed).permutation(data.target.size)[::every]
    is_unseen = data.target[rows] == digit
    seen = rows[~is_unseen]
    fitted, kept = np.split(seen, [4 * seen.size // 5])
    new = np.concatenate([kept, rows[is_unseen]])
    model = RMGL(9, random_state=0).fit({name: X[fitted] for name, X in data.views.items()})
    views = {name: X[new] for name, X in data.views.items()}
    truth = data.target[new] == digit
    called = [model.predict(views, unknown=share) == -1 for share in SHARES]
    return Unseen(
        digit,
        float(roc_auc_score(truth, model.score_samples(views))),
        tuple(float(rows[~truth].mean()) for rows in called),
        tuple(float(rows[truth].mean()) for rows in called),
    )


def unseen_table(every: int = 1, digits: Iterable[int] = range(10)) -> str:
    """The table for each digit, and the mean."""
    measured = [unseen(digit, every) for digit in digits]
    numbers = np.array([[row.auc, *np.ravel([row.lost, row.found], "F")] for row in measured])
    head = ["digit", "AUC"]
    for share in SHARES:
        head += [f"lost at {share:g}", f"found at {share:g}"]
    names = [*(str(row.digit) for row in measured), "mean"]
    lines = zip(names, [*numbers, numbers.mean(axis=0)], strict=True)
    shown = [
        [name, f"{auc:.3f}", *(f"{share:.1%}" for share in rest)] for name, (auc, *rest) in lines
    ]
    return table(head, shown)


if __name__ == "__main__":
    print(unseen_table())
