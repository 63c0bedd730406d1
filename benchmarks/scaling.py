"""The section on time by stage, and on memory, as N grows."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks import figures
from benchmarks.limits import Limit, Rates, product_flops
from benchmarks.results import Row
from benchmarks.tables import GIB, done, gib, number, table

TITLES = {
    "rmgl_defaults": "with the defaults",
    "rmgl_approximate": "with approximate candidates",
}


def section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    yield "## Scale"
    yield (
        "The tables compare `RMGL(n_clusters=K).fit(views)` without other arguments, the same fit "
        'with `candidates="approximate"`, and scikit-learn\'s spectral clustering of the '
        "concatenated views. The data are two views of a Gaussian mixture (16 and 32 columns, 20 "
        "classes; each view merges two pairs of classes) and of MNIST (pixels and histograms of "
        "oriented gradients). *Neighbors* includes the search for candidate edges, its "
        "certificate, and the choice of all parameters. A certified layer is exact over all pairs "
        "of rows. The last columns show the peak memory of the process, overall and in each stage. "
        "*Brute force* is the time needed to compute the products of all pairs of rows, once in "
        "each view and once in the concatenated views, at the speed of single-precision matrix "
        "multiplication (GEMM). It is not a lower bound: a search that rules out whole tiles can "
        "be faster."
    )
    finished = [row for row in rows if done(row)]
    chosen = [row for row in finished if "stages" in row["extra"]]
    for name in dict.fromkeys(row["data"] for row in finished):
        yield f"### {name}, all methods: seconds and NMI"
        yield method_table([row for row in finished if row["data"] == name])
    for name, method in dict.fromkeys((row["data"], row["method"]) for row in chosen):
        own = sorted(
            (row for row in chosen if (row["data"], row["method"]) == (name, method)),
            key=lambda row: row["n"],
        )
        yield f"### {name}, {TITLES.get(method, method)}"
        yield scale_table(own, rates)
        yield from steps_table(own)
        yield certificate_table(own)
    missing = [row for row in rows if not done(row)]
    if missing:
        what = (f"- {row['method']}, {row['size']:,} rows: {row['status']}" for row in missing)
        yield "Runs that did not finish:\n\n" + "\n".join(what)
    figures.scale(pictured(chosen), output / "performance_scale.png")
    yield "![Seconds by stage against N](images/performance_scale.png)"


def method_table(rows: list[Row]) -> str:
    """Seconds and NMI of all methods, and the ratio of RMGL with its defaults to scikit-learn."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = []
    for n in sorted({row["n"] for row in rows}):
        found = {row["method"]: row for row in rows if row["n"] == n}
        ours, theirs = found.get("rmgl_defaults"), found.get("sklearn_spectral")
        ratio = f"{ours['seconds'] / theirs['seconds']:.2f}" if ours and theirs else ""
        cells = [
            f"{number(found[name]['seconds'])} ({found[name]['nmi']:.3f})" if name in found else ""
            for name in methods
        ]
        lines.append([f"{n:,}", *cells, ratio])
    return table(["N", *methods, "rmgl_defaults / sklearn_spectral"], lines)


def pictured(rows: list[Row]) -> list[Row]:
    """The rows of each data set with the defaults, or all of its rows if there are none."""
    at_defaults = {row["data"] for row in rows if row["method"] == "rmgl_defaults"}
    return [
        row for row in rows if row["method"] == "rmgl_defaults" or row["data"] not in at_defaults
    ]


def scale_table(rows: list[Row], rates: Rates) -> str:
    stages = list(rows[-1]["extra"]["stages"])
    lines = []
    for row in rows:
        times = [number(row["extra"]["stages"].get(stage)) for stage in stages]
        memory = [f"{row['extra']['memory_by_stage'].get(stage, 0) / GIB:.2f}" for stage in stages]
        limit = limit_of(row, rates)
        reached = [number(limit.seconds), limit.share(row["seconds"])] if limit else ["", ""]
        lines.append([f"{row['n']:,}", number(row["seconds"]), *times, *reached, gib(row), *memory])
    lines.append(
        [
            "slope",
            *(figures.slope_text(rows, name) for name in ("all", *stages)),
            *[""] * (3 + len(stages)),
        ]
    )
    head = ["N", "seconds", *stages, "brute force, s", "brute force / seconds", "peak GiB", *stages]
    text = table(head, lines)
    return text + (
        "\n\nSlope of everything after the neighbor search: "
        f"{figures.slope_text(rows, 'after neighbors')}."
    )


def limit_of(row: Row, rates: Rates) -> Limit | None:
    """The brute-force time for the products of all pairs in all searched spaces; None for rows that
    do not record the widths of these spaces.
    """
    return (
        rates.for_products(product_flops(row["n"], sum(row["widths"])), row["n_threads"])
        if "widths" in row
        else None
    )


def steps_table(rows: list[Row]) -> Iterable[str]:
    """Seconds for each step, for rows with more than one step."""
    told = [row for row in rows if len(row["extra"].get("steps", {})) > 1]
    names = list(dict.fromkeys(name for row in told for name in row["extra"]["steps"]))
    lines = []
    for row in told:
        report = row["extra"].get("later", {}).get("report")
        lines.append(
            [
                f"{row['n']:,}",
                *(number(row["extra"]["steps"].get(name)) for name in names),
                number(report),
            ]
        )
    if told:
        yield "Seconds for each step, in order, and for the report, which is not part of the fit:"
        yield table(["N", *names, "report"], lines)


def certificate_table(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        layers = row["extra"]["layers"]
        recalls = [layer["recall"] for layer in layers if layer.get("recall") is not None]
        lines.append(
            [
                f"{row['n']:,}",
                ", ".join(layer["candidates"] for layer in layers),
                f"{max(layer['kkt_residual'] for layer in layers):.0e}",
                f"{max(layer['gap'] for layer in layers):.0e}",
                ", ".join(f"{layer['edges_per_node']:.1f}" for layer in layers),
                row["extra"]["n_iter"],
                f"{row['extra']['eigen_residual']:.0e}",
                f"{row['nmi']:.3f}",
                f"{min(recalls):.4f}" if recalls else "",
            ]
        )
    head = [
        "N",
        "layers",
        "largest KKT residual",
        "largest gap",
        "edges per node",
        "rounds",
        "eigen-residual",
        "NMI",
        "smallest recall",
    ]
    return table(head, lines)
