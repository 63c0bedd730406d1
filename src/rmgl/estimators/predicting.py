"""Estimators that place new rows in the layers and the embedding of their fitted model."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from rmgl.distributed.predicting import by_chunk, is_lazy
from rmgl.estimators.holding import FittedClusterer
from rmgl.placing.new_views import check_placeable, new_views, scaled_like
from rmgl.placing.placement import Placed
from rmgl.running.threads import number_of_workers, team_of
from rmgl.views.check_view import is_collection_of_views, is_given_view
from rmgl.views.views import Views


class Predictor(FittedClusterer):
    """A fitted clusterer that labels and embeds new rows."""

    align: str | None
    missing: str
    n_jobs: int | None

    def predict(self, X: Any, *, observed: Any = None) -> Any:
        """Assign new rows to the clusters to which they have the most edge weight in the fitted layers (see `predict_proba`).

        Parameters
        ----------
        X : as for `fit`
            New entities, each observed in any of the views: a missing row is NaN, and a view in which none of them is observed may be
            left out of a dict, or be None in a list. For Dask arrays, the result is a Dask array with chunks of the same rows.
        observed : as for `fit`
        """
        if is_lazy(X) and observed is None:
            return self._by_chunk(Predictor.predict, X, (), np.intp)
        return self.predict_proba(X, observed=observed).argmax(axis=1)

    def predict_proba(self, X: Any, *, observed: Any = None, by_view: bool = False) -> Any:
        """Compute the share of the edge weight of new rows that goes to each cluster, (n, K).

        Every new row becomes a node of the layer of each view in which it is observed, and of the consensus. All other nodes stay fixed,
        so its weights follow from the KKT conditions of the layer problem (`rmgl.placing.placement`). Layers count by `beta_`. With
        `by_view` the shares are given by layer, in the order of `layers_`: (n, layers, K), which sum to one for each row.

        A new row is compared with all fitted ones up to 5000, else with the nearest ones.
        """
        if is_lazy(X) and observed is None:
            shape = (len(self.layers_), self.n_clusters_) if by_view else (self.n_clusters_,)
            return self._by_chunk(partial(Predictor.predict_proba, by_view=by_view), X, shape, np.float64)
        votes = self._place(X, observed).votes
        return votes if by_view else votes.sum(axis=1)

    def transform(self, X: Any, *, observed: Any = None) -> Any:
        """Embed new rows, (n, K), by the eigenvector equation with all fitted rows fixed."""
        if is_lazy(X) and observed is None:
            return self._by_chunk(Predictor.transform, X, (self.n_clusters_,), np.float64)
        return self._place(X, observed).embedding

    def _by_chunk(self, method: Callable[[Any, Any], Any], X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """A Dask array of what a method returns for every chunk of rows, each in one thread."""
        check_is_fitted(self)
        alone = copy(self)
        alone._keep(self.fitted_.for_new_rows())
        alone.n_jobs = 1
        return by_chunk(partial(method, alone), X, shape, dtype)

    def _place(self, X: Any, observed: Any) -> Placed:
        check_is_fitted(self)
        views = self.fitted_.views
        numbers = views[0].rows is not None and views[0].encoding is None
        features = numbers and not is_collection_of_views(X) and not is_given_view(X)
        if features and not isinstance(X, Views) and getattr(X, "ndim", 2) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        new = new_views(views, X, self.views, align=self.align, observed=observed)
        self._check_cells(new)
        with team_of(number_of_workers(self.n_jobs)) as team:
            return self.fitted_.placement().place(scaled_like(views, check_placeable(views, new)), team)

    def _check_cells(self, views: Views) -> None:
        """Refuse missing cells, if that was asked for."""
        if self.missing == "error":
            views.refuse_gaps("set missing='pairwise'")
