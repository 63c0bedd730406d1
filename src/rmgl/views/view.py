"""`View`: the questions that every kind of view answers. Nobody outside of a kind asks its kind.

A view holds one matrix with a row for every entity: its features (`rmgl.views.features`), the
weights of its edges (`rmgl.views.network`), or its squared distances to all entities
(`rmgl.views.precomputed`). An entity may be missing from the view: then its row is zero, and it is
not among the `entities`. A new kind is a dataclass that derives from one of these, or from `View`,
is registered as a record so that models with it can be stored, and is made by `to_view` of the
object that users pass (`GivenView`).
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
"""compare(new) returns the squared distances of new entities to the fitted ones, (n, N)."""


@runtime_checkable
class GivenView(Protocol):
    """An object that users pass for a view in place of an array or table, such as `rmgl.Network`.

    It may also have methods that match its entities with the row labels of tables: `labels()` and
    `placed(name, index)`, or `in_order(name, index)`.
    """

    def to_view(self, name: str, observed: Mask | None) -> View:
        """Return the checked view of that name; entities not `observed` (None: all) are missing."""


@dataclass(frozen=True)
class GivenGraph:
    """A graph on all entities that is the layer of a view, or that its layer is learned from."""

    weights: sparse.csr_array
    learn: bool = False
    """Whether the layer is learned again on the edges of the graph."""
    two_steps: bool = False
    """Whether neighbors of neighbors may get edges, too, if the layer is learned again."""


@dataclass(frozen=True)
class View(ABC):
    """One view of the entities."""

    name: str
    matrix: Matrix
    """One row for each entity, dense float64 or CSR; zeros where the entity is missing."""
    entities: Indices | None = None
    """Indices of the entities that are observed in the view (None: all)."""

    # Which entities are observed

    @property
    def n_rows(self) -> int:
        """Number of all entities."""
        return int(self.matrix.shape[0])

    @property
    def n_own(self) -> int:
        """Number of the entities that are observed in the view."""
        return self.n_rows if self.entities is None else int(self.entities.size)

    @property
    def mask(self) -> Mask:
        """Whether each entity is observed in the view."""
        present = np.full(self.n_rows, self.entities is None)
        present[slice(0) if self.entities is None else self.entities] = True
        return present

    @property
    def n_empty(self) -> int:
        """Number of the entities that count as missing because their rows hold only zeros."""
        return 0

    @property
    def n_missing(self) -> int:
        """Number of the entities that are missing from the view, not counting rows of zeros."""
        return self.n_rows - self.n_own - self.n_empty

    @property
    def filled(self) -> Mask:
        """Whether the row of each entity holds anything but zeros."""
        return np.asarray(np.asarray((self.matrix != 0).sum(axis=1)).ravel() > 0)

    def without_empty(self, filled: Mask, anywhere: Mask) -> Self:
        """Return the view with rows of zeros as missing ones, if that is what they mean.

        `filled` and `anywhere` say whose row holds anything but zeros here, and in any view.
        """
        return self

    # Some of the entities, or another order

    @abstractmethod
    def own(self) -> Matrix:
        """Return the matrix of the observed entities."""

    @abstractmethod
    def of(self, entities: Indices) -> Self:
        """Return the view of some of the entities."""

    @abstractmethod
    def in_order(self, order: Indices) -> Self:
        """Return the view in another order of the entities: number order[0] comes first."""

    def without(self, columns: Sequence[int]) -> View:
        """Return the view without some columns of its `features`, without names or a scaler."""
        raise TypeError(f"view {self.name!r} has no columns of features")

    def _entities_of(self, entities: Indices) -> Indices | None:
        """Return the places of the observed entities among some entities (None: all)."""
        present = self.mask[entities]
        return None if present.all() else np.flatnonzero(present)

    def _entities_in(self, order: Indices) -> Indices | None:
        """Return the places of the observed entities in another order (None: all)."""
        return None if self.entities is None else np.sort(np.argsort(order)[self.entities])

    # The data of canonical order (`rmgl.views.canonical`)

    def projected(self, salt: int) -> Vector:
        """Project each row on a random direction; zero where a row is about other entities."""
        return np.zeros(self.n_rows)

    def keys(self, some: Indices, salt: int) -> Keys:
        """Hash the rows of some entities; zero where a row is about other entities."""
        return np.zeros(some.size, dtype=np.uint64)

    @property
    def relating(self) -> Matrix | None:
        """The square matrix of data about pairs (None: every row is about its own entity)."""
        return self.matrix

    # The data that its layer is learned from

    @property
    def rows(self) -> Matrix | None:
        """Rows of features with Euclidean distances, zeros where missing (None: no such rows)."""
        return None

    @property
    def graph(self) -> GivenGraph | None:
        """The graph that the layer is, or is learned from (None: it is learned from distances)."""
        return None

    @property
    def comparable(self) -> bool:
        """Whether any two entities have a distance, so that the view can be put beside others."""
        return False

    @abstractmethod
    def points(self) -> Any:
        """Return the rows of the observed entities, or a space with their distances."""

    def space(self) -> Space:
        """Return the space of the observed entities."""
        return as_space(self.points())

    @abstractmethod
    def whole_space(self) -> Space:
        """Return the space of all entities; distances to missing ones have no meaning."""

    def gapped(self) -> Gapped:
        """Return the space of all rows, in which cells may be missing."""
        raise TypeError(f"view {self.name!r} has no rows in which cells could be missing")

    def square(self, in_parts: InParts = one_part, check: Check = lambda: None) -> Square | None:
        """Return all distances, also those of missing entities (None: some have no distance)."""
        return None

    def variance(self) -> float:
        """Return the total variance: half the mean squared distance of two random entities."""
        return float(self.own().mean() / 2)

    def halves(self) -> Halves | None:
        """Return the columns in halves, of a sample of the rows (None: it has no columns)."""
        return None

    def reliability(self) -> float | None:
        """Return how far halves of its columns confirm each other (None: it has no columns)."""
        halves = self.halves()
        return None if halves is None else halves.reliability()

    def wanted(self, alpha: float, asked: Any) -> Any:
        """Return which pairs may carry an edge for a given alpha (None: those that are given).

        The answer is one of those of `rmgl.edges.resolve`.
        """
        return "all" if self.comparable else None

    def without_clusters(
        self, normal: NDArray[np.float64], random_state: np.random.RandomState
    ) -> View | None:
        """Return a view of the same kind in which nothing forms clusters (None: there is none).

        `normal` has one row and one column of standard normal numbers for each entity, the same
        for all views, so that what they have in common stays.
        """
        return None

    # Scaling and metric

    @property
    @abstractmethod
    def words(self) -> str:
        """The kind of the view, for reports."""

    @property
    @abstractmethod
    def described(self) -> str:
        """The content of the view, for reports."""

    def check_scale(self, how: str) -> None:
        """Raise a ValueError if a scale that is given for this view alone does not apply to it."""
        if how not in ("auto", "none"):
            raise ValueError(
                f"scale={how!r} does not apply to view {self.name!r}: networks and distances "
                "are not scaled; leave it out"
            )

    def choose_scale(self, how: str) -> tuple[str, str]:
        """Return the name of the scale, and the reason for it."""
        return self.words, f"given, not scaled: {self.described}"

    def scaled(self, how: str) -> Self:
        """Return the view scaled by the scale of that name, with the scaler for new rows."""
        return self

    def scaled_by(self, scaler: Scaler, check: bool = True) -> Self:
        """Return the view scaled by a fitted scaler.

        With `check`, rows that are constant, or too large or small to square, are refused.
        """
        return self

    def check_metric(self, how: str, by_name: bool) -> None:
        """Raise a ValueError if a metric does not apply to this view.

        `by_name` says that it was given for this view alone.
        """
        if by_name and how not in ("euclidean", self.words):
            raise ValueError(
                f"metric={how!r} does not apply to view {self.name!r}, which is not a table of "
                "features: leave it at 'euclidean'"
            )

    # New entities

    def against(self, given: Any) -> Any:
        """Return the rows of new entities, as an array or table, of another object users pass."""
        raise ValueError(
            f"view {self.name!r} was fitted on {self.made_from}, but the new rows are of type "
            f"{type(given).__name__}: pass rows of the same kind"
        )

    @property
    def made_from(self) -> str:
        """The kind of data that the view was made from, for errors."""
        return "rows of features"

    @abstractmethod
    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        """Return new entities, one row each, as `comparing` and `rmgl.placing` need them.

        `rows` are checked numbers (None: no new entity is in the view); `given` is what the user
        passed.
        """

    def scaled_new(self, new: View) -> View:
        """Return new rows scaled like those of this view."""
        return new

    @abstractmethod
    def comparing(self) -> Comparing:
        """Return the function that measures squared distances of new entities to this view.

        A distance is infinite where a pair is not given.
        """

    # Descriptions

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns (None: they have no names)."""
        return None

    @property
    def given_columns(self) -> tuple[str, ...] | None:
        """The names of the columns that new rows need, before encoding (None: no names)."""
        return self.columns

    @property
    def unused_columns(self) -> tuple[str, ...]:
        """The names of the columns that were left out of the fit, which new rows may have."""
        return ()

    def with_columns(self, names: tuple[str, ...] | None) -> Self:
        """Return the view with these column names, unless its columns have names already."""
        return self

    @property
    def gaps(self) -> Mask | None:
        """Which cells of the rows are missing (None: none). They are zero in the matrix."""
        return None

    @property
    def encoding(self) -> Encoding | None:
        """The encoding that made numbers of the columns of a table (None: they were numbers)."""
        return None

    def own_gaps(self) -> Mask | None:
        """Return the missing cells of the observed rows (None: none)."""
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
        """Number of cells that are missing from observed rows."""
        return 0 if self.gaps is None else int(self.table_gaps().sum())

    def describe_columns(self) -> list[str]:
        """Describe the kinds of columns that are not all numbers, and the columns left out."""
        return []

    @property
    def features(self) -> FeatureView | None:
        """The features that it holds, or that its distances were measured between (None: none)."""
        return None

    def features_of(self, given: Any) -> Any:
        """Return features that explain clusters from another object users pass (None: none)."""
        return None

    @abstractmethod
    def again(self, rows: View | None, n_new: int) -> FeatureView:
        """Return the features of the fitted entities, given again to explain clusters.

        A kind of view without features returns rows without columns.
        """

    # Checks of what comes from outside

    def check(self, n_rows: int, most: float = np.inf) -> None:
        """Raise `Unsound` unless the view is valid and no number is above `most`.

        Its arrays may have been changed since it was made.
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
                f"{what} has {self.n_rows} rows, but {n_rows} were expected: make the views "
                "again from your data"
            )
        if self.entities is not None:
            sound_indices(f"the observed rows of {what}", self.entities, n_rows)
