"""Run the three experiments of the paper and write their tables and figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.datasets import make_complementary_layers
from rmgl.experiments import data
from rmgl.experiments import paper_figures as figures
from rmgl.experiments.cells import Cell, compute
from rmgl.experiments.data import Problem
from rmgl.experiments.grids import Setting, settings
from rmgl.experiments.methods import fit_rmgl
from rmgl.experiments.table import Result, best, collect, make_table, to_markdown
from rmgl.metrics import normalized_mutual_info_score

Progress = Callable[[int, int, str], None]
METHODS_SHOWN = ("RMGL (Q)", "SC-GED", "SC-ML", "GD-MCCA")


def reproduce(
    name: str,
    folder: Path,
    runs: int,
    quick: bool,
    *,
    n_jobs: int,
    images: Path | None,
    progress: Progress,
) -> None:
    """Compute one experiment, reusing stored cells, and write its table and figures."""
    if name == "synthetic":
        reproduce_synthetic(folder, runs, quick, n_jobs, progress)
    else:
        load: Callable[[], Problem] = partial(data.uci, quick)
        if name == "coil20":
            load = partial(data.coil20, quick, images)
        reproduce_real(name, folder, load, runs, quick, n_jobs, progress)


def redraw(name: str, folder: Path) -> None:
    """Draw the figures of a finished experiment from its files."""
    table, arrays = load_written(folder / name)
    if name == "synthetic":
        figures.save(figures.synthetic(arrays), folder / name / "figure1_synthetic")
        return
    figures.save(figures.bars(table), folder / name / f"figure2_{name}")
    if name == "uci":
        figures.save(figures.scatter_grid(arrays, METHODS_SHOWN), folder / name / "figure3_uci")


def reproduce_real(
    name: str,
    folder: Path,
    load: Callable[[], Problem],
    runs: int,
    quick: bool,
    n_jobs: int,
    progress: Progress,
) -> None:
    """Compute Figure 2 for the UCI digits or COIL-20 and, for the digits, Figure 3."""
    problem = load()
    label = f"{name}-quick" if quick else name
    cells = [
        Cell(label, load, problem.fingerprint, setting, runs)
        for setting in settings(name, problem.views, quick)
    ]
    compute(cells, folder / "cells", n_jobs, progress)
    results = collect(cells, folder / "cells")
    chosen = {shown: best(results, shown, "grid") for shown in METHODS_SHOWN}
    embeddings = {
        shown: result.embedding
        for shown, result in chosen.items()
        if result is not None and result.embedding is not None
    }
    write(
        folder / name,
        make_table(results, name, len(problem.target), runs, draws=1, quick=quick),
        embeddings | {"target": problem.target},
    )
    redraw(name, folder)


def reproduce_synthetic(
    folder: Path, draws: int, quick: bool, n_jobs: int, progress: Progress
) -> None:
    """Compute Figure 1 over `draws` draws, and the scores of RMGL on vectors of length one."""
    cells, unit_cells = [], []
    for draw in range(draws):
        plain, unit = partial(data.synthetic, draw), partial(data.synthetic, draw, unit_length=True)
        plain_hash, unit_hash = plain().fingerprint, unit().fingerprint
        for setting in settings("synthetic", plain().views, quick):
            cells.append(Cell(f"synthetic-{draw}", plain, plain_hash, setting, runs=1))
            if setting.method == "RMGL" and setting.kind == "grid":
                adapted = for_unit_length(setting)
                unit_cells.append(Cell(f"synthetic-unit-{draw}", unit, unit_hash, adapted, runs=1))
    compute(cells + unit_cells, folder / "cells", n_jobs, progress)
    results = collect(cells, folder / "cells")
    table = make_table(results, "synthetic", 100, 1, draws, quick)
    table["perfect"] = perfect(best(results, "RMGL (Q)", "grid"))
    table["unit_length"] = unit_length_report(collect(unit_cells, folder / "cells"), draws)
    write(folder / "synthetic", table, figure1_arrays(results))
    redraw("synthetic", folder)


def for_unit_length(setting: Setting) -> Setting:
    """Adapt a setting to data scaled by 1/10: divide alpha (if it is a number) and beta by 100."""
    edges, scale = setting.parameters["edges"], setting.parameters["scale"]
    if isinstance(edges, str) or scale != "none":
        return setting
    return replace(setting, parameters=setting.parameters | {"edges": edges / 100})


def perfect(result: Result | None) -> dict[str, int]:
    """Count the draws in which tuned RMGL has an NMI of 1, and four components in all layers."""
    assert result is not None
    right = np.array(result.nmi) > 1 - 1e-9
    split = np.array([set(components) == {4} for components in result.components])
    return {
        "draws": len(right),
        "nmi_1": int(right.sum()),
        "four_components": int(split.sum()),
        "both": int((right & split).sum()),
    }


def unit_length_report(results: list[Result], draws: int) -> dict[str, float]:
    """Score RMGL, and a classifier that knows the class means, on vectors of length one."""
    oracle = []
    for draw in range(draws):
        problem = data.synthetic(draw, unit_length=True)
        quiet = data.synthetic(draw, unit_length=True, noise=0.0)
        X, clean = (np.hstack(list(p.views.values())) for p in (problem, quiet))
        means = np.array(
            [clean[problem.target == c].mean(axis=0) for c in range(problem.n_clusters)]
        )
        nearest = ((X[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
        oracle.append(normalized_mutual_info_score(problem.target, nearest))
    chosen = best(results, "RMGL (Q)", "grid")
    perfect_draws = int((np.array(oracle) > 1 - 1e-9).sum())
    return {
        "rmgl_nmi": chosen.mean if chosen else float("nan"),
        "oracle_nmi": float(np.mean(oracle)),
        "oracle_perfect_draws": perfect_draws,
    }


def figure1_arrays(results: list[Result]) -> dict[str, Any]:
    """Return the true layers, RMGL's layers and all tuned embeddings for the first draw."""
    made = make_complementary_layers(random_state=0)
    arrays: dict[str, Any] = {"target": made.target}
    arrays |= {f"true:{name}": adjacency.toarray() for name, adjacency in made.layers.items()}
    chosen = best(results, "RMGL (Q)", "grid")
    assert chosen is not None
    model = fit_rmgl(data.synthetic(0), **chosen.setting.parameters)
    arrays |= {f"learned:{layer.name}": layer.adjacency.toarray() for layer in model.layers_}
    by_view = [f"GL-SigRep {name}" for name in made.views]
    for name in ["RMGL (Q)", *by_view, "SC-GED", "SC-ML", "GD-MCCA"]:
        result = best(results, name, "grid")
        if result is not None:
            arrays[f"embedding:{name}"] = result.embedding
    return arrays


def write(folder: Path, table: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write table.json, table.md, and arrays.npz with the data of the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    (folder / "table.md").write_text(to_markdown(table), encoding="utf-8")
    np.savez_compressed(folder / "arrays.npz", **arrays)


def load_written(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the table and the arrays of a finished experiment."""
    if not (folder / "table.json").is_file():
        raise ValueError(f"{folder} contains no finished experiment: run it without --redraw first")
    with np.load(folder / "arrays.npz", allow_pickle=False) as stored:
        return json.loads((folder / "table.json").read_text("utf-8")), {
            name: stored[name] for name in stored.files
        }
