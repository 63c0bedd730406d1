"""Estimators that let some of their clusters be fitted again, and take the finer labels back."""

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
    """A fitted clusterer whose clusters can be divided further."""

    def subset(self, clusters: Any, views: Sequence[str] | None = None) -> Views:
        """Return the rows of some clusters, so that they can be fitted again: `fit` takes them.

        A model keeps its rows as they were scaled and encoded for the fit, and so are these: a
        second fit compares them as the first one did, does not scale them again, and labels new
        rows in the units of the data. To scale the rows of a cluster anew, fit these rows of your
        own tables (`X[model.labels_ == 2]`) instead.

        Parameters
        ----------
        clusters : int or list of int
            The clusters whose rows are returned.
        views : list of str, optional
            The names of the views to keep, by default all of them. A view in which the rows of the
            clusters do not differ has to be left out.

        Returns
        -------
        Views
            Rows named by `index_` or, without labels, by their numbers in this model.

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
        """Return this model with the labels of another one for the rows that both have.

        All other rows keep their labels. The first new clusters get the numbers of those that they
        replace, the others the next ones. Layers and embedding stay as they are, and `predict`
        gives the finer labels. `number_` and `hierarchy_` are empty, and the report is that of the
        first fit, without a verdict. Saved models keep the labels.

        Parameters
        ----------
        finer : RMGL
            A model that was fitted on `subset`, or on rows with the same labels.
        clusters : int or list of int, optional
            The clusters that it was fitted on, all rows in the same order. By default its rows are
            found by their names (`index_`).

        Returns
        -------
        RMGL
            Another model; this one does not change.

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
                f"clusters={clusters!r} have {rows.size} rows, but the second model was fitted on "
                f"{labels.size}: name the clusters that it was fitted on"
            )
        again = copy(self)
        again._keep(with_labels(self.fitted_, rows, labels))
        again.__dict__["report_"] = report_after(self.report_, again.fitted_, rows.size)
        return again
