"""The quality page: NMI of every method with its defaults."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks import few_rows, figures
from benchmarks.results import Row
from benchmarks.suite_networks import MULTIPLEX
from benchmarks.tables import done, entry, failures, mark, table

OURS = "rmgl_defaults"
BASELINES = ("sklearn_spectral", "sklearn_spectral_our_scaling")


def section(rows: list[Row], output: Path) -> Iterable[str]:
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    by_name = {(row["dataset"], row["method"]): row for row in rows}
    methods = [m for m in dict.fromkeys(row["method"] for row in rows) if not is_ablation(rows, m)]
    everywhere = [m for m in methods if all((d, m) in by_name for d in datasets)]
    common = [d for d in datasets if all((d, m) in by_name for m in methods)]
    yield "## NMI"
    yield (
        "Scores are means over up to three seeds with one thread (one seed for other packages). "
        "`sklearn_spectral`, the baseline in the last column, is nearest-neighbor spectral "
        "clustering of the concatenated views, each scaled to [0, 1] (word counts: rows scaled to "
        "length one) and divided by its total standard deviation; `sklearn_spectral_our_scaling` "
        "is the same method after RMGL's "
        '`scale="auto"`. A method that timed out scores 0 in the mean and is ranked last. '
        "`leiden_multiplex` chooses the number of clusters itself."
    )
    if common != datasets:
        yield f"All {len(datasets)} data sets, and the methods that ran on all of them:"
        yield score_table(by_name, everywhere, datasets, "nmi")
        yield f"All methods, on {len(common)} data sets:"
    yield score_table(by_name, methods, common, "nmi")
    figures.quality(by_name, methods, common, output / "quality.png")
    yield "## Adjusted Rand index"
    yield score_table(by_name, everywhere, datasets, "ari")
    ablations = [m for m in dict.fromkeys(row["method"] for row in rows) if is_ablation(rows, m)]
    if ablations:
        shown = [d for d in datasets if all((d, m) in by_name for m in ablations)]
        yield "## Ingredients"
        yield (
            "Ablation study: NMI of RMGL with its defaults, with one step turned off at a time, on "
            "the small data sets, for one seed:"
        )
        yield score_table(by_name, [OURS, *ablations], shown, "nmi", difference=True)
    yield from failures(rows)


def times_section(rows: list[Row], output: Path) -> Iterable[str]:
    """Times of every method, for the performance page."""
    by_name = {(row["dataset"], row["method"]): row for row in rows}
    methods = [m for m in dict.fromkeys(row["method"] for row in rows) if not is_ablation(rows, m)]
    datasets = [
        d
        for d in dict.fromkeys(row["dataset"] for row in rows)
        if all((d, m) in by_name for m in methods)
    ]
    yield "## Whole fits"
    yield (
        "The table shows how many seconds each method in [quality](quality.md) takes with its "
        "defaults and one thread, on the data sets on which every method was run. `mfeat` is the "
        "handwritten digits, with 2000 rows in six views. These times are not comparable with "
        "those in the previous section: they come from a separate run, in which `sklearn_spectral` "
        "gets views scaled to [0, 1] and the time of `sklearn_spectral_our_scaling` includes the "
        "scaling."
    )
    order = sorted(methods, key=lambda m: value(by_name.get(("mfeat", m)), "seconds"))
    cells = [[entry(by_name[d, m], "seconds", "{:.3g}") for d in datasets] for m in order]
    yield table(["method", *datasets], [[m, *line] for m, line in zip(order, cells, strict=True)])
    digits = [row for row in rows if row["dataset"] == "mfeat" and row["method"] in methods]
    if digits:
        figures.fit(digits, output / "performance_fit.png")
        yield "![Seconds and NMI of every method on the digits](images/performance_fit.png)"


def complementary_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Complementary views"
    yield (
        "The data come from `rmgl.datasets.make_complementary_views`; each view separates only "
        "some of the clusters. The table shows the mean NMI over draws and, in parentheses, the "
        "worst difference from spectral clustering of the concatenated views in any draw. In the "
        "last kind, a view with different clusters dominates."
    )
    kept = [row for row in rows if done(row)]
    score = {(row["kind"], row["draw"], row["method"]): row["nmi"] for row in kept}
    kinds, methods = (list(dict.fromkeys(row[name] for row in kept)) for name in ("kind", "method"))
    base = BASELINES[1]
    lines, total = [], {m: [] for m in methods}
    for kind in kinds:
        draws = sorted({row["draw"] for row in kept if row["kind"] == kind})
        if any((kind, draw, m) not in score for draw in draws for m in methods):
            continue
        cells = []
        for m in methods:
            own = [score[kind, draw, m] for draw in draws]
            worst = min(score[kind, draw, m] - score[kind, draw, base] for draw in draws)
            cells.append(
                f"{np.mean(own):.3f}" if m == base else f"{np.mean(own):.3f} ({worst:+.3f})"
            )
            total[m].append(own)
        lines.append([kind, *cells])
    for name, kept_kinds in (("all", slice(None)), ("all but the last", slice(-1))):
        if len(lines) > 1:
            lines.append([name, *(f"{np.mean(total[m][kept_kinds]):.3f}" for m in methods)])
    yield table(["kind", *methods], lines)


def is_ablation(rows: list[Row], method: str) -> bool:
    return any(row["method"] == method and row.get("ablation") for row in rows)


def score_table(
    by_name: dict[tuple, Row],
    methods: list[str],
    datasets: list[str],
    score: str,
    difference: bool = False,
) -> str:
    """One line per method, with the best mean first: scores, mean, mean rank and the worst
    difference from the concatenation baseline.
    """
    scores = {m: np.array([value(by_name.get((d, m)), score) for d in datasets]) for m in methods}
    ranks = mean_ranks(scores)
    base = np.array([value(by_name.get((d, BASELINES[0])), score) for d in datasets])
    own = scores.get(OURS)
    lines = []
    for method in sorted(methods, key=lambda m: -np.nan_to_num(scores[m]).mean()):
        mean = np.nan_to_num(scores[method]).mean()
        cells = [
            f"{v:.3f}" if np.isfinite(v) else mark(by_name.get((d, method)))
            for v, d in zip(scores[method], datasets, strict=True)
        ]
        last = (
            f"{mean - np.nan_to_num(own).mean():+.4f}"
            if difference and own is not None
            else f"{ranks[method]:.1f}"
        )
        lines.append(
            [
                method,
                *cells,
                f"{mean:.4f}",
                last,
                f"{np.nan_to_num(scores[method] - base, nan=-1.0).min():+.3f}",
            ]
        )
    return table(
        [
            "method",
            *datasets,
            "mean",
            "difference from all" if difference else "mean rank",
            "worst difference from baseline",
        ],
        lines,
    )


def value(row: Row | None, score: str) -> float:
    return float(row[score]) if row is not None and done(row) else np.nan


def mean_ranks(scores: dict[str, np.ndarray]) -> dict[str, float]:
    """The mean rank of every method, where 1 is the best; equal scores share ranks, and missing
    scores come last.
    """
    names = list(scores)
    matrix = np.array([np.nan_to_num(scores[name], nan=-1.0).round(4) for name in names])
    places = (
        1
        + (matrix[None] > matrix[:, None]).sum(axis=1)
        + ((matrix[None] == matrix[:, None]).sum(axis=1) - 1) / 2
    )
    return dict(zip(names, places.mean(axis=1).tolist(), strict=True))


def robustness_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Robustness"
    yield (
        "The table shows the NMI and, in parentheses, how it differs from the NMI on the original "
        "data. Each modification is applied separately: a view with 50 columns of noise is added; "
        "1% of the rows are shifted in every view, by ten standard deviations in each column; 10% "
        "of the rows are duplicated; or 20% of the rows are empty in each view. All values are "
        "means over draws."
    )
    apart = ("number", few_rows.CHANGE)  # shown in separate tables
    kept = [row for row in rows if done(row) and row["change"] not in apart]
    changes = list(dict.fromkeys(row["change"] for row in kept))
    lines = []
    for dataset, method in dict.fromkeys((row["dataset"], row["method"]) for row in kept):
        means = {
            c: np.mean(
                [
                    r["nmi"]
                    for r in kept
                    if (r["dataset"], r["method"], r["change"]) == (dataset, method, c)
                ]
            )
            for c in changes
        }
        cells = [
            f"{means[c]:.3f}"
            if c == "plain"
            else f"{means[c]:.3f} ({means[c] - means['plain']:+.3f})"
            for c in changes
        ]
        lines.append([dataset, method, *cells])
    yield table(["data set", "method", *changes], lines)


def practice_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Incomplete views"
    yield (
        "Mean NMI over draws on the digits, after a fraction of the (row, view) pairs was removed "
        "at random:"
    )
    lines = []
    for share in dict.fromkeys(row["share"] for row in rows if row["what"] == "incomplete"):
        scores = [
            row["nmi"] for row in rows if row["what"] == "incomplete" and row["share"] == share
        ]
        lines.append(
            [
                f"{share:.0%}",
                f"{np.mean(scores):.3f}",
                f"{min(scores):.3f}",
                f"{max(scores):.3f}",
                len(scores),
            ]
        )
    yield table(["removed", "NMI", "lowest", "highest", "draws"], lines)
    new = [row for row in rows if row["what"] == "new rows"]
    if new:
        yield "## New rows"
        mean = {
            name: np.mean([row[name] for row in new])
            for name in ("fitted", "nmi", "half", "agreement")
        }
        yield (
            f"Models fitted on 80% of the digits ({len(new)} draws) have an NMI of "
            f"{mean['fitted']:.3f}. `predict` labels the other 20% with an NMI of "
            f"{mean['nmi']:.3f}, or {mean['half']:.3f} if each row has three of the six views. For "
            f"{mean['agreement']:.2%} of the training rows, `predict` returns the label from the "
            "fit."
        )


def cells_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Missing cells"
    yield (
        "A fraction of the cells in every view was removed at random. The table shows the mean "
        "NMI over draws, its standard deviation, and the number of draws. `rmgl` takes the views "
        "as they are and estimates distances from the columns that are observed in both rows. "
        "`mean` and `knn` fill each view first (with scikit-learn's `SimpleImputer` and "
        "`KNNImputer`), and `drop` leaves out columns with missing cells. The last column is the "
        "difference between `rmgl` and `knn` on the same draws, with its standard error."
    )
    methods, lines = ("rmgl", "mean", "knn", "drop"), []
    for dataset, share in sorted(
        {(row["dataset"], row["share"]) for row in rows if row["share"] > 0}
    ):
        complete = next(
            (
                row["nmi"]
                for row in rows
                if row["dataset"] == dataset and row["method"] == "complete" and done(row)
            ),
            np.nan,
        )
        own = [row for row in rows if (row["dataset"], row["share"]) == (dataset, share)]
        cells = [cell_of([row for row in own if row["method"] == m]) for m in methods]
        lines.append(
            [dataset, f"{share:.0%}", f"{complete:.3f}", *cells, difference(own, "rmgl", "knn")]
        )
    yield table(["data set", "removed", "complete", *methods, "rmgl - knn"], lines)


def difference(rows: list[Row], first: str, second: str) -> str:
    """The mean difference between two methods on the same draws, with its standard error if there
    are several draws.
    """
    one, other = (
        {row["draw"]: row["nmi"] for row in rows if row["method"] == method and done(row)}
        for method in (first, second)
    )
    apart = [one[draw] - other[draw] for draw in one if draw in other]
    if not apart:
        return ""
    error = f" ± {np.std(apart, ddof=1) / len(apart) ** 0.5:.3f}" if len(apart) > 1 else ""
    return f"{np.mean(apart):+.3f}{error}"


def cell_of(rows: list[Row]) -> str:
    """The mean and standard deviation of the scores in some rows, or why there are no scores."""
    scores = [row["nmi"] for row in rows if done(row)]
    if not scores:
        return rows[0]["status"].removeprefix("skipped: ") if rows else ""
    return f"{np.mean(scores):.3f} ± {np.std(scores):.3f} ({len(scores)})"


def networks_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Networks"
    yield (
        "RMGL runs with its defaults in four ways: on the words and the links, which are passed as "
        "networks (`rmgl.Network`), as networks with `learn=True`, or as features; and on the "
        "words alone. "
        "SC-ML, multiplex Leiden and spectral clustering of the sum of all networks use the "
        "networks and the 15-nearest-neighbor graph of the words. In webkb, the networks connect "
        "pages that link to the same pages. The following data sets are multiplex networks without "
        f"features: {', '.join(f'`{name}`' for name in MULTIPLEX)}. The table shows the NMI for "
        "one seed:"
    )
    by_name = {(row["dataset"], row["method"]): row for row in rows}
    datasets, methods = (
        list(dict.fromkeys(row[name] for row in rows)) for name in ("dataset", "method")
    )

    def cell(dataset: str, method: str) -> str:
        row = by_name.get((dataset, method))
        return "" if row is None else f"{row['nmi']:.3f}" if done(row) else mark(row)

    yield table(
        ["method", *datasets],
        [[method, *(cell(dataset, method) for dataset in datasets)] for method in methods],
    )
    yield from failures(rows)


def known_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Known labels"
    yield (
        "In each class, ten randomly drawn labels are known (half of the labels in a class with "
        "fewer than twenty members). The scores are computed on the entities with unknown labels, "
        "for fits with and without the known labels. The table shows means over draws and the "
        "worst difference in any draw:"
    )
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == dataset and done(row)]
        cells = []
        for score in ("nmi", "accuracy"):
            with_known, without = (
                np.array([row[name] for row in own]) for name in (score, f"{score}_without")
            )
            cells += [
                f"{without.mean():.3f}",
                f"{with_known.mean():.3f}",
                f"{(with_known - without).min():+.3f}",
            ]
        lines.append([dataset, own[0]["n_known"], len(own), *cells])
    head = [
        "data set",
        "known",
        "draws",
        "NMI without",
        "with",
        "worst",
        "accuracy without",
        "with",
        "worst",
    ]
    yield table(head, lines)
