"""`View`: what every kind of view answers. Nobody outside of a kind asks what kind it is.

A view holds one matrix with a row for every entity: its features (`rmgl.views.features`), the weights of its edges
(`rmgl.views.network`), or its squared distances to all entities (`rmgl.views.distances`). An entity may be missing from it: then its
row is zero, and it is not among the `entities`. A new kind is a dataclass that derives from one of these, or from `View`, is registered
as a record so that models with it can be stored, and is made by `to_view` of what users pass (`rmgl.views.check_view.GivenView`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.edges.space import Gapped, Space, Square, as_space
from rmgl.matrix import Matrix
from rmgl.running.threads import Check, InParts, one_part
from rmgl.views.columns import Encoding
from rmgl.views.hashing import Keys, Vector
from rmgl.views.scaling import Scaler

if TYPE_CHECKING:
    from rmgl.views.features import FeatureView

Indices = NDArray[np.intp]
Comparing: TypeAlias = Callable[["FeatureView"], NDArray[np.float64]]
"""compare(new): the squared distances of new entities to the fitted ones, (n, N)."""


@dataclass(frozen=True)
class GivenGraph:
    """A graph on all entities that is the layer of a view, or that its layer is learned from."""

    weights: sparse.csr_array
    learn: bool = False
    """Whether the layer is learned again on its edges."""
    two_steps: bool = False
    """Whether the neighbors of neighbors may get edges, too, if it is learned again."""


@dataclass(frozen=True)
class View(ABC):
    """One view of the entities."""

    name: str
    matrix: Matrix
    """One row for each entity, dense float64 or CSR; zeros where the entity is missing."""
    entities: Indices | None = None
    """Indices of the entities that are observed in the view (None: all)."""

    # Who is in it

    @property
    def n_rows(self) -> int:
        """Number of all entities."""
        return int(self.matrix.shape[0])

    @property
    def n_own(self) -> int:
        """Number of the entities that are observed in the view."""
        return self.n_rows if self.entities is None else int(self.entities.size)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether each entity is observed in the view."""
        present = np.full(self.n_rows, self.entities is None)
        present[slice(0) if self.entities is None else self.entities] = True
        return present

    @property
    def n_empty(self) -> int:
        """Number of the entities that are taken as missing because their rows hold only zeros."""
        return 0

    @property
    def n_missing(self) -> int:
        """Number of the entities that are missing from the view, not counting rows of zeros."""
        return self.n_rows - self.n_own - self.n_empty

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Whether the row of each entity holds anything but zeros."""
        return np.asarray(np.asarray((self.matrix != 0).sum(axis=1)).ravel() > 0)

    def without_empty(self, filled: NDArray[np.bool_], anywhere: NDArray[np.bool_]) -> Self:
        """The view with rows of zeros taken as missing, if that is what they mean, from what is `filled` here and in any view."""
        return self

    # Some of the entities, or in another order

    @abstractmethod
    def own(self) -> Matrix:
        """The matrix without what is missing."""

    @abstractmethod
    def of(self, entities: Indices) -> Self:
        """The view of some of the entities."""

    @abstractmethod
    def in_order(self, order: Indices) -> Self:
        """The view with its entities in another order: the first is the one that is number order[0] now."""

    def without(self, columns: Sequence[int]) -> View:
        """The view without some of the columns of its `features`; the others have no names and no scaler then."""
        raise TypeError(f"view {self.name!r} has no columns of features")

    def _entities_of(self, entities: Indices) -> Indices | None:
        """Who of some entities is in the view (None: all of them)."""
        present = self.mask[entities]
        return None if present.all() else np.flatnonzero(present)

    def _entities_in(self, order: Indices) -> Indices | None:
        return None if self.entities is None else np.sort(np.argsort(order)[self.entities])

    # What canonical order is made from (`rmgl.views.canonical`)

    def projected(self, salt: int) -> Vector:
        """The projection of the row of each entity on a random direction; zero where a row is about other entities."""
        return np.zeros(self.n_rows)

    def keys(self, some: Indices, salt: int) -> Keys:
        """A hash of the rows of some entities; zero where a row is about other entities."""
        return np.zeros(some.size, dtype=np.uint64)

    @property
    def relating(self) -> Matrix | None:
        """The square matrix of what is known about pairs of entities (None: every row is about its own entity)."""
        return self.matrix

    # What its layer is learned from

    @property
    def rows(self) -> Matrix | None:
        """Rows of features with Euclidean distances, zeros for what is missing (None: it has no such rows)."""
        return None

    @property
    def graph(self) -> GivenGraph | None:
        """The graph that the layer is, or is learned from (None: it is learned from distances)."""
        return None

    @property
    def comparable(self) -> bool:
        """Whether there is a distance between any two entities, so that the view can be put beside others."""
        return False

    @abstractmethod
    def points(self) -> Any:
        """What has distances between the observed entities: rows, or a space."""

    def space(self) -> Space:
        """The space of the observed entities."""
        return as_space(self.points())

    @abstractmethod
    def whole_space(self) -> Space:
        """The space of all entities; distances to those that are missing mean nothing."""

    def gapped(self) -> Gapped:
        """The space of all rows, in which cells may be missing."""
        raise TypeError(f"view {self.name!r} has no rows in which cells could be missing")

    def square(self, in_parts: InParts = one_part, check: Check = lambda: None) -> Square | None:
        """All distances between all entities, missing ones included (None: some have no distance)."""
        return None

    def variance(self) -> float:
        """The total variance: half the mean squared distance between two random entities."""
        return float(self.own().mean() / 2)

    def wanted(self, alpha: float, asked: Any) -> Any:
        """Which pairs may carry an edge where alpha is given, as `rmgl.edges.resolve` says it (None: those that are given)."""
        return "all" if self.comparable else None

    # Scaling and metric

    @property
    @abstractmethod
    def words(self) -> str:
        """What the view is, in reports."""

    @property
    @abstractmethod
    def described(self) -> str:
        """What the view holds, in reports."""

    def check_scale(self, how: str) -> None:
        """Raise a ValueError if a scale that is given for this view alone means nothing here."""
        if how not in ("auto", "none"):
            raise ValueError(f"scale={how!r} for view {self.name!r}, which is no table of features: networks and distances are not scaled")

    def choose_scale(self, how: str) -> tuple[str, str]:
        """The name of the scale, and why it was chosen."""
        return self.words, f"given, not scaled: {self.described}"

    def scaled(self, how: str) -> Self:
        """The view, scaled as the name says; it keeps what new rows need to be scaled like it."""
        return self

    def scaled_by(self, scaler: Scaler, check: bool = True) -> Self:
        """The view scaled by a fitted scaler. `check` refuses rows that are constant, or too large or small to square."""
        return self

    def check_metric(self, how: str, by_name: bool) -> None:
        """Raise a ValueError if the metric, which is given for this view alone if `by_name`, means nothing here."""
        if by_name and how not in ("euclidean", self.words):
            raise ValueError(f"metric={how!r} for view {self.name!r}, which is no table of features: leave it at 'euclidean'")

    # New entities

    def against(self, given: Any) -> Any:
        """The rows of new entities, as an array or a table, in something that users pass and that is neither."""
        raise ValueError(
            f"view {self.name!r} was fitted on {self.made_from}, but a {type(given).__name__} is given: give rows of the same kind"
        )

    @property
    def made_from(self) -> str:
        """What the view was made from, in errors."""
        return "rows of features"

    @abstractmethod
    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        """New entities, one row each, as `comparing` and `rmgl.placing` take them (None: none of them is in the view).

        `rows` are checked numbers; `given` is what the user passed.
        """

    def scaled_new(self, new: View) -> View:
        """New rows scaled like those of this view."""
        return new

    @abstractmethod
    def comparing(self) -> Comparing:
        """What takes the squared distances of new entities to all of this view; infinite where a pair is not given."""

    # What is said about it

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns, if they have any."""
        return None

    def with_columns(self, names: tuple[str, ...] | None) -> Self:
        """The view with these names of its columns, unless it has some already."""
        return self

    @property
    def gaps(self) -> NDArray[np.bool_] | None:
        """Which cells are missing from observed rows (None: none). They are zero."""
        return None

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of a table became numbers (None: they were numbers)."""
        return None

    def own_gaps(self) -> NDArray[np.bool_] | None:
        """The missing cells of the observed rows (None: none)."""
        return self.gaps if self.gaps is None or self.entities is None else self.gaps[self.entities]

    def measured(self) -> Matrix:
        """The matrix without what is missing, with NaN for missing cells."""
        gaps = self.own_gaps()
        return self.own() if gaps is None else np.where(gaps, np.nan, self.own())

    def table_gaps(self) -> NDArray[np.bool_]:
        """Which cells of the observed rows are missing, with one column for each column of a table that was encoded."""
        return np.zeros(self.own().shape, dtype=bool)

    @property
    def n_gaps(self) -> int:
        """Number of cells that are missing from observed rows."""
        return 0 if self.gaps is None else int(self.table_gaps().sum())

    def describe_columns(self) -> list[str]:
        """What the columns were taken for, where they are not all numbers, and which are left out."""
        return []

    @property
    def features(self) -> FeatureView | None:
        """The features that it holds, or that its distances were taken between (None: there are none)."""
        return None

    def features_of(self, given: Any) -> Any:
        """Features to explain clusters by, in something that users pass and that is no array or table (None: it has none)."""
        return None

    @abstractmethod
    def again(self, rows: View | None, n_new: int) -> FeatureView:
        """The features of the entities of the fit, given again to explain clusters by; without a column if the kind has no features."""

    # From outside

    def check(self, n_rows: int, most: float = np.inf) -> None:
        """Raise `Unsound` unless the view is sound, whatever happened to it since it was made, and no number is above `most`."""
        what = f"view {self.name!r}"
        if sparse.issparse(self.matrix):
            entries = sound_sparse(what, self.matrix).data
            sound_numbers(what, entries, (None,))
        else:
            entries = sound_numbers(what, self.matrix, (None, None))
        if entries.size and np.abs(entries).max() > most:
            raise Unsound(f"{what} has numbers above {most:.0e}")
        if self.n_rows != n_rows:
            raise Unsound(f"{what} has {self.n_rows} rows, but {n_rows} were expected: make the views again from your data")
        if self.entities is not None:
            sound_indices(f"the observed rows of {what}", self.entities, n_rows)
