"""The start of a fit: read, check and scale the views, and let workers search."""

from __future__ import annotations

from functools import partial
from typing import Any

from rmgl.estimators.holding import Predictor
from rmgl.fitting.fit import fit_model, found_without
from rmgl.fitting.ready import Ready, in_canonical_order, scaled
from rmgl.model.known import check_known
from rmgl.model.run import Run
from rmgl.results.weak_points import warn_about
from rmgl.running.threads import Searching, number_of_workers, team_of
from rmgl.views.check_view import has_stored, is_given_view
from rmgl.views.stored import read_stored
from rmgl.views.views import Views


class Learner(Predictor):
    """A clusterer that learns a model from views in memory or in files."""

    def _learn_from(self, X: Any, y: Any, observed: Any, run: Run, client: Any) -> None:
        """Fit a model in this process, or let a client's workers do the search."""
        if client is None and has_stored(X):
            from rmgl.distributed.workers import current_client

            client = current_client()
        if client is None:
            X = read_stored(X, self.align is not None)
            self._learn(self._ready(X, y, observed), run)
        else:
            self._learn_on_workers(X, y, observed, run, client)

    def _ready(self, X: Any, y: Any, observed: Any, searching: Searching | None = None) -> Ready:
        """Check and scale the views. The unscaled data are not kept."""
        parameters, X = self._parameters, [X] if is_given_view(X) else X
        views = Views.of(X, self.views, align=self.align, observed=observed)
        self._check_cells(views)
        self._note_features(X, views)
        index, recognized = views.index, views.recognized
        known = None if y is None else check_known(y, views.n_rows, parameters.given_number)
        tied = known is not None and not found_without(views, known, parameters, searching)
        views, canonical = in_canonical_order(views, parameters, known)
        return scaled(
            views, canonical, parameters, index=index, recognized=recognized, known=known, tied=tied
        )

    def _learn(self, ready: Ready, run: Run, searching: Searching | None = None) -> None:
        """Fit the model, keep it, and warn about its weak points."""
        with team_of(number_of_workers(self.n_jobs), searching) as team:
            self._keep(fit_model(ready, self._parameters, run, team))
        warn_about(self.fitted_)

    def _learn_on_workers(self, X: Any, y: Any, observed: Any, run: Run, client: Any) -> None:
        """Read stored views, and fit a model with searches on the client's workers."""
        from rmgl.distributed import prepare
        from rmgl.distributed.searched_rows import SearchedRows

        with prepare.searching_on(client, self._parameters.verbose > 0) as workers:
            X = prepare.loaded(X, workers, self.align is not None)
            searching = partial(SearchedRows.of_rows, workers)
            ready = self._ready(X, y, observed, searching)
            prepare.check_plan(ready.views, workers, self.n_neighbors, self.candidates)
            self._learn(ready, run, searching)
