"""Commands `rmgl cluster`, `inspect`, `predict`, `demo`, `reproduce` and `doctor`.

This module parses options and checks paths without loading a numerical library, so that help texts
and path errors appear at once. The commands then load `rmgl.command_line.commands`.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from rmgl.command_line.options import (
    CLUSTERS,
    COLUMNS,
    DATA,
    DROP,
    FORCE,
    ID,
    INPUTS,
    JOBS,
    LAYERS,
    NETWORKS,
    OUTCOME,
    PATH,
    RESULTS,
    SHEET,
    SOLVING,
    SPLIT,
    WORKERS,
    Commands,
    flag,
    option,
)
from rmgl.command_line.terminal import (
    REFUSED,
    BadInput,
    in_one_line,
    loading,
    notes_shown,
    page_possible,
    pictures_possible,
)
from rmgl.extras import not_installed
from rmgl.running.progress import cell_progress
from rmgl.storage.paths import (
    NamedFile,
    OutcomeFile,
    Output,
    Source,
    check_apart,
    check_file,
    check_folder,
    check_inputs,
    check_paths,
)
from rmgl.storage.selection import Selection
from rmgl.version import __version__


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(__version__, prog_name="rmgl")
@click.pass_context
def cli(context: click.Context) -> None:
    """Learn one sparse graph layer per view and one common embedding from multi-view data, and
    cluster the rows.
    """
    context.with_resource(notes_shown())


@cli.command()
@INPUTS
@CLUSTERS
@DATA
@RESULTS
@OUTCOME
@LAYERS
@SOLVING
@WORKERS
@flag("--quiet", "Do not show a progress bar. By default, one is shown on a terminal.")
def cluster(
    inputs: tuple[NamedFile, ...],
    clusters: int | str | range,
    output: Path,
    id_column: str | None,
    align: str | None,
    columns: tuple[str, ...],
    drop: tuple[str, ...],
    split: dict[str, tuple[str, ...]],
    sheets: tuple[str, ...],
    networks: tuple[NamedFile, ...],
    outcome: Path | None,
    time: str | None,
    event: str | None,
    color: tuple[str, ...],
    seed: int,
    jobs: int,
    no_plots: bool,
    no_report: bool,
    graphml: bool,
    edge_lists: bool,
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
    views), or, for each view, one .npy, .csv, .tsv, .parquet, .feather, .arrow, .xlsx, .mtx or
    .h5ad file or one 10x Genomics folder. A view may also be a folder of Parquet files or a .zarr
    array, and each 2-D array in a .zarr group is a view. `rmgl inspect` shows how the files would
    be read. With --network, INPUTS may be omitted.
    """
    source = source_of(
        inputs,
        networks,
        id_column,
        Selection(columns=columns, drop=drop, views=split, sheets=sheets),
        align=align,
        outcome=outcome_file(outcome, time, event, color),
    )
    on_workers = is_on_workers(scheduler, workers, plan)
    if isinstance(clusters, range) and (on_workers or save or checkpoint):
        raise BadInput(
            "a range in -k cannot be combined with --save, --checkpoint, --scheduler or "
            "--workers: pass one number with -k, or leave these options out"
        )
    if graphml and find_spec("networkx") is None:
        raise BadInput(not_installed("--graphml needs", "networkx"))
    pictures, page = not no_plots and pictures_possible(), not no_report and page_possible()
    written = Output(output, pictures, page, graphml, edge_lists, force)
    with in_one_line(*REFUSED):
        check_paths(source, written, save, checkpoint)
    parameters |= {"random_state": seed, "n_jobs": jobs}
    if isinstance(clusters, range):
        cluster_several(clusters, parameters, source, written, quiet)
        return
    with loading():
        from rmgl.command_line import commands
        from rmgl.estimators.rmgl import RMGL
    with in_one_line(*REFUSED), commands.dask_client(scheduler, workers) as client:
        if plan:
            click.echo(commands.plan(source, client, parameters["n_neighbors"]))
            return
        summary, doubts = commands.cluster(
            RMGL(clusters, **parameters),
            source,
            written,
            save=save,
            checkpoint=checkpoint,
            client=client,
            quiet=quiet,
        )
    click.echo(summary)
    for doubt in doubts:
        click.echo(f"note: {doubt}", err=True)
    click.echo(f"written: {output}" + ("" if save is None else f", {save}"))
    if (output / "report.html").exists():
        click.echo(f"open in a browser: {output / 'report.html'}")


def cluster_several(
    numbers: range, parameters: dict[str, Any], source: Source, output: Output, quiet: bool
) -> None:
    """Write the results for several numbers of clusters, and print a table that compares them."""
    with loading():
        from rmgl.command_line import several
        from rmgl.estimators.rmgl import RMGL
    models = [RMGL(number, **parameters) for number in numbers]
    with in_one_line(*REFUSED):
        answers = several.cluster(models, source, output, quiet=quiet)
    click.echo(several.comparison(answers))
    click.echo(f"written: {output.folder}")


def outcome_file(
    outcome: Path | None, time: str | None, event: str | None, color: tuple[str, ...]
) -> OutcomeFile | None:
    """Return the options for columns not used in the fit. Refuse options that require others."""
    if outcome is None and (time, event, color) != (None, None, ()):
        names = "--time, --event and --color"
        raise BadInput(f"{names} name columns of a table: pass the table with --outcome FILE")
    if (time is None) != (event is None):
        raise BadInput("--time and --event must be used together: pass both or neither")
    return None if outcome is None else OutcomeFile(outcome, time, event, color)


def is_on_workers(scheduler: str | None, workers: int | None, plan: bool) -> bool:
    """Return whether the fit runs on Dask workers. Refuse options that conflict."""
    on_workers = scheduler is not None or workers is not None
    if scheduler is not None and workers is not None:
        raise BadInput("--scheduler and --workers cannot be combined: use one of them")
    if plan and not on_workers:
        raise BadInput("--plan requires --scheduler ADDRESS, or --workers N for this machine")
    return on_workers


@cli.command()
@click.argument("model", type=PATH)
@INPUTS
@option("-o --output", "CSV file to write.", required=True, type=PATH)
@option(
    "--id id_column",
    "Column of row ids. With ids, rows may be missing from some of the files.",
)
@SPLIT
@SHEET
@NETWORKS
@option(
    "--unknown",
    "Label rows -1 if their outlier score is higher than the scores of this fraction of the "
    "training rows, such as 0.99. By default, every row is assigned to a cluster.",
    type=click.FloatRange(0, 1, min_open=True),
)
@flag("--force", "Replace the output file if it exists.")
def predict(
    model: Path,
    inputs: tuple[NamedFile, ...],
    output: Path,
    id_column: str | None,
    split: dict[str, tuple[str, ...]],
    sheets: tuple[str, ...],
    networks: tuple[NamedFile, ...],
    unknown: float | None,
    force: bool,
) -> None:
    """Label new rows with a saved MODEL.

    INPUTS are files as for `rmgl cluster`, named like the views that the model was fitted on. Views
    may be missing. Columns are matched by name: their order does not matter, missing columns are
    treated as missing cells, and additional columns are ignored. The edges in a --network file lead
    from new rows (first column) to training rows (second column).
    """
    source = source_of(inputs, networks, id_column, Selection(views=split, sheets=sheets))
    with in_one_line(*REFUSED):
        check_apart({"output": output}, [model, *source.paths])
        check_file(output, force)
        check_inputs([model, *source.paths])
    with loading():
        from rmgl.command_line import commands
    with in_one_line(*REFUSED):
        found = commands.predict(model, source, output, unknown)
    click.echo(
        f"{len(found.labels)} rows labeled; mean share of edge weight that leads to the assigned "
        f"cluster: {found.shares.max(axis=1).mean():.3f}"
    )
    if unknown is not None:
        click.echo(f"{found.n_unknown} of them belong to no cluster (label -1)")
    click.echo(f"written: {output}")


@cli.command()
@INPUTS
@ID
@COLUMNS
@DROP
@SPLIT
@SHEET
def inspect(
    inputs: tuple[NamedFile, ...],
    id_column: str | None,
    columns: tuple[str, ...],
    drop: tuple[str, ...],
    split: dict[str, tuple[str, ...]],
    sheets: tuple[str, ...],
) -> None:
    """Show how each file would be read, without fitting a model.

    INPUTS are files as for `rmgl cluster`. Prints their rows, row ids, columns by type, missing
    cells and proposed scaling.
    """
    selection = Selection(columns=columns, drop=drop, views=split, sheets=sheets)
    source = source_of(inputs, (), id_column, selection)
    with in_one_line(*REFUSED):
        check_inputs(source.inputs)
    with loading():
        from rmgl.command_line import commands
    with in_one_line(*REFUSED):
        click.echo(commands.inspect(source))


@cli.command()
@option("-o --output", "Also write the result and its figures to this folder.", type=PATH)
@FORCE
@JOBS
def demo(output: Path | None, force: bool, jobs: int) -> None:
    """Cluster the UCI digits, which come with rmgl, into ten clusters and compare the
    result with the true digits.
    """
    written = None
    with in_one_line(*REFUSED):
        if output is not None:
            check_folder(output, force)
            written = Output(output, pictures_possible(), page_possible(), force=force)
    with loading():
        from rmgl.command_line import commands
    with in_one_line(*REFUSED):
        commands.demo(written, jobs)


@cli.command()
@click.argument("experiment", type=click.Choice(["synthetic", "uci", "coil20", "all"]))
@option("-o --output", "Folder for tables and figures.", type=PATH, default=Path("results"))
@option(
    "--runs",
    "Number of k-means seeds or, for the synthetic data, of draws.",
    type=click.IntRange(1),
    default=20,
)
@flag("--quick", "Trial run with fewer rows, settings and runs.")
@flag("--redraw", "Redraw the figures from the files of an earlier run.")
@option(
    "--images",
    "Local copy of the COIL-20 images, to avoid the download: a folder, .zip, .npy or .npz.",
    type=PATH,
)
@option("--jobs", "Number of processes; -1 uses all cores.", type=int, default=-1)
def reproduce(
    experiment: str,
    output: Path,
    runs: int,
    quick: bool,
    redraw: bool,
    images: Path | None,
    jobs: int,
) -> None:
    """Run the paper's experiments and write tables (.json, .md) and figures (.png, .pdf).

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
                        name, output, runs, quick, n_jobs=jobs, images=images, progress=progress
                    )
        click.echo((output / name / "table.md").read_text("utf-8").split("<details>")[0])
        click.echo(f"{name}: {perf_counter() - began:.0f} s, written: {output / name}\n")


@cli.command()
@flag("--no-test", "Print versions and settings only, without the self-test.")
def doctor(no_test: bool) -> None:
    """Print information for a bug report, and run a self-test that takes about ten seconds.

    Prints versions, optional packages, threads, memory and caches. The self-test fits small
    generated data sets and fails with exit code 1 if a result is wrong. Nothing is sent anywhere.
    """
    with loading():
        from rmgl.command_line.doctor import examine
    if not examine(click.echo, tested=not no_test):
        click.get_current_context().exit(1)


def source_of(
    inputs: tuple[NamedFile, ...],
    networks: tuple[NamedFile, ...],
    id_column: str | None,
    selection: Selection,
    **others: Any,
) -> Source:
    """Return the files that a command reads. Refuse a command without files."""
    files = [*inputs, *networks]
    if not files:
        raise click.UsageError("Missing argument 'INPUTS...'.")
    names = {file.path: file.name for file in files if file.name is not None}
    if len({file.path for file in files if file.name is not None}) < sum(
        file.name is not None for file in files
    ):
        raise BadInput("a file was passed twice under different names: pass it once")
    return Source(
        tuple(file.path for file in inputs),
        tuple(file.path for file in networks),
        id_column,
        selection=replace(selection, names=names),
        **others,
    )
