"""The options that commands of `rmgl.cli` share or that belong together, and how they are parsed.

No numerical library is loaded here, so help is shown at once.
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
        raise click.BadParameter(f"{value!r} is not a whole number or auto") from None


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
FORCE = flag("--force", "Replace an output folder that rmgl wrote before.")
JOBS = option("--jobs", "Number of threads; -1 uses all cores.", type=int, default=-1)
NETWORKS = option(
    "--network networks",
    "Edge list (.csv, .tsv or .txt: two ids and, if there is a third column, a weight) that is a "
    "view of its own; may be repeated.",
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
        "Density of the layers, larger for more edges: a number, a list by view, or name=number "
        "pairs.",
    ),
    per_view(
        "--beta", float, defaults.BETA, "Weight of each view in the embedding, in the same forms."
    ),
    per_view(
        "--scale",
        str,
        defaults.SCALE,
        "auto, minmax, root, hellinger, unit, standard or none, in the same forms.",
    ),
    option(
        "--neighbors n_neighbors",
        "Mean number of edges per node if alpha is auto.",
        default=defaults.N_NEIGHBORS,
    ),
    option(
        "--missing",
        "Missing cells: compare rows by the columns that both have, or refuse them.",
        type=click.Choice(["pairwise", "error"]),
        default=defaults.MISSING,
    ),
    flag(
        "--components",
        "Increase beta until every layer has exactly as many components as clusters.",
    ),
)
ALIGNMENT = together(
    option(
        "--id id_column",
        "Column of row ids: aligns the rows of several files and labels the output.",
    ),
    option(
        "--align",
        "With --id, if ids differ: use the ids of any file (outer) or those of all files (inner).",
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
    option("--tol", "Relative change of the objective at which to stop.", default=defaults.TOL),
    option(
        "--max-iter",
        "Maximum number of rounds over layers and embedding.",
        default=defaults.MAX_ITER,
    ),
    option(
        "--max-seconds",
        "Time limit in seconds; the best result so far is then written.",
        type=float,
    ),
    option(
        "--checkpoint",
        "Folder for finished steps. If the command is interrupted, run it again: it resumes from "
        "them. Deleted at the end.",
        type=PATH,
    ),
)
WORKERS = together(
    option(
        "--scheduler",
        "Fit on the Dask workers whose scheduler has this address, such as tcp://host:8786.",
        metavar="ADDRESS",
    ),
    option(
        "--workers",
        "Fit on so many Dask worker processes on this machine.",
        type=click.IntRange(1),
    ),
    flag("--plan", "With --scheduler or --workers: print what the fit will need, and stop."),
)
