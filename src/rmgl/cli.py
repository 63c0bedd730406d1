"""The commands `rmgl cluster`, `inspect`, `predict`, `demo` and `reproduce`.

Options are parsed and paths are checked here, with no numerical library loaded, so help and bad
file names are answered at once. The commands load `rmgl.commands` for the rest.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import click

from rmgl.estimators import defaults
from rmgl.extras import not_installed
from rmgl.running.progress import cell_progress
from rmgl.storage.paths import check_apart, check_file, check_folder, check_inputs

Command: TypeAlias = Callable[..., None]
PATH = click.Path(path_type=Path)
FORCE = click.option(
    "--force", is_flag=True, help="Replace an output folder that rmgl wrote before."
)
REFUSED = (ValueError, TypeError, MemoryError, OSError)
"""What bad input raises."""
JOBS = click.option("--jobs", type=int, default=-1, help="Number of threads; -1 uses all cores.")


NETWORKS = click.option(
    "--network",
    "networks",
    multiple=True,
    type=PATH,
    metavar="EDGES",
    help=(
        "Edge list (.csv, .tsv or .txt: two ids and, if there is a third column, a weight) that "
        "is a view of its own; may be repeated."
    ),
)


class BadInput(click.ClickException):
    """An error that ends the command with one line and exit code 2."""

    exit_code = 2


@contextmanager
def in_one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds into a `BadInput`."""
    try:
        yield
    except kinds as error:
        raise BadInput(" ".join(str(error).split())) from error


@contextmanager
def loading() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process at once (`rmgl.__main__.StopSignals` says why)."""
    signals = click.get_current_context().obj
    if signals is not None:
        signals.at_work = False
    yield
    if signals is not None:
        signals.at_work = True


class Notes(logging.Handler):
    """Prints what is logged on standard error, one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"note: {record.getMessage()}", err=True)


@contextmanager
def notes_shown() -> Iterator[None]:
    """Print what the package logs at the level INFO or above."""
    logger, notes = logging.getLogger("rmgl"), Notes()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.setLevel(level)


def per_view(kind: type[float] | type[str]) -> Callable[[str], Any]:
    """Return a parser of options per view: `100`, `2,2,20` in their order, or `fac=2,mor=20`."""

    def parse(value: str) -> Any:
        if value == "auto":
            return value
        parts = value.split(",")
        try:
            if all("=" in part for part in parts):
                return {
                    name: kind(number)
                    for name, _, number in (part.rpartition("=") for part in parts)
                }
            return kind(value) if len(parts) == 1 else [kind(part) for part in parts]
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not a number, a list like 2,2,20 or pairs like fac=2,mor=20"
            ) from None

    return parse


def per_view_option(
    name: str, kind: type[float] | type[str], default: str, help: str
) -> Callable[[Command], Command]:
    """Return the option for a parameter of `RMGL` that can differ between views."""
    metavar = "NUMBER" if kind is float else "TEXT"
    return click.option(
        f"--{name}", type=per_view(kind), default=default, metavar=metavar, help=help
    )


def number_or_auto(value: str) -> int | str:
    """Parse a whole number, or "auto"."""
    try:
        return value if value == "auto" else int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a whole number or auto") from None


@click.group(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="rmgl")
@click.pass_context
def cli(context: click.Context) -> None:
    """Learn one sparse graph layer per view and one common embedding from multi-view data, and
    cluster the rows.
    """
    context.with_resource(notes_shown())


@cli.command()
@click.argument("inputs", nargs=-1, type=PATH)
@click.option(
    "-k",
    "--clusters",
    required=True,
    type=number_or_auto,
    metavar="NUMBER",
    help="Number of clusters, or auto to choose it from the data.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=PATH,
    help="Folder for the results; written completely or not at all.",
)
@per_view_option(
    "alpha",
    float,
    defaults.ALPHA,
    "Density of the layers, larger for more edges: a number, a list by view, or name=number pairs.",
)
@per_view_option(
    "beta", float, defaults.BETA, "Weight of each view in the embedding, in the same forms."
)
@per_view_option(
    "scale",
    str,
    defaults.SCALE,
    "auto, minmax, root, hellinger, unit, standard or none, in the same forms.",
)
@click.option(
    "--neighbors",
    "n_neighbors",
    type=int,
    default=defaults.N_NEIGHBORS,
    help="Mean number of edges per node if alpha is auto.",
)
@click.option(
    "--missing",
    type=click.Choice(["pairwise", "error"]),
    default=defaults.MISSING,
    help="Missing cells: compare rows by the columns that both have, or refuse them.",
)
@click.option(
    "--components",
    is_flag=True,
    help="Increase beta until every layer has exactly as many components as clusters.",
)
@click.option(
    "--id",
    "id_column",
    help="Column of row ids: aligns the rows of several files and labels the output.",
)
@click.option(
    "--align",
    type=click.Choice(["outer", "inner"]),
    help="With --id, if ids differ: use the ids of any file (outer) or those of all files (inner).",
)
@NETWORKS
@click.option("--seed", type=int, default=0, help="Random seed.")
@click.option(
    "--solver", default=defaults.SOLVER, help="Solver of the layer problem: newton or dual-ascent."
)
@click.option(
    "--tol",
    type=float,
    default=defaults.TOL,
    help="Relative change of the objective at which to stop.",
)
@click.option(
    "--max-iter",
    type=int,
    default=defaults.MAX_ITER,
    help="Maximum number of rounds over layers and embedding.",
)
@click.option(
    "--max-seconds",
    type=float,
    help="Time limit in seconds; the best result so far is then written.",
)
@click.option(
    "--checkpoint",
    type=PATH,
    help=(
        "Folder for finished steps. If the command is interrupted, run it again: it resumes from "
        "them. Deleted at the end."
    ),
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Fit on the Dask workers whose scheduler has this address, such as tcp://host:8786.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Fit on so many Dask worker processes on this machine.",
)
@click.option(
    "--plan",
    is_flag=True,
    help="With --scheduler or --workers: print what the fit will need, and stop.",
)
@JOBS
@click.option("--no-plots", is_flag=True, help="Do not draw pictures.")
@click.option("--no-report", is_flag=True, help="Do not write report.html, the page to explore.")
@click.option(
    "--graphml",
    is_flag=True,
    help="Also write all layers as one graph to layers.graphml (needs networkx).",
)
@click.option(
    "--quiet",
    is_flag=True,
    help="Show no progress bar. Without this option, there is one on a terminal.",
)
@click.option("--save", type=PATH, help="Also save the model to this file, for `rmgl predict`.")
@FORCE
def cluster(
    inputs: tuple[Path, ...],
    clusters: int | str,
    output: Path,
    id_column: str | None,
    align: str | None,
    networks: tuple[Path, ...],
    seed: int,
    jobs: int,
    no_plots: bool,
    no_report: bool,
    graphml: bool,
    save: Path | None,
    checkpoint: Path | None,
    force: bool,
    scheduler: str | None,
    workers: int | None,
    plan: bool,
    quiet: bool,
    **parameters: Any,
) -> None:
    """Cluster the rows of multi-view data.

    INPUTS are one .npz file (its 2-D arrays are the views), one .h5mu file (its modalities are the
    views), or one .npy, .csv, .tsv, .parquet, .feather, .arrow, .xlsx, .mtx or .h5ad file, or
    folder of 10x Genomics, per view. `rmgl inspect` says what they are taken for. With --network
    there may be none. With --scheduler or --workers, also a folder of Parquet files or a .zarr
    array per view, or a .zarr group, whose 2-D arrays are the views; workers read these and .npy
    files, and what distinguishes the clusters is not written then.
    """
    needs_inputs(inputs, networks)
    on_workers = is_on_workers(scheduler, workers, plan, networks)
    if graphml and find_spec("networkx") is None:
        raise BadInput(not_installed("--graphml needs", "networkx"))
    pictures, page = not no_plots and pictures_possible(), not no_report and page_possible()
    with in_one_line(*REFUSED):
        check_apart(
            {"output": output, "saved model": save, "checkpoint": checkpoint}, [*inputs, *networks]
        )
        check_folder(output, force)
        if save is not None:
            check_file(save, force)
        if align is not None and id_column is None:
            raise ValueError(f"--align {align} needs row ids: name their column with --id")
        check_inputs([*(path for path in inputs if not (on_workers and path.is_dir())), *networks])
    with loading():
        from rmgl import commands
    with in_one_line(*REFUSED), commands.dask_client(scheduler, workers) as client:
        if plan:
            click.echo(
                commands.plan(
                    inputs, client, parameters["n_neighbors"], id_column=id_column, align=align
                )
            )
            return
        model, seconds = commands.cluster(
            inputs,
            output,
            id_column=id_column,
            align=align,
            networks=networks,
            pictures=pictures,
            page=page,
            graphml=graphml,
            save=save,
            checkpoint=checkpoint,
            force=force,
            client=client,
            quiet=quiet,
            n_clusters=clusters,
            random_state=seed,
            n_jobs=jobs,
            **parameters,
        )
    click.echo(
        f"{len(model.labels_)} rows, {len(model.view_names_)} views, {model.n_clusters_} "
        f"clusters in {seconds:.1f} s"
    )
    click.echo(commands.layer_table(model))
    click.echo(f"trust {model.report_.trust}")
    for doubt in model.report_.warnings:
        click.echo(f"note: {doubt}", err=True)
    click.echo(f"written: {output}" + ("" if save is None else f", {save}"))
    if (output / "report.html").exists():
        click.echo(f"open in a browser: {output / 'report.html'}")


def is_on_workers(
    scheduler: str | None, workers: int | None, plan: bool, networks: tuple[Path, ...]
) -> bool:
    """Whether the fit runs on Dask workers; refuse options that do not go with it."""
    on_workers = scheduler is not None or workers is not None
    if scheduler is not None and workers is not None:
        raise BadInput("--scheduler and --workers were both given: use one of them")
    if plan and not on_workers:
        raise BadInput(
            "--plan is about a fit on workers: add --scheduler ADDRESS, or --workers N for "
            "this machine"
        )
    if networks and on_workers:
        raise BadInput(
            "--network is not possible on workers yet: leave out --scheduler and --workers"
        )
    return on_workers


@cli.command()
@click.argument("model", type=PATH)
@click.argument("inputs", nargs=-1, type=PATH)
@click.option("-o", "--output", required=True, type=PATH, help="CSV file to write.")
@click.option(
    "--id", "id_column", help="Column of row ids; rows may then be missing from some of the files."
)
@NETWORKS
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
def predict(
    model: Path,
    inputs: tuple[Path, ...],
    output: Path,
    id_column: str | None,
    networks: tuple[Path, ...],
    force: bool,
) -> None:
    """Label new rows with a saved MODEL.

    INPUTS are files as for `rmgl cluster`, named like the views that the model was fitted on; views
    may be missing. The edges of --network lead from new rows (first column) to those of the fit
    (second column).
    """
    needs_inputs(inputs, networks)
    with in_one_line(*REFUSED):
        check_apart({"output": output}, [model, *inputs, *networks])
        check_file(output, force)
        check_inputs([model, *inputs, *networks])
    with loading():
        from rmgl import commands
    with in_one_line(*REFUSED):
        shares = commands.predict(model, inputs, output, id_column=id_column, networks=networks)
    click.echo(
        f"{len(shares)} rows labeled; mean share of edge weight that leads to the assigned "
        f"cluster: {shares.max(axis=1).mean():.3f}"
    )
    click.echo(f"written: {output}")


@cli.command()
@click.argument("inputs", nargs=-1, required=True, type=PATH)
@click.option("--id", "id_column", help="Column of row ids.")
def inspect(inputs: tuple[Path, ...], id_column: str | None) -> None:
    """Say what each file would be taken for; nothing is fitted.

    Prints rows, row ids, columns by kind, missing cells and the proposed scaling of files as for
    `rmgl cluster`.
    """
    with in_one_line(*REFUSED):
        check_inputs(inputs)
    with loading():
        from rmgl import commands
    with in_one_line(*REFUSED):
        click.echo(commands.inspect(inputs, id_column=id_column))


@cli.command()
@click.option(
    "-o", "--output", type=PATH, help="Also write the result and its pictures to this folder."
)
@FORCE
@JOBS
def demo(output: Path | None, force: bool, jobs: int) -> None:
    """Cluster the UCI digits, which come with rmgl, into ten clusters and compare these with the
    true digits.
    """
    with in_one_line(*REFUSED):
        if output is not None:
            check_folder(output, force)
    pictures, page = (False, False) if output is None else (pictures_possible(), page_possible())
    with loading():
        from rmgl import commands
    with in_one_line(*REFUSED):
        commands.demo(output, pictures=pictures, page=page, force=force, jobs=jobs)


@cli.command()
@click.argument("experiment", type=click.Choice(["synthetic", "uci", "coil20", "all"]))
@click.option(
    "-o", "--output", type=PATH, default=Path("results"), help="Folder for tables and figures."
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=20,
    help="Number of k-means seeds, or of draws of the synthetic data.",
)
@click.option("--quick", is_flag=True, help="Trial run with fewer rows, settings and runs.")
@click.option(
    "--redraw", is_flag=True, help="Draw the figures again from the files of an earlier run."
)
@click.option(
    "--images", type=PATH, help="COIL-20 images, if not downloaded: a folder, .zip, .npy or .npz."
)
@click.option("--jobs", type=int, default=-1, help="Number of processes; -1 uses all cores.")
def reproduce(
    experiment: str,
    output: Path,
    runs: int,
    quick: bool,
    redraw: bool,
    images: Path | None,
    jobs: int,
) -> None:
    """Run the experiments of the paper and write tables (.json, .md) and figures (.png, .pdf).

    If the command is interrupted, run it again: it resumes from the finished parts.
    """
    if not pictures_possible():
        raise BadInput(not_installed("the experiments need", "matplotlib"))
    with loading():
        from rmgl.experiments import reproduce as experiments
    runs = min(runs, 3) if quick else runs
    names = ["synthetic", "uci", "coil20"] if experiment == "all" else [experiment]
    for name in names:
        began = perf_counter()
        with in_one_line(ValueError, ImportError, OSError, MemoryError, zipfile.BadZipFile):
            if redraw:
                experiments.redraw(name, output)
            else:
                with cell_progress(name) as progress:
                    experiments.reproduce(
                        name,
                        output,
                        runs=runs,
                        quick=quick,
                        n_jobs=jobs,
                        images=images,
                        progress=progress,
                    )
        click.echo((output / name / "table.md").read_text().split("<details>")[0])
        click.echo(f"{name}: {perf_counter() - began:.0f} s, written: {output / name}\n")


def needs_inputs(inputs: tuple[Path, ...], networks: tuple[Path, ...]) -> None:
    """Refuse a command without any file of data."""
    if not inputs and not networks:
        raise click.UsageError("Missing argument 'INPUTS...'.")


def pictures_possible() -> bool:
    """Whether matplotlib is installed; print a warning if not."""
    if find_spec("matplotlib") is not None:
        return True
    click.echo(
        f"warning: no pictures are written: {not_installed('they need', 'matplotlib')}", err=True
    )
    return False


def page_possible() -> bool:
    """Whether Bokeh is installed; print a warning if not."""
    if find_spec("bokeh") is not None:
        return True
    click.echo(
        f"warning: report.html is not written: {not_installed('it needs', 'bokeh')}", err=True
    )
    return False
