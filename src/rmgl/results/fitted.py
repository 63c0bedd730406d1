"""What writing, drawing and exchanging results ask of a fitted model."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.layer import Layer
from rmgl.results.report import Report


class Fitted(Protocol):
    """The attributes of a fitted `RMGL` that results are made from."""

    labels_: NDArray[np.intp]
    embedding_: NDArray[np.float64]
    layers_: list[Layer]
    alpha_: NDArray[np.float64]
    beta_: NDArray[np.float64]
    view_weights_: NDArray[np.float64]
    view_roughness_: NDArray[np.float64] | None
    view_names_: list[str]
    outlier_score_: NDArray[np.float64]
    fragments_: NDArray[np.intp]
    placed_: NDArray[np.intp]
    index_: NDArray[Any] | None
    n_clusters_: int
    number_: NumberOfClusters | None
    report_: Report
    history_: list[dict[str, Any]]
    converged_: bool
    n_iter_: int

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
