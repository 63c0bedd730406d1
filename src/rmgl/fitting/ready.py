"""Input of a fit: scaled views with their entities in canonical order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from numpy.typing import NDArray

from rmgl.automatic.policy import Policy
from rmgl.matrix import Indices
from rmgl.model.problems import given_graphs, is_auto
from rmgl.views.canonical import Canonical, canonical_order
from rmgl.views.views import Views


@dataclass(frozen=True)
class Ready:
    """Scaled views, and what is known about their entities, which are the caller's entities in
    canonical order.
    """

    views: Views
    index: NDArray[Any] | None
    """Row labels in the caller's order."""
    scale: list[tuple[str, str]]
    canonical: Canonical
    recognized: Sequence[str] = ()
    """Names of views that were passed as features but look like networks."""
    known: Indices | None = None
    """Known labels, -1 for unknown. None if no label is known."""
    tied: bool = False
    """Whether known labels change the costs of the layers."""


def in_canonical_order(
    views: Views, parameters: Parameters, known: Indices | None = None
) -> tuple[Views, Canonical]:
    """Return the views as they are used for distances, with their entities sorted by content. No
    array is shared with the caller.
    """
    views = views.with_metrics(parameters.metric)
    if parameters.automatic:
        views = views.without_empty_rows().compressed()
    canonical = canonical_order(views, known, given_graphs(parameters.candidates, views))
    return views.in_order(canonical.order), canonical


def scaled(
    views: Views,
    canonical: Canonical,
    parameters: Parameters,
    *,
    index: NDArray[Any] | None,
    recognized: Sequence[str] = (),
    known: Indices | None = None,
    tied: bool = False,
) -> Ready:
    """Scale views in canonical order. `index` and `known` are in the caller's order."""
    scale = views.choose_scales(views.scales_for(parameters.scale, parameters.metric))
    known = None if known is None else known[canonical.order]
    return Ready(
        views.scaled_as([how for how, _ in scale]), index, scale, canonical, recognized, known, tied
    )


UNESSENTIAL = ("n_jobs", "verbose", "max_seconds")
"""Parameters that do not change the result of a finished fit."""


@dataclass(frozen=True)
class Parameters:
    """Validated parameters of `RMGL`, which documents them."""

    n_clusters: Any
    alpha: Any
    beta: Any
    scale: Any
    metric: Any
    n_neighbors: int
    components: bool
    min_cluster_size: Any
    align: str | None
    missing: str
    views: Any
    solver: str
    candidates: Any
    policy: Policy | None
    tol: float
    max_iter: int
    max_seconds: float | None
    n_init: int
    n_jobs: int | None
    random_state: Any
    verbose: int

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Parameters:
        """Return the parameters of an estimator, which may have others as well."""
        return cls(**{field.name: given[field.name] for field in fields(cls)})

    def as_dict(self) -> dict[str, Any]:
        """Return the parameters by name, in alphabetical order."""
        return {name: getattr(self, name) for name in sorted(field.name for field in fields(self))}

    @property
    def automatic(self) -> bool:
        """Whether alpha and beta are chosen from the data (`rmgl.automatic.choose`)."""
        return is_auto(self.alpha) and is_auto(self.beta)

    @property
    def rules(self) -> Policy:
        """Parameters and rules for the automatic choices."""
        return Policy() if self.policy is None else self.policy

    @property
    def of_unit_length(self) -> bool:
        """Whether k-means uses embedding rows scaled to length one."""
        return self.automatic

    @property
    def given_number(self) -> int | None:
        """Number of clusters. None if it is chosen from the data."""
        return None if is_auto(self.n_clusters) else self.n_clusters

    @property
    def given_size(self) -> float | None:
        """Size below which a cluster is a fragment, unless it is an island. None if the automatic
        choice determines it.
        """
        return None if is_auto(self.min_cluster_size) else float(self.min_cluster_size)

    def essential(self) -> dict[str, Any]:
        """Return everything on which the result depends, in a form that a file can store."""
        return {
            name: value
            for name, value in storable(self.as_dict()).items()
            if name not in UNESSENTIAL
        }


def storable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator as stored in files, with policy rules replaced by their
    names.
    """
    policy = parameters["policy"]
    return parameters if policy is None else {**parameters, "policy": policy.named()}
