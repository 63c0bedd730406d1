"""Fit models with several numbers of clusters to the same files, and write and compare them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from rmgl.command_line.commands import (
    is_watched,
    read_source,
    show_warnings,
    timed_fit,
    write_fit,
)
from rmgl.estimators.rmgl import RMGL
from rmgl.running.progress import stages
from rmgl.storage.output import new_folder
from rmgl.storage.paths import COMPARISON, Output, Source, folder_of_number

COLUMNS = ("clusters", "trust", "stability", "separation", "smallest", "same_as_before")


@dataclass(frozen=True)
class Answer:
    """Statistics for one result, which are compared across numbers of clusters."""

    clusters: int
    trust: str
    stability: float | None
    """Agreement with refits on four fifths of the entities (None if unknown)."""
    separation: float | None
    """How much better the clusters are separated than parts of a single cloud (None if unknown)."""
    smallest: int
    """Size of the smallest cluster."""
    same_as_before: float | None
    """Adjusted Rand index with the previous result (None for the first result)."""

    def cells(self) -> list[str]:
        """Return the cells of this result in its row of the table."""
        return [_text(getattr(self, column)) for column in COLUMNS]


def cluster(
    models: Sequence[RMGL], source: Source, output: Output, *, quiet: bool = False
) -> list[Answer]:
    """Fit the models to the views in the files, and write each to a subfolder of the output.

    Each fit has its own progress bar.
    """
    answers, last, warned = list[Answer](), None, list[str]()
    with new_folder(output.folder, output.force) as draft:
        views, table = read_source(source, [model.n_clusters for model in models])
        for model in models:
            folder = replace(output, folder=draft / folder_of_number(model.n_clusters), force=False)
            with stages(is_watched(quiet)):
                seconds, told = timed_fit(model, views)
                write_fit(model, source, table, folder, views, seconds)
            warned += [message for message in told if message not in warned]
            warned += [f"{model.n_clusters} clusters: {doubt}" for doubt in model.report_.warnings]
            answers.append(answer_of(model, last))
            last = model.labels_
        write_comparison(draft / COMPARISON, answers)
    show_warnings(warned)
    return answers


def answer_of(model: RMGL, before: np.ndarray | None) -> Answer:
    """Return the statistics for a fitted model. `before` is the labels of the previous model."""
    report = model.report_
    refits = report.refits
    return Answer(
        model.n_clusters_,
        "unknown" if report.trust is None else report.trust.word,
        None if refits is None else refits.resampled,
        None if refits is None else refits.separation,
        int(np.bincount(model.labels_).min()),
        None if before is None else float(adjusted_rand_score(before, model.labels_)),
    )


def write_comparison(path: Path, answers: Sequence[Answer]) -> None:
    """Write a CSV file with one row for each number of clusters."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(answer.cells() for answer in answers)


def comparison(answers: Sequence[Answer]) -> str:
    """Return a table of all results for a terminal."""
    rows = [list(COLUMNS), *(answer.cells() for answer in answers)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
