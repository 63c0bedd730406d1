"""The sections on exact neighbors and on eigenvectors, each with its limits."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.limits import Limit, Rates, product_flops
from benchmarks.results import Row
from benchmarks.tables import done, mark, number, table

OWN_SEARCH, OWN_SOLVER = "rmgl_tiles", "rmgl_lanczos"


def search_section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    yield "## Exact neighbors"
    yield (
        "The 30 nearest neighbors of every row of a view of the mixture (16 and 32 columns) "
        "or of MNIST (pixels, 784 columns, and "
        "histograms of oriented gradients, 324), and the share of them, for a sample of "
        "rows, that are right. 100,000 rows of pixels are "
        "all of MNIST and 30,000 between two images of the same digit. The search of this "
        "package uses one thread, because views are "
        "searched side by side; the others use as many as they are given."
    )
    dimensions = {(row["n"], row["view"]): row["dimension"] for row in rows if done(row)}
    heads = {
        (n, view): f"N = {n:,}, D = {dimensions.get((n, view), '?')}" for n, view in places(rows)
    }
    yield grid(
        "search",
        heads,
        {((row["n"], row["view"]), row["method"]): row for row in rows},
        "recall",
        ".4f",
    )
    own = [
        row
        for row in rows
        if row["method"] == OWN_SEARCH and done(row) and "columns" in row["extra"]
    ]
    if own:
        yield (
            f"The limits of `{OWN_SEARCH}`: products of all pairs of rows, each pair once, "
            "in the columns of its tiles (all, or leading "
            "principal axes and the length of the rest, which rule out most pairs) and in "
            "all columns, at the rate of GEMM in single "
            "precision with one thread."
        )
        head = [
            "N",
            "D",
            "columns of tiles",
            "seconds",
            "limit in these, s",
            "reached",
            "limit in all, s",
            "reached",
        ]
        yield table(head, [search_line(row, rates) for row in own])


def places(rows: list[Row]) -> list[tuple[int, str]]:
    return list(dict.fromkeys((row["n"], row["view"]) for row in rows))


def grid(title: str, heads: dict, cells: dict[tuple, Row], field: str, form: str) -> str:
    """Seconds and another number of every method (rows) at every place (columns)."""

    def cell(place: object, method: str) -> str:
        row = cells.get((place, method))
        return (
            f"{number(row['seconds'])} s, {row[field]:{form}}" if row and done(row) else mark(row)
        )

    methods = dict.fromkeys(method for _, method in cells)
    return table(
        [title, *heads.values()],
        [[method, *(cell(place, method) for place in heads)] for method in methods],
    )


def search_line(row: Row, rates: Rates) -> list[object]:
    line: list[object] = [
        f"{row['n']:,}",
        row["dimension"],
        row["extra"]["columns"],
        number(row["seconds"]),
    ]
    for width in (row["extra"]["columns"], row["dimension"]):
        limit = rates.for_products(product_flops(row["n"], width))
        line += [number(limit.seconds), limit.share(row["seconds"])]
    return line


def eigen_section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    yield "## Eigenvectors"
    yield (
        "The K smallest eigenvectors of the graph a fit ends with, to a residual of 1e-8: "
        "seconds, and the largest residual relative to "
        "the bound 2 max d of the spectrum. All solvers start cold; that of this package, "
        "which calls scipy's `eigsh` and then looks for "
        "what it may have missed, has no other start."
    )
    sizes = {
        row["graph"]: f"{row['graph']}: {row['n']:,} nodes, {row['edges']:,} edges, K = {row['k']}"
        for row in rows
        if done(row)
    }
    heads = {
        graph: sizes.get(graph, graph) for graph in dict.fromkeys(row["graph"] for row in rows)
    }
    yield grid(
        "solver", heads, {(row["graph"], row["method"]): row for row in rows}, "residual", ".0e"
    )
    own = [(row, limit) for row in rows if (limit := eigen_limit(row, rates))]
    if own:
        yield (
            f"The limits of `{OWN_SOLVER}`: what its products read of the matrix, at the "
            "memory's bandwidth."
        )
        lines = []
        for row, limit in own:
            times = [number(row["seconds"]), number(limit.seconds), limit.share(row["seconds"])]
            lines.append([row["graph"], row["extra"]["n_products"], limit.what, *times])
        yield table(["graph", "products", "read", "seconds", "limit, s", "reached"], lines)


def eigen_limit(row: Row, rates: Rates) -> Limit | None:
    if row["method"] != OWN_SOLVER or not done(row) or not row["extra"].get("n_products"):
        return None
    return rates.for_reading(row["extra"]["n_products"] * row["product_bytes"], row["n_threads"])
