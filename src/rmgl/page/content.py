"""Collect everything that the page shows from a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.fitting.fitted import FittedModel
from rmgl.layer import Layer
from rmgl.page.columns import GivenColumn, as_bytes, histograms
from rmgl.page.elements import shortened
from rmgl.page.features import PointFeature, one_side_each, point_features
from rmgl.page.shown import MOST_POINTS, Shown, choose_shown, density, positions, spread_out
from rmgl.plots.layers import layer_data
from rmgl.plots.resolutions import Resolutions, resolutions_data
from rmgl.results.associations import Associations
from rmgl.results.clusters import ClusterFacts, Level, cluster_facts, stability_of_clusters
from rmgl.results.explain import Explanation
from rmgl.results.own_neighbors import Share, own_neighbors
from rmgl.results.report import Report
from rmgl.results.standing import Standing, standing_of
from rmgl.views.views import Views

N_BLOCKS = 64
"""Number of cells along each side of the figure of a layer."""
N_CELLS = 300
"""Number of cells along each side of the density image."""
FEATURES = 5
"""Number of features per cluster and view on the page."""
LISTED_DOUBTS = 500
LISTED_OUTLIERS = 100
MEASURED, GATHERED = 0.3, 0.8
"""Fractions of the work completed before and after the layout of the entities."""


@dataclass(frozen=True)
class Content:
    """A fitted model and everything that was computed for its page."""

    model: FittedModel
    report: Report
    standing: Standing
    clusters: list[ClusterFacts]
    explanation: Explanation | None
    """Features with the largest effects for each cluster and view."""
    distributions: list[dict[str, Any] | None]
    own_units: bool
    """Whether the features are in their original units. Otherwise they are scaled as in the fit."""
    features: list[PointFeature]
    """Features available for coloring points."""
    n_features: int
    """Number of features in the data."""
    name: str
    """Name of the data. May be empty."""
    ids: list[str] | None
    columns: list[GivenColumn]
    associations: Associations | None
    """Comparison of the clusters on columns that were not used in the fit."""
    shown: Shown
    points: NDArray[np.float64]
    """Coordinates of all entities."""
    inside: list[Share]
    """Share of an entity's neighbors that are in its cluster, for each view alone."""
    resolutions: Resolutions | None
    """Stable resolutions and the splits of their clusters. None if the number of clusters was
    specified.
    """
    n_spread: int
    """Number of clusters whose members were nearly at one point and are spread over a disk."""

    @property
    def levels(self) -> list[Level]:
        """Stable resolutions, from coarse to fine. Empty if the number was specified."""
        return [] if self.resolutions is None else self.resolutions.levels

    @property
    def sampled(self) -> bool:
        return len(self.model.labels) > MOST_POINTS


def gather(
    model: FittedModel,
    report: Report,
    explanation: Explanation | None,
    views: Views | None,
    *,
    own_units: bool,
    ids: list[str] | None,
    columns: list[GivenColumn],
    associations: Associations | None = None,
    name: str = "",
    progress: Callable[[float], None] = lambda part: None,
) -> Content:
    """Compute the content of the page. Distributions are computed from the views passed again, or
    left out if `views` is None. `progress` is called with the completed fraction of the work.
    """
    own = own_neighbors(model.views)
    standing = standing_of(model.layers, model.beta, model.labels, model.n_clusters, own)
    clusters = cluster_facts(standing, model.labels, model.embedding, stability_of(model), own)
    shown = choose_shown(model.layers, special(model, standing, clusters))

    def laid_out(part: float) -> None:
        progress(MEASURED + part * (GATHERED - MEASURED))

    points, n_spread = spread_out(positions(model.embedding, progress=laid_out), model.labels)
    return Content(
        model=model,
        report=report,
        standing=standing,
        clusters=clusters,
        **shown_features(model, explanation, views, shown, own_units),
        own_units=own_units,
        ids=ids,
        columns=columns,
        associations=associations,
        shown=shown,
        name=name,
        points=points,
        inside=[neighbors.inside(model.labels) for neighbors in own],
        resolutions=None if model.number is None else resolutions_data(model),
        n_spread=n_spread,
    )


def stability_of(model: FittedModel) -> NDArray[np.float64] | None:
    """Return how well every cluster is recovered when a fifth of the entities is left out."""
    return stability_of_clusters(
        model.layers,
        model.beta,
        model.labels,
        model.n_clusters,
        np.union1d(model.fragments, model.placed),
        of_unit_length=model.parameters.of_unit_length,
        balanced=model.balance is not None,
    )


def shown_features(
    model: FittedModel,
    explanation: Explanation | None,
    views: Views | None,
    shown: Shown,
    own_units: bool,
) -> dict[str, Any]:
    """Return the fields of `Content` about features."""
    if explanation is None:
        return {"explanation": None, "distributions": [], "features": [], "n_features": 0}
    top = one_side_each(explanation, model.views).top(FEATURES, by_view=True)
    drawn: list[dict[str, Any] | None] = [None] * len(top)
    features, n_features = list[PointFeature](), 0
    if views is not None:
        drawn = histograms(top, views, model.labels, own_units)
        points = shown.entities[: shown.n_points]
        features, n_features = point_features(explanation, views, points, own_units)
    return {
        "explanation": top,
        "distributions": drawn,
        "features": features,
        "n_features": n_features,
    }


def special(
    model: FittedModel, standing: Standing, clusters: list[ClusterFacts]
) -> NDArray[np.intp]:
    """Return the entities that the page always includes: doubtful ones, outliers, and typical
    members of the clusters.
    """
    outliers = np.argsort(-model.outlier_score, kind="stable")[:LISTED_OUTLIERS]
    members = [part for cluster in clusters for part in (cluster.typical, cluster.doubtful)]
    return np.unique(np.concatenate([standing.doubtful[:LISTED_DOUBTS], outliers, *members]))


def facts_of(content: Content) -> dict[str, Any]:
    """Return the text and the individual numbers on the page as JSON data."""
    model, shown = content.model, content.shown
    place = {int(entity): at for at, entity in enumerate(shown.entities)}
    return {
        "n_entities": len(model.labels),
        "n_points": shown.n_points,
        "sampled": content.sampled,
        "n_clusters": model.n_clusters,
        "ids": None if content.ids is None else [content.ids[entity] for entity in shown.entities],
        "layers": [
            {"name": shortened(layer.name, 60), "role": layer.role} for layer in model.layers
        ],
        "columns": [
            {
                "name": shortened(column.name, 60),
                "categories": column.categories,
                "kind": column.kind,
            }
            for column in content.columns
        ],
        "features": [feature.facts() for feature in content.features],
        "n_features": content.n_features,
        "levels": [level.n_clusters for level in content.levels],
        "most_neighbors": shown.most_neighbors,
        "all_neighbors": shown.complete,
        "clusters": [
            {
                "size": cluster.size,
                "typical": [place[int(entity)] for entity in cluster.typical],
                "doubtful": [place[int(entity)] for entity in cluster.doubtful],
                "features": features_of(content, number),
            }
            for number, cluster in enumerate(content.clusters)
        ],
        "own_units": content.own_units,
        "heaviest": [float(links.weights.max(initial=0.0)) for links in shown.links],
    }


def features_of(content: Content, cluster: int) -> list[dict[str, Any]]:
    """Return the features that distinguish a cluster, largest effects first."""
    table = content.explanation
    if table is None:
        return []
    return [
        {
            "view": shortened(table.view[row], 60),
            "feature": shortened(table.feature[row]),
            "effect": plain_number(table.effect_size[row]),
            "inside": plain_number(table.mean_inside[row]),
            "outside": plain_number(table.mean_outside[row]),
            "auc": plain_number(table.auc[row]),
            "kind": shown_as(content, int(row)),
            "values": content.distributions[row],
        }
        for row in np.flatnonzero(table.cluster == cluster)
        if not np.isnan(table.effect_size[row])
    ]


def shown_as(content: Content, row: int) -> str:
    """Return how a feature's values are displayed: "number", "share" or "date"."""
    drawn = content.distributions[row]
    return "number" if drawn is None else str(drawn["kind"])


def plain_number(value: float) -> float | str:
    """Return a number for JSON with six significant digits. Infinity becomes text."""
    return float(f"{value:.6g}") if np.isfinite(value) else ("∞" if value > 0 else "-∞")


def arrays_of(content: Content) -> dict[str, NDArray[Any]]:
    """Return the arrays of the entities on the page."""
    model, entities = content.model, content.shown.entities
    arrays: dict[str, NDArray[Any]] = {
        "row": entities.astype(np.uint32),
        "x": content.points[entities, 0].astype(np.float32),
        "y": content.points[entities, 1].astype(np.float32),
        "cluster": model.labels[entities].astype(np.uint16),
        "confidence": as_bytes(content.standing.confidence[entities]),
        "agreement": as_bytes(content.standing.agreement[entities]),
        "outlier": as_bytes(model.outlier_score[entities]),
    }
    for at, (shares, links, layer) in enumerate(
        zip(content.standing.layers, content.shown.links, model.layers, strict=True)
    ):
        arrays[f"named_{at}"] = np.where(shares.named < 0, 65535, shares.named)[entities].astype(
            np.uint16
        )
        arrays[f"share_{at}"] = as_bytes(shares.of_named[entities])
        arrays[f"own_{at}"] = as_bytes(shares.own[entities])
        heaviest = links.weights.max(initial=0.0) or 1.0
        arrays[f"starts_{at}"] = links.starts
        arrays[f"targets_{at}"] = links.targets.astype(np.uint32)
        arrays[f"weights_{at}"] = np.rint(links.weights / heaviest * 65535).astype(np.uint16)
        arrays[f"block_{at}"] = block_picture(layer, model.labels)
    for at, level in enumerate(content.levels):
        arrays[f"level_{at}"] = np.where(level.labels < 0, 65535, level.labels)[entities].astype(
            np.uint16
        )
    for at, column in enumerate(content.columns):
        arrays[f"column_{at}"] = column.values[entities]
    for at, feature in enumerate(content.features):
        arrays[f"feature_{at}"] = feature.codes
    if content.sampled:
        counts, cluster, corners = density(content.points, model.labels, model.n_clusters, N_CELLS)
        arrays["cell_count"] = (
            np.rint(255 * np.log1p(counts) / np.log1p(counts.max())).astype(np.uint8).ravel()
        )
        arrays["cell_cluster"] = np.where(cluster < 0, 65535, cluster).astype(np.uint16).ravel()
        arrays["corners"] = corners.astype(np.float32).ravel()
    return arrays


def block_picture(layer: Layer, labels: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return the edge weight of a layer in the cells of a grid with the entities ordered by
    cluster, on a logarithmic scale from 0 (none) to 255 (maximum).
    """
    image, _ = layer_data(layer, labels, n_bins=N_BLOCKS)
    present = image[image > 0]
    if not present.size:
        return np.zeros(image.size, dtype=np.uint8)
    high = float(np.quantile(present, 0.995))
    scaled = 1 + np.log(np.maximum(image, high / 300) / high) / np.log(300)
    return (
        np.where(image > 0, np.rint(np.clip(scaled, 0.02, 1.0) * 255), 0).astype(np.uint8).ravel()
    )
