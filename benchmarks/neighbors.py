"""The section on exact neighbors, with brute-force times."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.limits import Rates, product_flops
from benchmarks.results import Row
from benchmarks.tables import done, mark, number, table

ONE_THREAD, ALL_THREADS = "rmgl_tiles", "rmgl_tiles_all_threads"
COLUMNS = {"left": "16", "right": "32", "columns": "128", "pixels": "784", "hog": "324"}


def described(n: int, view: str) -> str:
    """The numbers of rows and columns in one case, as text."""
    kind = f"{COLUMNS[view]} columns" if view in COLUMNS else "sparse word counts"
    return f"{n:,} rows of {kind}"


def section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    yield "## Exact neighbors"
    yield (
        "The table shows the time, in seconds, needed to find the 30 nearest neighbors of every "
        f"row, and the share of correct neighbors for a sample of rows. `{ONE_THREAD}` is RMGL's "
        f"search with one thread and `{ALL_THREADS}` with two; the other methods use two threads. "
        "The data are the two views of the mixture (16 and 32 columns), Gaussian noise (128), "
        "pixels (784: all of MNIST, and 30,000 rows interpolated between two images of the same "
        "digit) and sparse counts of 50,000 words."
    )
    by_case = {((row["n"], row["view"]), row["method"]): row for row in rows}
    places = list(dict.fromkeys((row["n"], row["view"]) for row in rows))
    methods = list(dict.fromkeys(method for _, method in by_case))
    lines = []
    for place in places:
        cells = [cell(by_case.get((place, method))) for method in methods]
        one, both = (by_case.get((place, method)) for method in (ONE_THREAD, ALL_THREADS))
        known = one and both and done(one) and done(both)
        ratio = f"{both['seconds'] / one['seconds']:.2f}" if known else ""
        lines.append([described(*place), *cells, ratio])
    yield table(["data", *methods, "two threads / one"], lines)
    own = [row for row in rows if row["method"] == ONE_THREAD and row["view"] in COLUMNS]
    own = [row for row in own if done(row)]
    if own:
        yield (
            f"The next table compares `{ONE_THREAD}` with the time needed to compute the products "
            "of all pairs of rows, each pair once, at the speed of single-precision matrix "
            "multiplication (GEMM) with one thread. The tiles contain all columns, or only the "
            "leading principal components and the norm of the remainder, which rule out most pairs."
        )
        head = ["N", "D", "columns in tiles", "seconds"]
        for columns in ("tile columns", "all columns"):
            head += [f"brute force in {columns}, s", "/ seconds"]
        yield table(head, [limit_line(row, rates) for row in own])


def cell(row: Row | None) -> str:
    return f"{number(row['seconds'])} s, {row['recall']:.4f}" if row and done(row) else mark(row)


def limit_line(row: Row, rates: Rates) -> list[object]:
    line: list[object] = [f"{row['n']:,}", row["dimension"], row["extra"]["columns"]]
    line.append(number(row["seconds"]))
    for width in (row["extra"]["columns"], row["dimension"]):
        limit = rates.for_products(product_flops(row["n"], width))
        line += [number(limit.seconds), limit.share(row["seconds"])]
    return line
