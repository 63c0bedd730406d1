"""The command line: `rmgl cluster`, `rmgl predict`, `rmgl demo` and `rmgl reproduce`."""

from __future__ import annotations

import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import click
import numpy as np

from rmgl.estimators.rmgl import RMGL
from rmgl.layer import SOLVERS
from rmgl.model.run import remove_checkpoint
from rmgl.running.progress import cell_progress
from rmgl.storage.output import check_apart, check_file, check_folder, check_names, new_folder, write_predictions, write_results
from rmgl.storage.readers import read_views
from rmgl.views.views import Views

Command: TypeAlias = Callable[..., None]
DEFAULTS = RMGL().get_params()
PATH = click.Path(path_type=Path)
FORCE = click.option("--force", is_flag=True, help="Replace an output folder that rmgl wrote before.")
JOBS = click.option("--jobs", type=int, default=-1, help="Number of threads; -1 uses all cores.")


class BadInput(click.ClickException):
    """An error that ends the command with one line and exit code 2."""

    exit_code = 2


def per_view(kind: type[float] | type[str]) -> Callable[[str], Any]:
    """Return a parser of options per view: one value (`100`), a list in their order (`2,2,20`), or pairs (`fac=2,mor=20`)."""

    def parse(value: str) -> Any:
        if value == "auto":
            return value
        parts = value.split(",")
        try:
            if all("=" in part for part in parts):
                return {name: kind(number) for name, _, number in (part.rpartition("=") for part in parts)}
            return kind(value) if len(parts) == 1 else [kind(part) for part in parts]
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a number, a list like 2,2,20 or pairs like fac=2,mor=20") from None

    return parse


def per_view_option(name: str, kind: type[float] | type[str], help: str) -> Callable[[Command], Command]:
    """Return the option for a parameter of `RMGL` that can differ between views."""
    metavar = "NUMBER" if kind is float else "TEXT"
    return click.option(f"--{name}", type=per_view(kind), default=DEFAULTS[name], metavar=metavar, help=help)


def number_or_auto(value: str) -> int | str:
    """Parse a whole number, or "auto"."""
    try:
        return value if value == "auto" else int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a whole number or auto") from None


@click.group(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="rmgl")
def cli() -> None:
    """Learn one sparse graph layer per view and one common embedding from multi-view data, and cluster the rows."""


@cli.command()
@click.argument("inputs", nargs=-1, required=True, type=PATH)
@click.option(
    "-k", "--clusters", required=True, type=number_or_auto, metavar="NUMBER", help="Number of clusters, or auto to choose it from the data."
)
@click.option("-o", "--output", required=True, type=PATH, help="Folder for the results; written completely or not at all.")
@per_view_option("alpha", float, "Density of the layers, larger for more edges: a number, a list by view, or name=number pairs.")
@per_view_option("beta", float, "Weight of each view in the embedding, in the same forms.")
@per_view_option("scale", str, "auto, minmax, root, hellinger, unit, standard or none, in the same forms.")
@click.option(
    "--neighbors", "n_neighbors", type=int, default=DEFAULTS["n_neighbors"], help="Mean number of edges per node if alpha is auto."
)
@click.option("--components", is_flag=True, help="Increase beta until every layer has exactly as many components as clusters.")
@click.option("--id", "id_column", help="Column of row ids: aligns the rows of several files and labels the output.")
@click.option(
    "--align",
    type=click.Choice(["outer", "inner"]),
    help="With --id, if ids differ: use the ids of any file (outer) or those of all files (inner).",
)
@click.option("--seed", type=int, default=0, help="Random seed.")
@click.option("--solver", type=click.Choice(list(SOLVERS)), default=DEFAULTS["solver"], help="Solver of the layer problem.")
@click.option("--tol", type=float, default=DEFAULTS["tol"], help="Relative change of the objective at which to stop.")
@click.option("--max-iter", type=int, default=DEFAULTS["max_iter"], help="Maximum number of rounds over layers and embedding.")
@click.option("--max-seconds", type=float, help="Time limit in seconds; the best result so far is then written.")
@click.option(
    "--checkpoint",
    type=PATH,
    help="Folder for finished steps. If the command is interrupted, run it again: it resumes from them. Deleted at the end.",
)
@JOBS
@click.option("--no-plots", is_flag=True, help="Do not draw pictures.")
@click.option("--no-report", is_flag=True, help="Do not write report.html, the page to explore.")
@click.option("--graphml", is_flag=True, help="Also write all layers as one graph to layers.graphml (needs networkx).")
@click.option("--save", type=PATH, help="Also save the model to this file, for `rmgl predict`.")
@FORCE
def cluster(
    inputs: tuple[Path, ...],
    clusters: int | str,
    output: Path,
    id_column: str | None,
    align: str | None,
    seed: int,
    jobs: int,
    no_plots: bool,
    no_report: bool,
    graphml: bool,
    save: Path | None,
    checkpoint: Path | None,
    force: bool,
    **parameters: Any,
) -> None:
    """Cluster the rows of multi-view data.

    INPUTS are one .npz file (its 2-D arrays are the views), one .h5mu file (its modalities are the views), or one .npy, .csv, .tsv,
    .parquet, .feather or .arrow file per view.
    """
    if graphml and find_spec("networkx") is None:
        raise BadInput("--graphml needs networkx, which is not installed: pip install 'rmgl[networkx]'")
    pictures, page = not no_plots and pictures_possible(), not no_report and page_possible()
    try:
        check_apart({"output": output, "saved model": save, "checkpoint": checkpoint}, inputs)
        check_folder(output, force)
        if save is not None:
            check_file(save, force)
        if align is not None and id_column is None:
            raise ValueError(f"--align {align} needs row ids: name their column with --id")
        views = read_views(inputs, id_column, align)
        check_names(views.names, views.index)
        model = RMGL(clusters, random_state=seed, n_jobs=jobs, verbose=int(sys.stderr.isatty()), **parameters)
        seconds = timed_fit(model, views, checkpoint=checkpoint)
        with new_folder(output, force) as draft:
            features = model.explain(views)
            write_results(draft, model, seconds=seconds, pictures=pictures, graphml=graphml, explanation=features)
            if page:
                model.to_html(draft / "report.html", features=features, views=views)
        if save is not None:
            model.save(save)
        if checkpoint is not None and (model.converged_ or model.n_iter_ == model.max_iter):
            remove_checkpoint(checkpoint)
    except (ValueError, TypeError, MemoryError, OSError) as error:
        raise BadInput(" ".join(str(error).split())) from error
    click.echo(f"{len(model.labels_)} rows, {len(model.view_names_)} views, {model.n_clusters_} clusters in {seconds:.1f} s")
    click.echo(layer_table(model))
    click.echo(f"trust {model.report_.trust}")
    for doubt in model.report_.warnings:
        click.echo(f"note: {doubt}", err=True)
    click.echo(f"written: {output}" + ("" if save is None else f", {save}"))
    if page:
        click.echo(f"open in a browser: {output / 'report.html'}")


@cli.command()
@click.argument("model", type=PATH)
@click.argument("inputs", nargs=-1, required=True, type=PATH)
@click.option("-o", "--output", required=True, type=PATH, help="CSV file to write.")
@click.option("--id", "id_column", help="Column of row ids; rows may then be missing from some of the files.")
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
def predict(model: Path, inputs: tuple[Path, ...], output: Path, id_column: str | None, force: bool) -> None:
    """Label new rows with a saved MODEL.

    INPUTS are files as for `rmgl cluster`, named like the views that the model was fitted on; views may be missing.
    """
    try:
        check_apart({"output": output}, [model, *inputs])
        check_file(output, force)
        fitted = RMGL.load(model)
        new = read_views(inputs, id_column, "outer", least=0)
        check_names(new.names, new.index)
        if len(fitted.view_names_) == len(new.names) == 1:
            new = replace(new, names=tuple(fitted.view_names_))  # the file may have any name
        shares = fitted.predict_proba(new)
        write_predictions(output, shares, new.index)
    except (ValueError, TypeError, MemoryError, OSError) as error:
        raise BadInput(" ".join(str(error).split())) from error
    click.echo(f"{len(shares)} rows labeled; mean share of edge weight that leads to the assigned cluster: {shares.max(axis=1).mean():.3f}")
    click.echo(f"written: {output}")


@cli.command()
@click.option("-o", "--output", type=PATH, help="Also write the result and its pictures to this folder.")
@FORCE
@JOBS
def demo(output: Path | None, force: bool, jobs: int) -> None:
    """Cluster the UCI digits, which come with rmgl, with the paper's parameters and compare with the true digits."""
    from rmgl.datasets.uci_digits import PAPER_PARAMETERS, load_uci_digits

    try:
        if output is not None:
            check_folder(output, force)
        data = load_uci_digits()
        click.echo("UCI handwritten digits: 2000 rows, 6 views, 10 digits. RMGL with the paper's parameters.")
        model = RMGL(10, **PAPER_PARAMETERS, scale="minmax", random_state=0, n_jobs=jobs, verbose=int(sys.stderr.isatty()))
        seconds = timed_fit(model, data.views)
        click.echo(layer_table(model))
        click.echo(f"{'converged' if model.converged_ else 'not converged'} in {model.n_iter_} rounds, {seconds:.1f} s")
        scores = demo_scores(model, data.target)
        for name, values in scores.items():
            click.echo(f"{name:9s} {np.mean(values):.4f} +/- {np.std(values):.4f}   over {len(values)} k-means seeds")
        if output is not None:
            with new_folder(output, force) as draft:
                features, page = model.explain(data.views), page_possible()
                write_results(draft, model, seconds=seconds, pictures=pictures_possible(), explanation=features)
                if page:
                    ids = [f"{row} (a {digit})" for row, digit in enumerate(data.target)]
                    columns = {"true digit": data.target.astype(str)}
                    model.to_html(draft / "report.html", ids, features, views=data.views, columns=columns)
            click.echo(f"written: {output}")
            if page:
                click.echo(f"open in a browser: {output / 'report.html'}")
    except (ValueError, MemoryError, OSError) as error:
        raise BadInput(" ".join(str(error).split())) from error


@cli.command()
@click.argument("experiment", type=click.Choice(["synthetic", "uci", "coil20", "all"]))
@click.option("-o", "--output", type=PATH, default=Path("results"), help="Folder for tables and figures.")
@click.option("--runs", type=click.IntRange(1), default=20, help="Number of k-means seeds, or of draws of the synthetic data.")
@click.option("--quick", is_flag=True, help="Trial run with fewer rows, settings and runs.")
@click.option("--redraw", is_flag=True, help="Draw the figures again from the files of an earlier run.")
@click.option("--images", type=PATH, help="COIL-20 images, if not downloaded: a folder, .zip, .npy or .npz.")
@click.option("--jobs", type=int, default=-1, help="Number of processes; -1 uses all cores.")
def reproduce(experiment: str, output: Path, runs: int, quick: bool, redraw: bool, images: Path | None, jobs: int) -> None:
    """Run the experiments of the paper and write tables (.json, .md) and figures (.png, .pdf).

    If the command is interrupted, run it again: it resumes from the finished parts.
    """
    if not pictures_possible():
        raise BadInput("the experiments need matplotlib, which is not installed: pip install 'rmgl[plot]'")
    from rmgl.experiments import reproduce as experiments

    runs = min(runs, 3) if quick else runs
    names = ["synthetic", "uci", "coil20"] if experiment == "all" else [experiment]
    for name in names:
        began = perf_counter()
        try:
            if redraw:
                experiments.redraw(name, output)
            else:
                with cell_progress(name) as progress:
                    experiments.reproduce(name, output, runs=runs, quick=quick, n_jobs=jobs, images=images, progress=progress)
        except (ValueError, ImportError, OSError, MemoryError, zipfile.BadZipFile) as error:
            raise BadInput(" ".join(str(error).split())) from error
        click.echo((output / name / "table.md").read_text().split("<details>")[0])
        click.echo(f"{name}: {perf_counter() - began:.0f} s, written: {output / name}\n")


def demo_scores(model: RMGL, target: np.ndarray, n_seeds: int = 20) -> dict[str, list[float]]:
    """Return NMI and accuracy of k-means on the embedding, for several seeds of k-means."""
    from rmgl.embedding.labels import cluster_rows
    from rmgl.metrics import clustering_accuracy, normalized_mutual_info_score

    labels = [cluster_rows(model.embedding_, model.n_clusters, n_init=model.n_init, random_state=seed) for seed in range(n_seeds)]
    return {
        "NMI": [normalized_mutual_info_score(target, found) for found in labels],
        "accuracy": [clustering_accuracy(target, found) for found in labels],
    }


def timed_fit(model: RMGL, views: dict[str, np.ndarray] | Views, **options: Any) -> float:
    """Fit the model, print warnings as single lines, and return the seconds it took."""
    began = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(views, **options)
    for warning in caught:
        click.echo(f"warning: {warning.message}", err=True)
    return perf_counter() - began


def pictures_possible() -> bool:
    """Whether matplotlib is installed; print a warning if not."""
    if find_spec("matplotlib") is not None:
        return True
    click.echo("warning: no pictures are written because matplotlib is not installed: pip install 'rmgl[plot]'", err=True)
    return False


def page_possible() -> bool:
    """Whether Bokeh is installed; print a warning if not."""
    if find_spec("bokeh") is not None:
        return True
    click.echo("warning: report.html is not written because bokeh is not installed: pip install 'rmgl[report]'", err=True)
    return False


def layer_table(model: RMGL) -> str:
    """Return a table of the layers and their certificates, one line per layer."""
    width = max(5, *(len(layer.name) for layer in model.layers_))
    titles = f"{'alpha':>9s}  {'beta':>9s}  {'edges/node':>10s}  {'components':>10s}  {'KKT residual':>12s}  {'gap':>8s}  status"
    lines = [f"{'layer':{width}s}  {titles}"]
    for layer, alpha, beta in zip(model.layers_, model.alpha_, model.beta_, strict=True):
        lines.append(
            f"{layer.name:{width}s}  {alpha:9.4g}  {beta:9.4g}  {2 * layer.n_edges / layer.n_nodes:10.1f}  {layer.n_components:10d}  "
            f"{layer.kkt_residual:12.1e}  {layer.gap:8.1e}  {layer.status}"
        )
    return "\n".join(lines)
