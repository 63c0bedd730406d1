"""Settings that are tried for each method. Every table of results lists them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

SCALINGS = ("minmax", "standard")
DENSITIES: tuple[float | str, ...] = ("k=5", "k=10", "k=20", 100.0)
SC_GED_ROUNDS = 30  # the authors' stopping rule needs more rounds, and minutes per fit


@dataclass(frozen=True)
class Setting:
    """A method with its parameters. `kind` is "grid" (tuned with labels), "default" or "paper"."""

    method: str
    parameters: dict[str, Any]
    kind: str


def settings(problem_name: str, view_names: Iterable[str], quick: bool) -> list[Setting]:
    """Return all settings to compute for one problem."""
    views = list(view_names)
    grids = synthetic_grids(views) if problem_name == "synthetic" else real_grids(views)
    listed = []
    for method, grid in grids.items():
        chosen = [grid[0], grid[7]] if quick else grid
        listed += [Setting(method, parameters, "grid") for parameters in chosen]
        listed.append(Setting(method, dict(DEFAULT_PARAMETERS.get(method, {})), "default"))
    if problem_name != "synthetic":
        scales = ("minmax",) if quick else ("minmax", "standard", "unit", "none")
        listed += [
            Setting("RMGL", {"scale": scale, "edges": 100.0, "weights": "paper"}, "paper")
            for scale in scales
        ]
    return listed


# other methods use their defaults, and GD-MCCA uses the graph of the first view
DEFAULT_PARAMETERS = {"SC-GED": {"max_iter": SC_GED_ROUNDS}}


def real_grids(views: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the grids for real data, with about sixteen settings each, or eight for SC-GED, the
    slowest method.

    The grid for RMGL contains the beta from the paper, whose authors tuned it with labels.
    """
    many = len(views) > 3
    return {
        "RMGL": combinations(scale=SCALINGS, edges=DENSITIES, weights=("equal", "paper")),
        "GL-SigRep": combinations(scale=SCALINGS, edges=DENSITIES, smoothing=(0.1, 1.0)),
        "GL-SigRep(C)": combinations(scale=SCALINGS, edges=DENSITIES, smoothing=(0.1, 1.0)),
        "SC-GED": combinations(
            scale=SCALINGS, edges=DENSITIES, inverse=(100.0,), max_iter=(SC_GED_ROUNDS,)
        ),
        "SC-ML": combinations(scale=SCALINGS, edges=DENSITIES, merge=(0.2, 0.5)),
        "GD-MCCA": combinations(
            scale=("minmax", "none"),
            graph=views,
            gamma=(1.0,) if many else (0.1, 1.0),
            epsilon=(0.1, 1.0),
        ),
        "kNN spectral": combinations(scale=SCALINGS, n_neighbors=(5, 7, 10, 15, 20, 30, 50, 100)),
    }


def synthetic_grids(views: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the grids for synthetic data, with sixteen settings each, or more for GD-MCCA."""
    scales, edges = ("none", "minmax"), ("k=10", "k=20", "k=40", 100.0)
    return {
        "RMGL": combinations(
            scale=scales, edges=edges, weights=("equal",), strength=(100.0, 1000.0)
        ),
        "GL-SigRep": combinations(scale=scales, edges=edges, smoothing=(0.1, 1.0)),
        "GL-SigRep(C)": combinations(scale=scales, edges=edges, smoothing=(0.1, 1.0)),
        "SC-GED": combinations(
            scale=scales, edges=edges, inverse=(10.0, 100.0), max_iter=(SC_GED_ROUNDS,)
        ),
        "SC-ML": combinations(scale=scales, edges=edges, merge=(0.2, 0.5)),
        "GD-MCCA": combinations(
            scale=("minmax",), graph=views, gamma=(0.1, 1.0, 10.0), epsilon=(0.1, 1.0)
        ),
        "kNN spectral": combinations(scale=scales, n_neighbors=(5, 7, 10, 15, 20, 30, 40, 50)),
    }


def combinations(**values: Iterable[Any]) -> list[dict[str, Any]]:
    """Return all combinations of the named values."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def describe(parameters: dict[str, Any]) -> str:
    """Return parameters as the text of a table cell."""
    parts = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in parameters.items()
    ]
    return ", ".join(parts) or "defaults"
