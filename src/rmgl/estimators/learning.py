"""How a fit begins: views are checked and scaled here, or left with workers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rmgl.estimators.holding import Predictor
from rmgl.fitting.fit import fit_model, found_without
from rmgl.fitting.ready import Ready, in_canonical_order, scaled
from rmgl.model.known import check_known
from rmgl.model.run import Run
from rmgl.results.weak_points import warn_about
from rmgl.running.threads import number_of_workers, team_of
from rmgl.views.check_view import has_stored, is_given_view
from rmgl.views.views import Views

logger = logging.getLogger(__name__)


class Learner(Predictor):
    """A clusterer that learns a model from views in memory, or from rows that workers keep."""

    def _ready(self, X: Any, y: Any, observed: Any) -> Ready:
        """Check the views, and scale them. What is not scaled is not kept beside them."""
        parameters, X = self._parameters, [X] if is_given_view(X) else X
        views = Views.of(X, self.views, align=self.align, observed=observed)
        self._check_cells(views)
        self._note_features(X, views)
        index, recognized = views.index, views.recognized
        known = None if y is None else check_known(y, views.n_rows, parameters.given_number)
        tied = known is not None and not found_without(views, known, parameters)
        views, canonical = in_canonical_order(views, parameters, known)
        return scaled(
            views, canonical, parameters, index=index, recognized=recognized, known=known, tied=tied
        )

    def _learn(self, ready: Ready, run: Run, searching: Callable[[Any], Any] | None = None) -> None:
        """Fit the model, keep it, and warn about its weak points."""
        with team_of(number_of_workers(self.n_jobs), searching) as team:
            self._keep(fit_model(ready, self._parameters, run, team))
        warn_about(self.fitted_)

    def _learn_on_workers(self, X: Any, y: Any, observed: Any, run: Run, client: Any) -> None:
        """Leave stored rows with the workers, if they can prepare them; let them search others."""
        from rmgl.distributed import prepare
        from rmgl.distributed.searched_rows import SearchedRows
        from rmgl.distributed.sources import NeedsRows

        client = prepare.default_client() if client is None else client
        parameters = self._parameters
        shown = parameters.verbose > 0
        unknown = y is None or not np.any(np.asarray(y) == -1)
        if has_stored(X) and observed is None and unknown and parameters.of_plain_tables:
            try:
                with prepare.prepared(
                    X,
                    client,
                    parameters.scale,
                    n_neighbors=parameters.n_neighbors,
                    candidates=parameters.candidates,
                    progress=shown,
                    checkpoint=run.checkpoint,
                ) as found:
                    self._note_features(found.views, found.views)
                    self._learn(Ready.on_workers(found), run)
                    return
            except NeedsRows as reason:
                logger.warning("this process reads and prepares the views, because %s", reason)
        with prepare.searching_on(client, shown) as workers:
            ready = self._ready(prepare.loaded(X, workers, self.align is not None), y, observed)
            self._learn(ready, run, partial(SearchedRows.of_rows, workers))
