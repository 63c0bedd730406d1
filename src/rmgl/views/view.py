"""`View`: the interface of every kind of view. Code outside a kind never checks for the kind.

A view has one matrix with a row for every entity: its features (`rmgl.views.features`), the weights
of its edges (`rmgl.views.network`), or its squared distances to all entities
(`rmgl.views.precomputed`). An entity may be missing from the view; its row is then zero, and it is
not among the `entities`. To add a kind, derive a dataclass from the view in one of these modules or
from `View`, register it as a record so that models with it can be saved, and create it in the
`to_view` method of the object that users pass (`GivenView`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.edges.space import Gapped, Space, Square, as_space
from rmgl.matrix import Matrix
from rmgl.running.threads import Check, InParts, one_part
from rmgl.views.canonical import Keys, Vector
from rmgl.views.encoding import Encoding
from rmgl.views.halves import Halves
from rmgl.views.incomplete import Mask
from rmgl.views.scaling import Scaler

if TYPE_CHECKING:
    from rmgl.views.features import FeatureView

Indices = NDArray[np.intp]
Comparing: TypeAlias = Callable[["FeatureView"], NDArray[np.float64]]
"""Function compare(new): squared distances between new entities and those in the fit, (n, N)."""


@runtime_checkable
class GivenView(Protocol):
    """An object that users pass as a view instead of an array or table, such as `rmgl.Network`.

    It may also have methods that match its entities to the row labels of tables: `labels()` and
    `placed(name, index)`, or `in_order(name, index)`.
    """

    def to_view(self, name: str, observed: Mask | None) -> View:
        """Validate and return the view. Entities not `observed` are missing (None for all)."""


@dataclass(frozen=True)
class GivenGraph:
    """A graph on all entities that is the layer of a view, or from which its layer is learned."""

    weights: sparse.csr_array
    learn: bool = False
    """Whether to learn the layer on the edges of the graph."""
    two_steps: bool = False
    """Whether neighbors of neighbors may also get edges in a learned layer."""


@dataclass(frozen=True)
class View(ABC):
    """One view of the entities."""

    name: str
    matrix: Matrix
    """One row per entity, dense float64 or CSR, with zeros for missing entities."""
    entities: Indices | None = None
    """Indices of the entities that are observed in the view. None for all."""

    # Which entities are observed

    @property
    def n_rows(self) -> int:
        """Number of all entities."""
        return int(self.matrix.shape[0])

    @property
    def n_own(self) -> int:
        """Number of entities observed in the view."""
        return self.n_rows if self.entities is None else int(self.entities.size)

    @property
    def mask(self) -> Mask:
        """Whether each entity is observed in the view."""
        present = np.full(self.n_rows, self.entities is None)
        present[slice(0) if self.entities is None else self.entities] = True
        return present

    @property
    def n_empty(self) -> int:
        """Number of entities that count as missing because their rows are zero."""
        return 0

    @property
    def n_missing(self) -> int:
        """Number of entities that are missing from the view, not counting rows of zeros."""
        return self.n_rows - self.n_own - self.n_empty

    @property
    def filled(self) -> Mask:
        """Whether the row of each entity has a nonzero entry."""
        return np.asarray(np.asarray((self.matrix != 0).sum(axis=1)).ravel() > 0)

    def without_empty(self, filled: Mask, anywhere: Mask) -> Self:
        """Return the view with rows of zeros treated as missing, if that is their meaning.

        `filled` and `anywhere` are masks of the entities with a nonzero row here, and in any view.
        """
        return self

    # Some of the entities, or another order

    @abstractmethod
    def own(self) -> Matrix:
        """Return the matrix of the observed entities."""

    @abstractmethod
    def of(self, entities: Indices) -> Self:
        """Return the view restricted to these entities."""

    @abstractmethod
    def in_order(self, order: Indices) -> Self:
        """Return the view with the entities in another order: entity order[0] comes first."""

    def without(self, columns: Sequence[int]) -> View:
        """Return a copy without these columns of `features`, and with no names or scaler."""
        raise TypeError(f"view {self.name!r} has no columns of features")

    def _entities_of(self, entities: Indices) -> Indices | None:
        """Return the positions of the observed entities among these entities (None for all)."""
        present = self.mask[entities]
        return None if present.all() else np.flatnonzero(present)

    def _entities_in(self, order: Indices) -> Indices | None:
        """Return the positions of the observed entities in another order (None for all)."""
        return None if self.entities is None else np.sort(np.argsort(order)[self.entities])

    # The data for the canonical order (`rmgl.views.canonical`)

    def projected(self, salt: int) -> Vector:
        """Project each row onto a random direction. Zero if rows are about pairs of entities."""
        return np.zeros(self.n_rows)

    def keys(self, some: Indices, salt: int) -> Keys:
        """Hash the rows of these entities. Zero if rows are about pairs of entities."""
        return np.zeros(some.size, dtype=np.uint64)

    @property
    def relating(self) -> Matrix | None:
        """Square matrix of data about pairs. None if every row is about its own entity."""
        return self.matrix

    # The data from which its layer is learned

    @property
    def rows(self) -> Matrix | None:
        """Rows of features with Euclidean distances, zeros if missing. None without features."""
        return None

    @property
    def graph(self) -> GivenGraph | None:
        """Graph that is the layer, or from which it is learned. None without a graph."""
        return None

    @property
    def comparable(self) -> bool:
        """Whether all pairs of entities have a distance, as needed to combine views."""
        return False

    @abstractmethod
    def points(self) -> Any:
        """Return the rows of the observed entities, or a space with their distances."""

    def space(self) -> Space:
        """Return the space of the observed entities."""
        return as_space(self.points())

    @abstractmethod
    def whole_space(self) -> Space:
        """Return the space of all entities. Distances to missing entities are meaningless."""

    def gapped(self) -> Gapped:
        """Return the space of all rows, which may have missing cells."""
        raise TypeError(f"view {self.name!r} has no rows that could have missing cells")

    def square(self, in_parts: InParts = one_part, check: Check = lambda: None) -> Square | None:
        """Return all distances, including those of missing entities. None if some are unknown."""
        return None

    def variance(self) -> float:
        """Return the total variance: half the mean squared distance between two random entities."""
        return float(self.own().mean() / 2)

    def halves(self) -> Halves | None:
        """Return the columns in halves, for a sample of the rows. None without columns."""
        return None

    def reliability(self) -> float | None:
        """Return the agreement between halves of the columns. None without columns."""
        halves = self.halves()
        return None if halves is None else halves.reliability()

    def wanted(self, alpha: float, asked: Any) -> Any:
        """Return the pairs that may become edges for a given alpha. None if the pairs are fixed.

        The result has one of the forms that `rmgl.edges.resolve` returns.
        """
        return "all" if self.comparable else None

    def without_clusters(
        self, normal: NDArray[np.float64], random_state: np.random.RandomState
    ) -> View | None:
        """Return a view of the same kind without clusters. None if there is no such view.

        `normal` has one row and one column of standard normal values per entity. It is the same for
        all views, which preserves the relations between them.
        """
        return None

    # Scaling and metric

    @property
    @abstractmethod
    def words(self) -> str:
        """Kind of the view, for reports."""

    @property
    @abstractmethod
    def described(self) -> str:
        """Content of the view, for reports."""

    def check_scale(self, how: str) -> None:
        """Raise a ValueError if a scale specified for this view alone does not apply to it."""
        if how not in ("auto", "none"):
            raise ValueError(
                f"scale={how!r} does not apply to view {self.name!r}: networks and distances "
                "are not scaled; leave out scale= for this view"
            )

    def choose_scale(self, how: str) -> tuple[str, str]:
        """Return the name of the scale and the reason for it."""
        return self.words, f"user-supplied, not scaled: {self.described}"

    def scaled(self, how: str) -> Self:
        """Return the view on the named scale, with the scaler for new rows."""
        return self

    def scaled_by(self, scaler: Scaler, check: bool = True) -> Self:
        """Return the view scaled by a fitted scaler.

        With `check`, rows that are constant, or too large or small to square, raise an error.
        """
        return self

    def check_metric(self, how: str, by_name: bool) -> None:
        """Raise a ValueError if a metric does not apply to this view.

        `by_name` indicates whether the metric was specified for this view alone.
        """
        if by_name and how not in ("euclidean", self.words):
            raise ValueError(
                f"metric={how!r} does not apply to view {self.name!r}, which is not a table of "
                "features: leave it at 'euclidean'"
            )

    # New entities

    def against(self, given: Any) -> Any:
        """Return the rows of new entities, as an array or table, from a user's object."""
        raise ValueError(
            f"view {self.name!r} was fitted on {self.made_from}, but the new rows are of type "
            f"{type(given).__name__}: pass rows of the same kind"
        )

    @property
    def made_from(self) -> str:
        """Kind of data from which the view was created, for errors."""
        return "rows of features"

    @abstractmethod
    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        """Return new entities, one row each, in the form needed by `comparing` and `rmgl.placing`.

        `rows` contains validated numbers (None if no new entity is in the view), and `given` is the
        user's input.
        """

    def scaled_new(self, new: View) -> View:
        """Return new rows scaled like those of this view."""
        return new

    @abstractmethod
    def comparing(self) -> Comparing:
        """Return the function that computes squared distances from new entities to this view's.

        Distances of pairs that are not stored are infinite.
        """

    # Descriptions

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns. None if they have no names."""
        return None

    @property
    def given_columns(self) -> tuple[str, ...] | None:
        """Names of the columns that new rows need, before encoding. None without names."""
        return self.columns

    @property
    def unused_columns(self) -> tuple[str, ...]:
        """Names of the columns that were left out of the fit, which new rows may have."""
        return ()

    def with_columns(self, names: tuple[str, ...] | None) -> Self:
        """Return the view with these column names, unless its columns already have names."""
        return self

    @property
    def gaps(self) -> Mask | None:
        """Mask of the missing cells, which are zero in the matrix. None if no cells are missing."""
        return None

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of a table became numbers, or None if they were numbers already."""
        return None

    def own_gaps(self) -> Mask | None:
        """Return the missing cells of the observed rows. None if no cells are missing."""
        return self.gaps if self.gaps is None or self.entities is None else self.gaps[self.entities]

    def measured(self) -> Matrix:
        """Return the matrix of the observed entities, with NaN for missing cells."""
        gaps = self.own_gaps()
        return self.own() if gaps is None else np.where(gaps, np.nan, self.own())

    def table_gaps(self) -> Mask:
        """Return the missing cells of the observed rows, by column of the table before encoding."""
        return np.zeros(self.own().shape, dtype=bool)

    @property
    def n_gaps(self) -> int:
        """Number of missing cells in observed rows."""
        return 0 if self.gaps is None else int(self.table_gaps().sum())

    def describe_columns(self) -> list[str]:
        """Describe the kinds of columns if not all are numeric, and the columns left out."""
        return []

    @property
    def features(self) -> FeatureView | None:
        """Features of the view, or those behind its distances. None without features."""
        return None

    def features_of(self, given: Any) -> Any:
        """Return features that explain clusters from a user's object. None without features."""
        return None

    @abstractmethod
    def again(self, rows: View | None, n_new: int) -> FeatureView:
        """Return the features of the entities in the fit, passed again to explain clusters.

        A kind of view without features returns rows without columns.
        """

    # Checks of outside data

    def check(self, n_rows: int, most: float = np.inf) -> None:
        """Raise `Unsound` unless the view is valid and no number is above `most`.

        Its arrays may have changed since it was created.
        """
        what = f"view {self.name!r}"
        if sparse.issparse(self.matrix):
            entries = sound_sparse(what, self.matrix).data
            sound_numbers(what, entries, (None,))
        else:
            entries = sound_numbers(what, self.matrix, (None, None))
        if entries.size and np.abs(entries).max() > most:
            raise Unsound(f"{what} has numbers above {most:.0e}")
        if self.n_rows != n_rows:
            raise Unsound(
                f"{what} has {self.n_rows} rows, but {n_rows} were expected: create the views "
                "again from your data"
            )
        if self.entities is not None:
            sound_indices(f"the observed rows of {what}", self.entities, n_rows)
