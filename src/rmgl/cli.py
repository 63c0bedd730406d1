"""The command line: `rmgl cluster`, `rmgl predict`, `rmgl demo` and `rmgl reproduce`."""

from __future__ import annotations

import sys
import warnings
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

from rmgl.estimators.rmgl import RMGL
from rmgl.layer import SOLVERS
from rmgl.model.run import remove_checkpoint
from rmgl.running.progress import cell_progress
from rmgl.storage.output import check_apart, check_file, check_folder, check_names, new_folder, write_predictions, write_results
from rmgl.storage.readers import read_views
from rmgl.views.views import Views

DEFAULTS = RMGL().get_params()


class BadInput(click.ClickException):
    """One clear line, exit code 2."""

    exit_code = 2


class PerView(click.ParamType):
    """A value for all views (`100`), a list in their order (`2,2,20`), or pairs by name (`fac=2,mor=20`)."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.name = "number" if kind is float else "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == "auto":
            return value
        try:
            parts = value.split(",")
            if all("=" in part for part in parts):
                return {name: self.kind(number) for name, _, number in (part.rpartition("=") for part in parts)}
            return self.kind(value) if len(parts) == 1 else [self.kind(part) for part in parts]
        except ValueError:
            self.fail(f"{value!r} is not a number, a list like 2,2,20 or pairs like fac=2,mor=20", param, ctx)


class Clusters(click.ParamType):
    """A whole number, or "auto"."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        return value if value == "auto" else click.INT.convert(value, param, ctx)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rmgl")
def cli() -> None:
    """Learn one sparse graph layer per view and one common embedding from multi-view data, and cluster the rows."""


@cli.command()
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-k", "--clusters", required=True, type=Clusters(), help="Number of clusters, or auto.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write; it appears complete or not at all.")
@click.option(
    "--alpha",
    type=PerView(float),
    default=DEFAULTS["alpha"],
    show_default=True,
    help="Edge spread: a number, a list by view, or name=number pairs.",
)
@click.option(
    "--beta",
    type=PerView(float),
    default=DEFAULTS["beta"],
    show_default=True,
    help="Weight of each view in the embedding, in the same forms.",
)
@click.option(
    "--scale",
    type=PerView(str),
    default=DEFAULTS["scale"],
    show_default=True,
    help="auto, minmax, root, hellinger, unit, standard or none, in the same forms.",
)
@click.option(
    "--neighbors", "n_neighbors", type=int, default=DEFAULTS["n_neighbors"], show_default=True, help="Edges a node, where alpha is auto."
)
@click.option("--components", is_flag=True, help="Raise beta until every layer has exactly as many components as clusters.")
@click.option("--id", "id_column", help="Column of row ids: aligns the rows of several files and labels the output.")
@click.option(
    "--align",
    type=click.Choice(["outer", "inner"]),
    help="With --id, where ids differ: all ids of any file (absent elsewhere), or those of all.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
@click.option("--solver", type=click.Choice(list(SOLVERS)), default=DEFAULTS["solver"], show_default=True)
@click.option("--tol", type=float, default=DEFAULTS["tol"], show_default=True, help="Relative change of the objective at which to stop.")
@click.option("--max-iter", type=int, default=DEFAULTS["max_iter"], show_default=True, help="Most rounds over layers and embedding.")
@click.option("--max-seconds", type=float, help="End with the best so far once they are over.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Folder for finished steps: the same command goes on from them if it was stopped. It is deleted in the end.",
)
@click.option("--jobs", type=int, default=-1, show_default=True, help="Threads over views; -1 for all cores.")
@click.option("--no-plots", is_flag=True, help="Write no pictures.")
@click.option("--graphml", is_flag=True, help="Also write all layers as one graph, layers.graphml (needs networkx).")
@click.option("--save", type=click.Path(path_type=Path), help="Also save the model to this file, for `rmgl predict`.")
@click.option("--force", is_flag=True, help="Replace an output folder that rmgl wrote before.")
def cluster(
    inputs: tuple[Path, ...],
    clusters: int | str,
    output: Path,
    id_column: str | None,
    align: str | None,
    seed: int,
    jobs: int,
    no_plots: bool,
    graphml: bool,
    save: Path | None,
    checkpoint: Path | None,
    force: bool,
    **parameters: Any,
) -> None:
    """Cluster the rows of one .npz file (its 2-D arrays are the views) or .h5mu file (its modalities are), or of one .npy, .csv, .tsv,
    .parquet, .feather or .arrow file per view."""
    if graphml and find_spec("networkx") is None:
        raise BadInput("--graphml needs networkx: pip install 'rmgl[networkx]'")
    pictures = not no_plots and pictures_possible()
    try:
        check_apart({"output": output, "saved model": save, "checkpoint": checkpoint}, inputs)
        check_folder(output, force)
        if save is not None:
            check_file(save, force)
        if align is not None and id_column is None:
            raise ValueError("--align goes by row ids: name their column with --id")
        views = read_views(inputs, id_column, align)
        check_names(views.names, views.index)
        model = RMGL(clusters, random_state=seed, n_jobs=jobs, verbose=int(sys.stderr.isatty()), **parameters)
        seconds = timed_fit(model, views, checkpoint=checkpoint)
        with new_folder(output, force) as draft:
            write_results(draft, model, seconds=seconds, pictures=pictures, graphml=graphml)
        if save is not None:
            model.save(save)
        if checkpoint is not None and (model.converged_ or model.n_iter_ == model.max_iter):
            remove_checkpoint(checkpoint)
    except (ValueError, TypeError, MemoryError, OSError) as error:
        raise BadInput(" ".join(str(error).split())) from error
    click.echo(f"{len(model.labels_)} rows, {len(model.view_names_)} views, {model.n_clusters_} clusters in {seconds:.1f} s")
    click.echo(layer_table(model))
    for doubt in model.report_.warnings:
        click.echo(f"note: {doubt}", err=True)
    click.echo(f"written: {output}" + ("" if save is None else f", {save}"))


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
@click.option("--id", "id_column", help="Column of row ids; a row may be absent from some of the files then.")
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
def predict(model: Path, inputs: tuple[Path, ...], output: Path, id_column: str | None, force: bool) -> None:
    """Label new rows by a saved MODEL. Files are as for `cluster`, and named after the views that the model was fitted on; new rows need
    not have all of them."""
    try:
        check_apart({"output": output}, [model, *inputs])
        check_file(output, force)
        fitted = RMGL.load(model)
        new = read_views(inputs, id_column, "outer", least=0)
        check_names(new.names, new.index)
        if len(fitted.view_names_) == len(new.names) == 1:
            new = replace(new, names=tuple(fitted.view_names_))  # whatever the name of the file
        shares = fitted.predict_proba(new)
        write_predictions(output, shares, new.index)
    except (ValueError, TypeError, MemoryError, OSError) as error:
        raise BadInput(" ".join(str(error).split())) from error
    click.echo(f"{len(shares)} rows labeled; mean share of the edge weight inside the cluster: {shares.max(axis=1).mean():.3f}")
    click.echo(f"written: {output}")


@cli.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Also write the result and its pictures to this folder.")
@click.option("--force", is_flag=True, help="Replace an output folder that rmgl wrote before.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Threads over views; -1 for all cores.")
def demo(output: Path | None, force: bool, jobs: int) -> None:
    """The main job on the embedded UCI digits with the paper's parameters, scored against the true digits."""
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
                write_results(draft, model, seconds=seconds, pictures=pictures_possible())
            click.echo(f"written: {output}")
    except (ValueError, MemoryError, OSError) as error:
        raise BadInput(" ".join(str(error).split())) from error


@cli.command()
@click.argument("experiment", type=click.Choice(["synthetic", "uci", "coil20", "all"]))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder for tables and figures."
)
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="k-means seeds, or draws of the synthetic data.")
@click.option("--quick", is_flag=True, help="Fewer rows, settings and runs: shows that everything works.")
@click.option("--redraw", is_flag=True, help="Draw the figures again from what was written; compute nothing.")
@click.option("--images", type=click.Path(path_type=Path), help="COIL-20 images: a folder, .zip, .npy or .npz; else they are downloaded.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1 for all cores.")
def reproduce(experiment: str, output: Path, runs: int, quick: bool, redraw: bool, images: Path | None, jobs: int) -> None:
    """The experiments of the paper: tables (.json, .md) and figures (.png, .pdf). What is finished is kept if it is stopped."""
    if not pictures_possible():
        raise BadInput("the experiments draw figures: pip install 'rmgl[plot]'")
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
    """NMI and accuracy of k-means on the embedding, for several seeds of k-means."""
    from rmgl.embedding.labels import cluster_rows
    from rmgl.metrics import clustering_accuracy, normalized_mutual_info_score

    labels = [cluster_rows(model.embedding_, model.n_clusters, n_init=model.n_init, random_state=seed) for seed in range(n_seeds)]
    return {
        "NMI": [normalized_mutual_info_score(target, found) for found in labels],
        "accuracy": [clustering_accuracy(target, found) for found in labels],
    }


def timed_fit(model: RMGL, views: dict[str, np.ndarray] | Views, **options: Any) -> float:
    """Fit, pass warnings on as single lines, return the seconds it took."""
    began = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(views, **options)
    for warning in caught:
        click.echo(f"warning: {warning.message}", err=True)
    return perf_counter() - began


def pictures_possible() -> bool:
    if find_spec("matplotlib") is not None:
        return True
    click.echo("warning: matplotlib is not installed, so no pictures are written (pip install 'rmgl[plot]')", err=True)
    return False


def layer_table(model: RMGL) -> str:
    """One line per layer with its certificate."""
    width = max(5, *(len(layer.name) for layer in model.layers_))
    titles = f"{'alpha':>9s}  {'beta':>9s}  {'edges/node':>10s}  {'components':>10s}  {'KKT residual':>12s}  {'gap':>8s}  status"
    lines = [f"{'layer':{width}s}  {titles}"]
    for layer, alpha, beta in zip(model.layers_, model.alpha_, model.beta_, strict=True):
        lines.append(
            f"{layer.name:{width}s}  {alpha:9.4g}  {beta:9.4g}  {2 * layer.n_edges / layer.n_nodes:10.1f}  {layer.n_components:10d}  "
            f"{layer.kkt_residual:12.1e}  {layer.gap:8.1e}  {layer.status}"
        )
    return "\n".join(lines)
