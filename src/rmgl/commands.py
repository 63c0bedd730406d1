"""What the commands of `rmgl.cli` do, once their options are parsed and their paths are checked."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from rmgl.datasets import uci_digits
from rmgl.estimators.rmgl import RMGL
from rmgl.metrics import clustering_accuracy, normalized_mutual_info_score
from rmgl.model.run import remove_checkpoint
from rmgl.running.progress import stages
from rmgl.storage.output import check_names, new_folder, write_predictions, write_results
from rmgl.storage.readers import read_views
from rmgl.views.views import Views


def cluster(
    inputs: Sequence[Path],
    output: Path,
    *,
    id_column: str | None,
    align: str | None,
    pictures: bool,
    page: bool,
    graphml: bool,
    save: Path | None,
    checkpoint: Path | None,
    force: bool,
    quiet: bool,
    **parameters: Any,
) -> tuple[RMGL, float]:
    """Fit a model with the given parameters to the views in the files, and write the results; returns it with the seconds of the fit."""
    model = RMGL(**parameters)
    model._check_parameters()
    with stages(is_watched(quiet)) as stage:
        stage("reading")
        views = read_views(inputs, id_column, align)
        check_names(views.names, views.index)
        seconds, warned = timed_fit(model, views, checkpoint=checkpoint)
        stage("writing")
        with new_folder(output, force) as draft:
            features = model.explain(views)
            write_results(draft, model, seconds=seconds, pictures=pictures, graphml=graphml, explanation=features)
            if page:
                model.to_html(draft / "report.html", features=features, views=views)
        if save is not None:
            model.save(save)
    show_warnings(warned)
    if checkpoint is not None and (model.converged_ or model.n_iter_ == model.max_iter):
        remove_checkpoint(checkpoint)
    return model, seconds


def predict(model: Path, inputs: Sequence[Path], output: Path, *, id_column: str | None) -> NDArray[np.float64]:
    """Label the rows of the files with a saved model, and write the labels; returns the share of every cluster in each row."""
    fitted = RMGL.load(model)
    new = read_views(inputs, id_column, "outer", least=0)
    check_names(new.names, new.index)
    if len(fitted.view_names_) == len(new.names) == 1:
        new = replace(new, names=tuple(fitted.view_names_))  # the file may have any name
    shares = fitted.predict_proba(new)
    write_predictions(output, shares, new.index)
    return shares


def demo(output: Path | None, *, pictures: bool, page: bool, force: bool, jobs: int) -> None:
    """Cluster the embedded digits into ten clusters, print layers and scores, and write the results if `output` is given."""
    data = uci_digits.load_uci_digits()
    click.echo("UCI handwritten digits: 2000 rows, 6 views. RMGL with 10 clusters; all other parameters are chosen from the data.")
    model = RMGL(10, random_state=0, n_jobs=jobs)
    with stages(is_watched()):
        seconds, warned = timed_fit(model, data.views)
    show_warnings(warned)
    click.echo(layer_table(model))
    click.echo(f"{'converged' if model.converged_ else 'not converged'} in {model.n_iter_} rounds, {seconds:.1f} s")
    click.echo(f"trust {model.report_.trust}")
    click.echo("Compared with the true digits, which were not used:")
    click.echo(f"NMI       {normalized_mutual_info_score(data.target, model.labels_):.4f}")
    click.echo(f"accuracy  {clustering_accuracy(data.target, model.labels_):.4f}")
    if output is not None:
        with new_folder(output, force) as draft:
            features = model.explain(data.views)
            write_results(draft, model, seconds=seconds, pictures=pictures, explanation=features)
            if page:
                ids = [f"{row} (a {digit})" for row, digit in enumerate(data.target)]
                columns = {"true digit": data.target.astype(str)}
                model.to_html(draft / "report.html", ids, features, views=data.views, columns=columns)
        click.echo(f"written: {output}")
        if page:
            click.echo(f"open in a browser: {output / 'report.html'}")


def is_watched(quiet: bool = False) -> bool:
    """Whether a progress bar is shown: on a terminal, unless it was asked to be quiet."""
    return not quiet and sys.stderr.isatty()


def timed_fit(model: RMGL, views: dict[str, NDArray[Any]] | Views, **options: Any) -> tuple[float, list[str]]:
    """Fit the model; returns the seconds it took, and its warnings."""
    began = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(views, **options)
    return perf_counter() - began, [str(warning.message) for warning in caught]


def show_warnings(warned: Sequence[str]) -> None:
    """Print warnings as single lines."""
    for message in warned:
        click.echo(f"warning: {message}", err=True)


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
