"""Estimators that explain and show their fitted model: tables, pages, summaries, and graphs for
other libraries.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from rmgl.estimators.holding import FittedClusterer
from rmgl.placing.new_views import new_views
from rmgl.results.explain import (
    Explanation,
    check_same_entities,
    explain_clusters,
    features_again,
    with_all_entities,
)
from rmgl.results.feature_names import check_feature_names
from rmgl.running.progress import stages
from rmgl.storage.multigraph import layers_to_igraph, layers_to_networkx, node_attributes
from rmgl.views.views import Views


class Presenter(FittedClusterer):
    """A fitted clusterer that explains its clusters, and shows them."""

    align: str | None

    def explain(self, X: Any, feature_names: Any = None, *, observed: Any = None) -> Explanation:
        """Compare every cluster with all other entities in every feature of the views; nothing is
        fitted again.

        The effect size is (mean inside - mean outside) / s, with s the standard deviation pooled
        over the members of the cluster and all other entities; the AUC is the probability that a
        member has a larger value than another entity. Entities that are missing from a view do not
        count there. The clusters were found in the same data, so there are no p-values.

        Parameters
        ----------
        X : as for `fit`
            The views of the fit, with the same rows in the same order and their values in the units
            that are to be reported. A view may be left out of a dict, or be None in a list. A model
            that was saved and loaded needs them again as well.
        feature_names : list with one list of names per view, or dict by view name, optional
            By default the names of the columns of tables, or else "column 0", "column 1", ...
        observed : as for `fit`

        Returns
        -------
        Explanation
            A table with the columns cluster, view, feature, effect_size, mean_inside, mean_outside,
            auc, n_inside, n_outside and column; for every cluster the largest effects come first.
            `pandas.DataFrame(table.as_dict())` makes a DataFrame of it.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> table = RMGL(2, random_state=0).fit(views).explain(views)
        >>> table.feature.tolist(), table.auc.tolist() in ([0.0, 1.0], [1.0, 0.0])
        (['column 0', 'column 0'], True)
        """
        check_is_fitted(self)
        views = self._views_again(X, observed)
        return explain_clusters(
            views, self.labels_, self.n_clusters_, check_feature_names(views, feature_names)
        )

    def to_html(
        self,
        path: str | os.PathLike[str],
        ids: Any = None,
        features: Explanation | None = None,
        *,
        views: Any = None,
        feature_names: Any = None,
        columns: Any = None,
        observed: Any = None,
    ) -> None:
        """Write a page that shows the result and lets readers explore it: one HTML file, which
        needs no network (needs bokeh).

        It has the verdict, the common embedding, the neighbors of every entity in every layer, what
        distinguishes the clusters, the views, the choice of the number of clusters, and the
        certificates. Beyond 100 000 entities it shows a density image and a sample.

        Parameters
        ----------
        path : file
            By custom its name ends in .html. A file of that name is replaced.
        ids : list or array of N names, optional
            By default `index_`, or else the numbers of the rows.
        features : Explanation, optional
            What distinguishes the clusters, as returned by `explain`. By default it is computed:
            from `views`, or else from the rows that the model keeps, which are scaled as for the
            fit.
        views : as for `fit`, optional
            The views of the fit again, so that features are shown in their own units and with their
            distributions.
        feature_names : as for `explain`, optional
        columns : dict or table of columns with N values each, optional
            Further columns that points can be colored by, such as known classes: numbers, or texts.
        observed : as for `fit`, optional

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> model.to_html("report.html", ids=list("pqrstu"), views=views)  # doctest: +SKIP
        """
        check_is_fitted(self)
        from rmgl.page.page import Given, write_page

        again = None if views is None else self._views_again(views, observed)
        given = Given(ids, features, again, feature_names, columns)
        with stages(False) as stage:  # the bar of a command, if there is one
            write_page(path, self.fitted_, self.report_, given, partial(stage, "page"))

    def _repr_html_(self) -> str:
        """What notebooks show: the summary of a fitted model, scikit-learn's diagram before. It
        does not make the report.
        """
        if not self.__sklearn_is_fitted__():
            return str(estimator_html_repr(self))
        from rmgl.page.page import summary_of

        return summary_of(self.fitted_, vars(self).get("report_"))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What notebooks ask for first: text, and HTML unless scikit-learn's option display="text"
        is set.
        """
        text = {"text/plain": repr(self)}
        return (
            text if get_config()["display"] == "text" else {**text, "text/html": self._repr_html_()}
        )

    def _views_again(self, X: Any, observed: Any) -> Views:
        """The views of the fit, or some of them, given again; an entity may be in none of these."""
        fitted = self.fitted_.views
        rows = features_again(fitted, X)
        if rows is None:
            return fitted
        rows = with_all_entities(fitted, rows, self.align)
        again = new_views(
            fitted,
            rows,
            self.views,
            align=self.align,
            observed=observed,
            everyone=False,
            again=True,
        )
        return check_same_entities(fitted, again)

    def to_networkx(self) -> Any:
        """All layers as one `networkx.MultiGraph` whose nodes are the rows 0 to N-1 (needs
        networkx).

        Edges have the attributes `layer` and `weight`, and the name of the layer as key. Nodes have
        `label`, `outlier_score` and, where rows have labels, `name`.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_networkx()[0][1]["a"]["layer"]
        'a'
        """
        check_is_fitted(self)
        return layers_to_networkx(
            self.layers_, node_attributes(self.labels_, self.outlier_score_, self.index_)
        )

    def to_igraph(self) -> Any:
        """All layers as one `igraph.Graph` with parallel edges, attributes as in `to_networkx`
        (needs igraph).

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_igraph().vs["label"] == model.labels_.tolist()
        True
        """
        check_is_fitted(self)
        return layers_to_igraph(
            self.layers_, node_attributes(self.labels_, self.outlier_score_, self.index_)
        )
