"""What a fit begins with: views that are scaled, with their entities in canonical order."""

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
    """Scaled views and what is known about their entities, which are those of the caller in
    canonical order.
    """

    views: Views
    index: NDArray[Any] | None
    """The labels of the rows, in the order of the caller."""
    scale: list[tuple[str, str]]
    canonical: Canonical
    recognized: Sequence[str] = ()
    """The names of views that were given as features and look like networks."""
    known: Indices | None = None
    """Known labels, -1 for unknown. None if no label is known."""
    tied: bool = False
    """Whether known labels change the costs of the layers."""


def in_canonical_order(
    views: Views, parameters: Parameters, known: Indices | None = None
) -> tuple[Views, Canonical]:
    """The views as their distances are taken, with their entities sorted by content; none of their
    arrays is the caller's.
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
    """Scale views in canonical order; `index` and `known` are in the order of the caller."""
    scale = views.choose_scales(views.scales_for(parameters.scale, parameters.metric))
    known = None if known is None else known[canonical.order]
    return Ready(
        views.scaled_as([how for how, _ in scale]), index, scale, canonical, recognized, known, tied
    )


UNESSENTIAL = ("n_jobs", "verbose", "max_seconds")
"""Parameters that do not change the result of a finished fit."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of `RMGL`, which documents them, after they were checked."""

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
        """The parameters of an estimator, which may have others."""
        return cls(**{field.name: given[field.name] for field in fields(cls)})

    def as_dict(self) -> dict[str, Any]:
        """The parameters by name, in alphabetical order."""
        return {name: getattr(self, name) for name in sorted(field.name for field in fields(self))}

    @property
    def automatic(self) -> bool:
        """Whether alpha and beta are chosen from the data (`rmgl.automatic.choose`)."""
        return is_auto(self.alpha) and is_auto(self.beta)

    @property
    def rules(self) -> Policy:
        """The numbers and rules of the automatic choice."""
        return Policy() if self.policy is None else self.policy

    @property
    def of_unit_length(self) -> bool:
        """Whether k-means sees the rows of the embedding with length one."""
        return self.automatic

    @property
    def given_number(self) -> int | None:
        """The number of clusters (None: it is chosen from the data)."""
        return None if is_auto(self.n_clusters) else self.n_clusters

    @property
    def given_size(self) -> float | None:
        """The size below which a cluster that is no island is a fragment (None: the choice says
        it).
        """
        return None if is_auto(self.min_cluster_size) else float(self.min_cluster_size)

    def essential(self) -> dict[str, Any]:
        """What the result depends on, as a file can hold it."""
        return {
            name: value
            for name, value in storable(self.as_dict()).items()
            if name not in UNESSENTIAL
        }


def storable(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator as files hold them: rules of the policy by name."""
    policy = parameters["policy"]
    return parameters if policy is None else {**parameters, "policy": policy.named()}
