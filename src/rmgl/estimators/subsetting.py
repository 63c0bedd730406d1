"""Estimators that can refit selected clusters and adopt the finer labels."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rmgl.estimators.holding import FittedClusterer
from rmgl.fitting.again import rows_again, rows_named, rows_of, with_labels
from rmgl.results.evidence import report_after
from rmgl.views.views import Views


class Subsetter(FittedClusterer):
    """A fitted clusterer whose clusters can be split further."""

    def subset(self, clusters: Any, views: Sequence[str] | None = None) -> Views:
        """Return the rows of selected clusters as views for another `fit`.

        The rows are scaled and encoded as in this fit. A second fit therefore compares them as the
        first fit did and does not scale them again. The resulting model still accepts new rows in
        the original units.
        To rescale the rows of a cluster, fit a model on those rows of your own tables instead
        (`X[model.labels_ == 2]`).

        Parameters
        ----------
        clusters : int or list of int
            Clusters to select.
        views : list of str, optional
            Names of the views to keep. By default, all views are kept. Leave out a view in which
            the rows of the clusters do not differ.

        Returns
        -------
        Views
            The selected rows, labeled by `index_` or, without row labels, by their row numbers in
            this model.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [9.0], [9.1], [9.3], [9.4]]
        >>> model = RMGL(2, random_state=0).fit({"a": X})
        >>> model.labels_.tolist()
        [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
        >>> finer = RMGL(2, random_state=0).fit(model.subset(clusters=[0]))
        >>> model.relabeled(finer).labels_.tolist()
        [0, 0, 0, 2, 2, 2, 1, 1, 1, 1]
        """
        check_is_fitted(self)
        return rows_again(self.fitted_, rows_of(self.fitted_, clusters), views)

    def relabeled(self, finer: Any, clusters: Any = None) -> Self:
        """Return a copy of this model with a finer model's labels for the rows in both models.

        All other rows keep their labels. The first new clusters reuse the numbers of the clusters
        that they replace, and the others get the next free numbers. Layers and embedding do not
        change. `predict` returns the finer labels. `number_` and `hierarchy_` are empty. The report
        is from the first fit, without a verdict. Saved models keep the labels.

        Parameters
        ----------
        finer : RMGL
            A model fitted on `subset`, or on rows with the same row labels.
        clusters : int or list of int, optional
            The clusters on which `finer` was fitted, with all their rows in the same order. By
            default, rows are matched by name (`index_`).

        Returns
        -------
        RMGL
            The relabeled copy. This model does not change.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [9.0], [9.1], [9.3], [9.4]]
        >>> model = RMGL(2, random_state=0).fit({"a": X})
        >>> finer = RMGL(2, random_state=0).fit({"a": X[:6]})
        >>> model.relabeled(finer, clusters=[0]).labels_.tolist()
        [0, 0, 0, 2, 2, 2, 1, 1, 1, 1]
        """
        check_is_fitted(self)
        check_is_fitted(finer)
        labels = np.asarray(finer.labels_)
        if clusters is None:
            rows = rows_named(self.fitted_, finer.index_)
        else:
            rows = rows_of(self.fitted_, clusters)
        if rows.size != labels.size:
            raise ValueError(
                f"clusters={clusters!r} have {rows.size} rows, but the second model was "
                f"fitted on {labels.size}; pass the clusters on which it was fitted"
            )
        again = copy(self)
        again._keep(with_labels(self.fitted_, rows, labels))
        again.__dict__["report_"] = report_after(self.report_, again.fitted_, rows.size)
        return again
