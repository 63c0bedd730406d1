"""Options for the commands in `rmgl.command_line.cli`, and their parsers.

This module loads no numerical library, so that `--help` responds at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

from rmgl.estimators import defaults
from rmgl.storage.paths import NamedFile

Command: TypeAlias = Callable[..., None]
Option: TypeAlias = Callable[[Command], Command]
PATH = click.Path(path_type=Path)


class HeadedCommand(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, with those without a heading last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        options = [each for each in self.get_params(ctx) if each.param_type_name == "option"]
        for parameter in sorted(options, key=lambda each: not hasattr(each, "heading")):
            row = parameter.get_help_record(ctx)
            if row is not None:
                heading = getattr(parameter, "heading", "Options")
                sections.setdefault(heading, []).append(row)
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class Commands(click.Group):
    """Commands with headings in their help."""

    command_class = HeadedCommand


def option(names: str, help: str, **settings: Any) -> Option:
    """Return an option with these names, separated by spaces."""
    return click.option(*names.split(), help=help, **settings)


def flag(name: str, help: str) -> Option:
    """Return an option without a value."""
    return option(name, help, is_flag=True)


def under(heading: str, *options: Option) -> Option:
    """Combine several options into one, listed in order under a heading in the help."""

    def decorate(command: Command) -> Command:
        for add in reversed(options):
            command = add(command)
            parameters: list[Any] = vars(command)["__click_params__"]
            parameters[-1].heading = heading
        return command

    return decorate


def numbers_of_clusters(value: str) -> int | str | range:
    """Parse a positive whole number, a range such as 2-8, or "auto"."""
    if value == "auto":
        return value
    first, dash, last = value.partition("-")
    if dash and first.isdecimal() and last.isdecimal():
        if int(first) < 1:
            raise click.BadParameter("0 is not a valid number of clusters: start at 1 or more")
        if int(first) >= int(last):
            raise click.BadParameter(
                f"{value!r} is not a range from a smaller number to a larger one"
            )
        return range(int(first), int(last) + 1)
    try:
        number = int(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a whole number, a range such as 2-8, or auto"
        ) from None
    if number < 1:
        raise click.BadParameter(
            f"{number} is not a valid number of clusters: use 1 or more, or auto"
        )
    return number


def number_of_threads(value: str) -> int:
    """Parse a positive whole number, or -1 for all cores."""
    try:
        number = int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a whole number") from None
    if number == 0:
        raise click.BadParameter(
            "0 is not a valid number of threads: use 1 or more, or -1 for all cores"
        )
    return number


def per_view(
    name: str, kind: type[float] | type[str], single: Any, default: str, help: str
) -> Option:
    """Return an option that takes one value, or one per view: `2,2,20` in order, or `fac=2,mor=20`.

    `single` is the click type of one value for all views.
    """

    def parse(value: str) -> Any:
        if value == "auto":
            return value
        parts = value.split(",")
        try:
            if all("=" in part for part in parts):
                pairs = (part.rpartition("=") for part in parts)
                return {view: kind(number) for view, _, number in pairs}
            values = [kind(part) for part in parts]
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not a number, a list like 2,2,20 or pairs like fac=2,mor=20"
            ) from None
        return single.convert(value, None, None) if len(values) == 1 else values

    metavar = "NUMBER" if kind is float else "TEXT"
    return option(name, help, type=parse, default=default, metavar=metavar)


SCALES = ("auto", "minmax", "root", "hellinger", "unit", "standard", "none")
SOLVERS = ("newton", "dual-ascent")


def listed(context: click.Context, option: click.Parameter, values: Any) -> tuple[str, ...]:
    """Parse the comma-separated lists in an option that may be repeated."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def views_by_name(
    context: click.Context, option: click.Parameter, values: Any
) -> dict[str, tuple[str, ...]]:
    """Parse values such as `body=bill_*,flipper_*` of an option that may be repeated."""
    views = dict[str, tuple[str, ...]]()
    for value in values:
        name, _, columns = value.partition("=")
        patterns = listed(context, option, [columns])
        if not name.strip() or not patterns:
            raise click.BadParameter(
                f"{value!r} is not of the form name=columns, such as body=bill_*"
            )
        views[name.strip()] = (*views.get(name.strip(), ()), *patterns)
    return views


INPUTS = click.argument("inputs", nargs=-1, type=NamedFile.of)
FORCE = flag("--force", "Overwrite an existing output folder that was written by rmgl.")
JOBS = option(
    "--jobs",
    "Number of threads; -1 uses all cores.",
    type=number_of_threads,
    default=-1,
    metavar="NUMBER",
)
NETWORKS = option(
    "--network networks",
    "Edge list used as a view (.csv, .tsv or .txt with two ids and an optional weight per line). "
    "May be repeated.",
    multiple=True,
    type=NamedFile.of,
    metavar="EDGES",
)
ID = option(
    "--id id_column",
    "Column with row ids. Aligns the rows across files and labels the output.",
    metavar="COLUMN",
)
COLUMNS = option(
    "--columns",
    "Use only these columns: comma-separated names or patterns such as 'gene_*'. May be repeated.",
    multiple=True,
    callback=listed,
    metavar="NAMES",
)
DROP = option(
    "--drop",
    "Leave out these columns, specified as for --columns.",
    multiple=True,
    callback=listed,
    metavar="NAMES",
)
SPLIT = option(
    "--view split",
    "Split one table into views, such as --view 'body=bill_*,flipper_*' --view "
    "diet=delta_15,delta_13. Repeat the option for each view.",
    multiple=True,
    callback=views_by_name,
    metavar="NAME=NAMES",
)
SHEET = option(
    "--sheet sheets",
    "Sheet of an Excel workbook, if not the first. Repeat the option to use several sheets, each "
    "as a view.",
    multiple=True,
    metavar="NAME",
)
CLUSTERS = under(
    "Clusters",
    option(
        "-k --clusters",
        "Number of clusters, auto to choose it from the data, or a range such as 2-8. For a range, "
        "each result is written to its own folder, and a table compares them.",
        required=True,
        type=numbers_of_clusters,
        metavar="NUMBER",
    ),
    option("--seed", "Random seed.", type=click.IntRange(0), default=0),
)
RESULTS = under(
    "Results",
    option(
        "-o --output",
        "Folder for the results; written completely or not at all.",
        required=True,
        type=PATH,
    ),
    FORCE,
    option("--save", "Also save the model to this file, for `rmgl predict`.", type=PATH),
    flag("--no-plots", "Do not draw figures."),
    flag("--no-report", "Do not write report.html, the interactive report."),
    flag(
        "--graphml",
        "Also write the layers as GraphML: all layers to layers.graphml, and each layer to a file "
        "in the folder layers (requires networkx).",
    ),
    flag(
        "--edge-lists",
        "Also write CSV files for Gephi: one for the nodes, and one for the edges in each layer.",
    ),
)
LAYERS = under(
    "Layers and embedding",
    per_view(
        "--alpha",
        float,
        click.FloatRange(0, min_open=True),
        defaults.ALPHA,
        "Density of the layers; larger values give more edges. A number, a list with one number "
        "per view, or name=number pairs.",
    ),
    per_view(
        "--beta",
        float,
        click.FloatRange(0),
        defaults.BETA,
        "Weight of each view in the embedding, in the same form as --alpha.",
    ),
    per_view(
        "--scale",
        str,
        click.Choice(SCALES),
        defaults.SCALE,
        "Scaling of each view, in the same form as --alpha: "
        f"{', '.join(SCALES[:-1])} or {SCALES[-1]}.",
    ),
    option(
        "--neighbors n_neighbors",
        "Mean number of edges per node if alpha is auto.",
        type=click.IntRange(1),
        default=defaults.N_NEIGHBORS,
    ),
    option(
        "--missing",
        "Treatment of missing cells: compare rows on their shared columns (pairwise), or stop with "
        "an error (error).",
        type=click.Choice(["pairwise", "error"]),
        default=defaults.MISSING,
    ),
    flag(
        "--components",
        "Increase beta until every layer has exactly one component per cluster.",
    ),
)
DATA = under(
    "Data",
    ID,
    option(
        "--align",
        "With --id: keep the ids that occur in any file (outer), or only those in all files "
        "(inner).",
        type=click.Choice(["outer", "inner"]),
    ),
    COLUMNS,
    DROP,
    SPLIT,
    SHEET,
    NETWORKS,
)
OUTCOME = under(
    "Columns not used in the fit",
    option(
        "--outcome",
        "Table of columns that are not used in the fit, with row ids in the column named by --id. "
        "Reports how these columns differ between the clusters.",
        type=PATH,
        metavar="FILE",
    ),
    option(
        "--time",
        "Column in --outcome: how long each row was observed. Use it to compare survival.",
        metavar="COLUMN",
    ),
    option(
        "--event",
        "Column in --outcome: whether the event occurred at the end of that time (1 or 0, true or "
        "false).",
        metavar="COLUMN",
    ),
    option(
        "--color",
        "Comma-separated columns in --outcome that the report can color the rows by. May be "
        "repeated.",
        multiple=True,
        callback=listed,
        metavar="NAMES",
    ),
)
SOLVING = under(
    "Solver",
    option(
        "--solver",
        "Solver for the layer problem.",
        type=click.Choice(SOLVERS),
        default=defaults.SOLVER,
    ),
    option(
        "--tol",
        "Stop when the relative change in the objective is below this value.",
        type=click.FloatRange(0),
        default=defaults.TOL,
    ),
    option(
        "--max-iter",
        "Maximum number of rounds over layers and embedding.",
        type=click.IntRange(1),
        default=defaults.MAX_ITER,
    ),
    option(
        "--max-seconds",
        "Time limit in seconds. When it is reached, the best result so far is written.",
        type=click.FloatRange(0),
    ),
    option(
        "--checkpoint",
        "Folder for finished steps, deleted at the end. If the command is interrupted, run it "
        "again to resume.",
        type=PATH,
    ),
)
WORKERS = under(
    "Threads and Dask workers",
    JOBS,
    option(
        "--scheduler",
        "Fit on the Dask workers of the scheduler at this address, such as tcp://host:8786.",
        metavar="ADDRESS",
    ),
    option(
        "--workers",
        "Fit on this number of Dask worker processes on this machine.",
        type=click.IntRange(1),
    ),
    flag(
        "--plan", "With --scheduler or --workers: print the resources that the fit needs, and stop."
    ),
)
