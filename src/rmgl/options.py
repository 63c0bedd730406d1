"""Options of the commands in `rmgl.cli`, and their parsers.

This module loads no numerical library, so that `--help` responds at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

from rmgl.estimators import defaults

Command: TypeAlias = Callable[..., None]
Option: TypeAlias = Callable[[Command], Command]
PATH = click.Path(path_type=Path)


def option(names: str, help: str, **settings: Any) -> Option:
    """Return an option with these names, separated by spaces."""
    return click.option(*names.split(), help=help, **settings)


def flag(name: str, help: str) -> Option:
    """Return an option without a value."""
    return option(name, help, is_flag=True)


def together(*options: Option) -> Option:
    """Return several options, in their order in the help, as one."""

    def decorate(command: Command) -> Command:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


def number_or_auto(value: str) -> int | str:
    """Parse a whole number, or "auto"."""
    try:
        return value if value == "auto" else int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not an integer or auto") from None


def per_view(name: str, kind: type[float] | type[str], default: str, help: str) -> Option:
    """Return an option with a value, or one per view: `2,2,20` in order, or `fac=2,mor=20`."""

    def parse(value: str) -> Any:
        if value == "auto":
            return value
        parts = value.split(",")
        try:
            if all("=" in part for part in parts):
                pairs = (part.rpartition("=") for part in parts)
                return {view: kind(number) for view, _, number in pairs}
            return kind(value) if len(parts) == 1 else [kind(part) for part in parts]
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not a number, a list like 2,2,20 or pairs like fac=2,mor=20"
            ) from None

    metavar = "NUMBER" if kind is float else "TEXT"
    return option(name, help, type=parse, default=default, metavar=metavar)


INPUTS = click.argument("inputs", nargs=-1, type=PATH)
FORCE = flag("--force", "Overwrite an output folder that rmgl wrote before.")
JOBS = option("--jobs", "Number of threads; -1 uses all cores.", type=int, default=-1)
NETWORKS = option(
    "--network networks",
    "Edge list used as a view (.csv, .tsv or .txt with two ids and an optional weight per line). "
    "May be repeated.",
    multiple=True,
    type=PATH,
    metavar="EDGES",
)
CLUSTERS = option(
    "-k --clusters",
    "Number of clusters, or auto to choose it from the data.",
    required=True,
    type=number_or_auto,
    metavar="NUMBER",
)
LAYERS = together(
    per_view(
        "--alpha",
        float,
        defaults.ALPHA,
        "Density of the layers; larger values give more edges. A number, a list with one number "
        "per view, or name=number pairs.",
    ),
    per_view(
        "--beta",
        float,
        defaults.BETA,
        "Weight of each view in the embedding, in the form of --alpha.",
    ),
    per_view(
        "--scale",
        str,
        defaults.SCALE,
        "Scaling of each view, in the form of --alpha: auto, minmax, root, hellinger, unit, "
        "standard or none.",
    ),
    option(
        "--neighbors n_neighbors",
        "Mean number of edges per node if alpha is auto.",
        default=defaults.N_NEIGHBORS,
    ),
    option(
        "--missing",
        "Missing cells: compare rows by their shared columns (pairwise), or stop with an error.",
        type=click.Choice(["pairwise", "error"]),
        default=defaults.MISSING,
    ),
    flag(
        "--components",
        "Increase beta until every layer has exactly one component per cluster.",
    ),
)
ALIGNMENT = together(
    option(
        "--id id_column",
        "Column of row ids. Aligns the rows of several files and labels the output.",
    ),
    option(
        "--align",
        "With --id: keep the ids of any file (outer) or only those in all files (inner).",
        type=click.Choice(["outer", "inner"]),
    ),
)
OUTCOME = together(
    option(
        "--outcome",
        "Table of columns that have no part in the fit, with the ids of --id: says how they differ "
        "between the clusters.",
        type=PATH,
        metavar="FILE",
    ),
    option(
        "--time",
        "Column of --outcome: until when each row was observed. Compares survival.",
        metavar="COLUMN",
    ),
    option(
        "--event",
        "Column of --outcome: whether the event happened then (1 or 0, true or false).",
        metavar="COLUMN",
    ),
)
SOLVING = together(
    option(
        "--solver", "Solver of the layer problem: newton or dual-ascent.", default=defaults.SOLVER
    ),
    option(
        "--tol",
        "Stop when the relative change of the objective is below this value.",
        default=defaults.TOL,
    ),
    option(
        "--max-iter",
        "Maximum number of rounds over layers and embedding.",
        default=defaults.MAX_ITER,
    ),
    option(
        "--max-seconds",
        "Time limit in seconds; afterwards, write the best result so far.",
        type=float,
    ),
    option(
        "--checkpoint",
        "Folder for finished steps. If the command is interrupted, run it again to resume. Deleted "
        "at the end.",
        type=PATH,
    ),
)
WORKERS = together(
    option(
        "--scheduler",
        "Fit on Dask workers; address of their scheduler, such as tcp://host:8786.",
        metavar="ADDRESS",
    ),
    option(
        "--workers",
        "Fit on this number of Dask worker processes on this machine.",
        type=click.IntRange(1),
    ),
    flag("--plan", "With --scheduler or --workers: print the resources of the fit, and stop."),
)
