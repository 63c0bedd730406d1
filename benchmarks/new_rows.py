"""The section on labeling many new rows."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.limits import Limit, Rates, product_flops
from benchmarks.results import Row
from benchmarks.tables import commits, done, number, table


def section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    many = [row for row in rows if row["what"].startswith("many") and done(row)]
    if not many:
        return
    yield "## New rows"
    yield (
        "New rows of the mixture, labeled by `predict` of models that have just been fitted: "
        "at the defaults, and with alpha and beta "
        "given, which takes less time to fit and has no consensus to search. *Again* is the "
        "median of further calls. The *limit* is the "
        "time of the products of all new rows with all fitted ones in every searched space, "
        "at the rate of GEMM in single precision."
    )
    head = [
        "model",
        "fitted",
        "new",
        "threads",
        "seconds",
        "again",
        "limit, s",
        "reached",
        "fit, s",
        "NMI",
        "NMI of the fit",
        "commit",
    ]
    yield table(head, [line(row, rates) for row in many])


def line(row: Row, rates: Rates) -> list[object]:
    limit = limit_of(row, rates)
    return [
        row["what"].removeprefix("many new rows").removeprefix(", ") or "defaults",
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
        commits([row]),
    ]


def limit_of(row: Row, rates: Rates) -> Limit | None:
    """None for rows from before the widths of the searched spaces were noted."""
    if "widths" not in row:
        return None
    return rates.for_products(
        product_flops(row["n_new"], sum(row["widths"]), row["n_fitted"]), row["n_threads"]
    )
