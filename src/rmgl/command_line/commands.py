"""Run the `cli` commands once their options are parsed and their paths are checked."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from rmgl.datasets import uci_digits
from rmgl.estimators.rmgl import RMGL
from rmgl.matrix import Floats, Indices
from rmgl.metrics import clustering_accuracy, normalized_mutual_info_score
from rmgl.model.run import remove_checkpoint
from rmgl.page.words import plural
from rmgl.results.associations import Associations
from rmgl.running.progress import stages
from rmgl.storage.edge_lists import EdgeList, new_edges, read_edge_list, with_networks, without_head
from rmgl.storage.inspection import inspect_file
from rmgl.storage.outcome_file import check_outcome, colors_of, read_outcome
from rmgl.storage.output import check_names, new_folder, write_predictions, write_results
from rmgl.storage.paths import Output, Source, check_view_names, is_stored_folder
from rmgl.storage.readers import read_views
from rmgl.views.features import FeatureView
from rmgl.views.stored import read_stored
from rmgl.views.views import Views

AS_STORED = (".npy", ".zarr", ".parquet")
"""File types whose shape is known before they are read."""


def cluster(
    model: RMGL,
    source: Source,
    output: Output,
    *,
    save: Path | None,
    checkpoint: Path | None,
    client: Any = None,
    quiet: bool = False,
) -> tuple[str, Sequence[str]]:
    """Fit a model to the views in the files and write it. Return the summary to print and the
    warnings in the report.
    """
    model._check_parameters()
    began = perf_counter()
    with stages(is_watched(quiet)) as stage:
        stage("reading")
        views, table = read_source(source, [model.n_clusters])
        seconds, warned = timed_fit(model, views, checkpoint, client)
        stage("quick refits")
        _ = model.report_  # computed on first access
        stage("writing")
        associations = write_fit(model, source, table, output, views, seconds)
        if save is not None:
            model.save(save)
    show_warnings(warned)
    if checkpoint is not None and (model.converged_ or model.n_iter_ == model.max_iter):
        remove_checkpoint(checkpoint)
    text = summary(model, (perf_counter() - began, seconds), associations)
    return text, [str(doubt) for doubt in model.report_.warnings]


def read_source(source: Source, numbers: Sequence[int | str]) -> tuple[Views, Any]:
    """Read and check the views in the files and the table of columns that are not used in the fit,
    and check the numbers of clusters.
    """
    in_folders = any(map(is_stored_folder, source.inputs))
    views = Views.of(read_stored(stored_paths(source))) if in_folders else views_in(source)
    further, index = source.outcome, views.index
    table = None if further is None else read_outcome(further.path, source.id_column, index)
    check_names(views.names, index)
    for number in numbers:
        check_number(number, views.n_rows)
    if further is not None:
        check_outcome(table, further, views)
    return views, table


def write_fit(
    model: RMGL, source: Source, table: Any, output: Output, views: Views, seconds: float
) -> Associations | None:
    """Write a fit to its folder. Return how the columns of the table differ between clusters."""
    further, associations, colors = source.outcome, None, None
    if further is not None:
        associations = model.associate(table, time=further.time, event=further.event)
        colors = colors_of(table, further, model.index_)
    write(
        model,
        output,
        views,
        seconds,
        columns=colors,
        associations=associations,
        name=", ".join(path.name for path in (*source.inputs, *source.networks)),
        id_column=source.id_column,
    )
    return associations


def check_number(n_clusters: int | str, n_rows: int) -> None:
    """Raise a ValueError if there are more clusters than rows."""
    if n_clusters != "auto" and int(n_clusters) > n_rows:
        raise ValueError(
            f"-k {n_clusters} asks for more clusters than there are rows ({n_rows}): "
            "choose a smaller number"
        )


def summary(model: RMGL, seconds: tuple[float, float], associations: Associations | None) -> str:
    """Return what the command prints about a fit."""
    lines = [
        f"{len(model.labels_)} rows, {plural(len(model.view_names_), 'view')}, "
        f"{model.n_clusters_} clusters in {seconds[0]:.1f} s (fit {seconds[1]:.1f} s)",
        layer_table(model),
        f"Verdict: {model.report_.trust}",
    ]
    return "\n".join(lines if associations is None else [*lines, str(associations)])


def views_in(source: Source) -> Views:
    """Read the views in the files."""
    lists, views = edge_lists(source), None
    if source.inputs:
        views = read_views(
            source.inputs,
            source.id_column,
            source.align,
            everyone=not lists,
            selection=source.selection,
        )
    return with_networks(views, lists) if lists or views is None else views


def stored_paths(source: Source) -> dict[str, Path]:
    """Return the paths of the views by name. Empty unless all views can be read as stored."""
    inputs, selection = source.inputs, source.selection
    plain = selection.is_all and source.id_column is None and not source.networks
    if not plain or not all(is_stored_folder(path) or path.suffix in AS_STORED for path in inputs):
        folder = next(filter(is_stored_folder, inputs), None)
        if folder is not None:
            raise ValueError(
                f"{folder} is a folder of arrays or Parquet files: combine it only with other "
                "such folders, .npy files and .parquet files, and leave out --id, --view, "
                "--columns, --drop, --sheet and --network"
            )
        return {}
    names = [selection.names.get(path, path.stem) for path in inputs]
    check_view_names(names)
    return dict(zip(names, inputs, strict=True))


def edge_lists(source: Source) -> list[EdgeList]:
    """Read the networks in the files, under their specified names."""
    names = source.selection.names
    lists = [(path, read_edge_list(path)) for path in source.networks]
    return [replace(edges, name=names.get(path, edges.name)) for path, edges in lists]


@contextmanager
def dask_client(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start this many workers on this machine.

    Yields a client, or None if neither is specified.
    """
    if scheduler is None and workers is None:
        yield None
        return
    try:
        import distributed
    except ImportError as error:
        from rmgl.distributed.workers import NEEDS_DASK

        raise ValueError(f"--scheduler and --workers: {NEEDS_DASK}") from error
    dask: Any = distributed  # only parts of it are typed
    if scheduler is not None:
        with dask.Client(scheduler) as client:
            yield client
        return
    n_threads = max(1, cpu_count() // (workers or 1))
    with (
        dask.LocalCluster(
            n_workers=workers, threads_per_worker=n_threads, dashboard_address=":0"
        ) as started,
        dask.Client(started) as client,
    ):
        yield client


def plan(source: Source, client: Any, n_neighbors: int) -> str:
    """Return the resources that a fit on workers needs, and whether they are available."""
    from rmgl.distributed.prepare import planned

    needs = planned(stored_paths(source) or views_in(source), client, n_neighbors)
    try:
        needs.check()
    except MemoryError as error:
        return f"{needs}\ntoo little memory: {error}"
    return f"{needs}\nthe workers and this machine have enough memory"


@dataclass(frozen=True)
class Predictions:
    """Labels of new rows (-1 for rows that belong to no cluster), and their cluster shares."""

    labels: Indices
    shares: Floats

    @property
    def n_unknown(self) -> int:
        """The number of rows that belong to no cluster."""
        return int((self.labels < 0).sum())


def predict(model: Path, source: Source, output: Path, unknown: float | None = None) -> Predictions:
    """Label the rows in the files with a saved model, and write the labels and shares."""
    fitted = RMGL.load(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        new, index = new_nodes(fitted, source) if source.networks else new_rows(fitted, source)
        placed = fitted._place(new, scored=unknown is not None)
    show_warnings([str(warning.message) for warning in caught])
    shares, scores = placed.votes.sum(axis=1), None
    labels = shares.argmax(axis=1)
    if unknown is not None:
        scores = placed.scores
        labels = np.where(scores > fitted.fitted_.farthest(unknown), -1, labels)
    write_predictions(output, labels, shares, index, scores, id_column=source.id_column)
    return Predictions(labels, shares)


def new_rows(fitted: RMGL, source: Source) -> tuple[Views, NDArray[Any] | None]:
    """Read the new rows in files, and return them with their ids."""
    new = read_new(fitted, source)
    check_names(new.names, new.index)
    if len(fitted.view_names_) == len(new.names) == 1:
        new = new.with_fields("name", fitted.view_names_)  # the file may have any name
    return new, new.index


def new_nodes(fitted: RMGL, source: Source) -> tuple[dict[str, Any] | Views, NDArray[Any] | None]:
    """Read new rows with edges to training rows, and rows in files. Return them and their ids."""
    lists = edge_lists(source)
    fitted_ids = list(range(len(fitted.labels_)) if fitted.index_ is None else fitted.index_)
    if not source.inputs:
        lists = [without_head(edges, edges.first[1:], fitted_ids) for edges in lists]
        index = np.array(
            list(dict.fromkeys(label for edges in lists for label in edges.first)), dtype=object
        )
        by_name = {edges.name: new_edges(edges, list(index), fitted_ids) for edges in lists}
        check_names(list(by_name), index)
        return by_name, index
    new = read_new(fitted, source, everyone=False)
    new_ids = list(range(new.n_rows) if new.index is None else new.index)
    lists = [without_head(edges, new_ids, fitted_ids) for edges in lists]
    by_name = {edges.name: new_edges(edges, new_ids, fitted_ids) for edges in lists}
    check_names([*by_name, *new.names], new.index)
    return new.beside(Views(tuple(FeatureView(*item) for item in by_name.items()))), new.index


def read_new(fitted: RMGL, source: Source, *, everyone: bool = True) -> Views:
    """Read new rows with the columns of the fitted views."""
    return read_views(
        source.inputs,
        source.id_column,
        "outer",
        least=0,
        everyone=everyone,
        fitted=fitted.fitted_.views,
        selection=source.selection,
    )


def inspect(source: Source) -> str:
    """Describe how each file would be read, without fitting a model."""
    selection = replace(source.selection, id_column=source.id_column)
    return "\n".join(line for path in source.inputs for line in inspect_file(path, selection))


def demo(output: Output | None, jobs: int) -> None:
    """Cluster the bundled digits, print layers and scores, and write them if `output` is set."""
    data = uci_digits.load_uci_digits()
    click.echo(
        "UCI handwritten digits: 2000 rows, 6 views. RMGL with 10 clusters; all other "
        "parameters are chosen from the data."
    )
    model = RMGL(10, random_state=0, n_jobs=jobs)
    with stages(is_watched()):
        seconds, warned = timed_fit(model, data.views)
    show_warnings(warned)
    click.echo(layer_table(model))
    click.echo(
        f"{'converged' if model.converged_ else 'not converged'} in {model.n_iter_} rounds, "
        f"{seconds:.1f} s"
    )
    click.echo(f"Verdict: {model.report_.trust}")
    click.echo("Compared with the true digits, which were not used:")
    click.echo(f"NMI       {normalized_mutual_info_score(data.target, model.labels_):.4f}")
    click.echo(f"accuracy  {clustering_accuracy(data.target, model.labels_):.4f}")
    if output is not None:
        ids = [f"{row} (a {digit})" for row, digit in enumerate(data.target)]
        columns = {"true digit": data.target.astype(str)}
        name = "UCI handwritten digits"
        write(model, output, data.views, seconds, ids, columns, name=name)
        click.echo(f"written: {output.folder}")
        if output.page:
            click.echo(f"open in a browser: {output.folder / 'report.html'}")


def write(
    model: RMGL,
    output: Output,
    views: Any,
    seconds: float,
    ids: Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    associations: Associations | None = None,
    name: str | None = None,
    id_column: str | None = None,
) -> None:
    """Write the result of a fit to its folder. Without views, omit features and the page."""
    with new_folder(output.folder, output.force) as draft:
        features = None if views is None else model.explain(views)
        found = (model.fitted_, model.report_)
        write_results(draft, output, *found, seconds, features, associations, id_column)
        if output.page and views is not None:
            model.to_html(
                draft / "report.html",
                ids,
                features,
                views=views,
                columns=columns,
                associations=associations,
                name=name,
            )


def is_watched(quiet: bool = False) -> bool:
    """Return whether to show a progress bar: on a terminal, unless `quiet`."""
    return not quiet and sys.stderr.isatty()


def timed_fit(
    model: RMGL,
    views: Mapping[str, Any] | Views,
    checkpoint: Path | None = None,
    client: Any = None,
) -> tuple[float, list[str]]:
    """Fit the model. Return how many seconds it took, and its warnings."""
    began = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(views, checkpoint=checkpoint, client=client)
    return perf_counter() - began, [str(warning.message) for warning in caught]


def show_warnings(warned: Sequence[str]) -> None:
    """Print each warning on one line."""
    for message in warned:
        click.echo(f"warning: {message}", err=True)


def layer_table(model: RMGL) -> str:
    """Return a table of the layers and their certificates, one line per layer."""
    width = max(5, *(len(layer.name) for layer in model.layers_))
    titles = (
        f"{'alpha':>9s}  {'beta':>9s}  {'edges/node':>10s}  {'components':>10s}  "
        f"{'KKT residual':>12s}  {'gap':>8s}  status"
    )
    lines = [f"{'layer':{width}s}  {titles}"]
    for layer, alpha, beta in zip(model.layers_, model.alpha_, model.beta_, strict=True):
        lines.append(
            f"{layer.name:{width}s}  {alpha:9.4g}  {beta:9.4g}  "
            f"{2 * layer.n_edges / layer.n_nodes:10.1f}  {layer.n_components:10d}  "
            f"{layer.kkt_residual:12.1e}  {layer.gap:8.1e}  {layer.status}"
        )
    return "\n".join(lines)
