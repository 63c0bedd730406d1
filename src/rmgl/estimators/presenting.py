"""Estimators that explain and show their fitted model: tables, pages, summaries, and graphs for
other libraries.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from rmgl.estimators.holding import FittedClusterer
from rmgl.placing.new_views import new_views
from rmgl.results.associate import associate_clusters
from rmgl.results.associations import Associations
from rmgl.results.explain import (
    Explanation,
    check_same_entities,
    explain_clusters,
    features_again,
    with_all_entities,
)
from rmgl.results.feature_names import check_feature_names
from rmgl.running.progress import stages
from rmgl.storage.multigraph import (
    layers_to_igraph,
    layers_to_networkx,
    node_attributes,
    write_edge_lists,
    write_graphmls,
)
from rmgl.storage.output import layer_file_names
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
            `to_frame()` makes a DataFrame of it.

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

    def associate(
        self,
        table: Any,
        *,
        time: str | None = None,
        event: str | None = None,
        pairwise: bool = False,
        random_state: int = 0,
    ) -> Associations:
        """Compare columns that had no part in the fit between the clusters: outcome, treatment,
        survival.

        Numbers, dates and ordered categories are compared by the Kruskal-Wallis test (effect size:
        epsilon squared), categories and truth values by the chi-squared test (by random tables
        where expected counts are below 5; effect size: bias-corrected Cramer's V), and survival by
        the log-rank test. Nothing is fitted again.

        Parameters
        ----------
        table : DataFrame (pandas, polars or pyarrow) or dict of columns
            One row for each entity. Rows are matched by id: the row labels of the table with
            `index_`. Rows that are not in the fit are not used, and entities that the table does
            not have count as missing; the result says how many. Only if the fit had no row labels,
            rows are taken in its order. A column that was used in the fit is refused, because its
            p-value would be meaningless: columns are compared with those of the views by name, and
            by the order into which they put the entities.
        time, event : names of two columns, optional
            Survival: until when each entity was observed (a number >= 0, or a duration), and
            whether the event happened then (true or false, or 1 or 0).
        pairwise : bool, default False
            Whether clusters are compared two at a time as well, with the same tests.
        random_state : int, default 0
            The seed of random tables.

        Returns
        -------
        Associations
            A table with a row for each column, the strongest evidence first; `to_frame()` makes a
            DataFrame of it. Its q-values are corrected for the number of columns. `survival` holds
            the curves of the clusters.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> months, died = [3.0, 4.0, 2.0, 9.0, 8.0, 11.0], [1, 1, 1, 1, 0, 0]
        >>> found = model.associate({"months": months, "died": died}, time="months", event="died")
        >>> found.rows[0].test, found.survival.curves[0].median
        ('log-rank', 3.0)
        """
        check_is_fitted(self)
        return associate_clusters(
            self.fitted_,
            table,
            time=time,
            event=event,
            pairwise=pairwise,
            random_state=random_state,
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
        associations: Associations | None = None,
        observed: Any = None,
        name: str | None = None,
    ) -> None:
        """Write a page that shows the result and lets readers explore it: one HTML file, which
        needs no network (needs bokeh).

        It has the verdict, the common embedding, the neighbors of every entity in every layer, what
        distinguishes the clusters, the views, the choice of the number of clusters, and the
        certificates. Beyond 100 000 entities it shows a density image and a sample.

        Parameters
        ----------
        path : file
            Output path, usually ending in .html. An existing file is overwritten.
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
            Further columns that points can be colored by, such as known classes: numbers, dates, or
            texts.
        associations : Associations, optional
            What else differs between the clusters, as returned by `associate`; it becomes a section
            with survival curves.
        observed : as for `fit`, optional
        name : str, optional
            What the data are called. It stands at the top of the page, beside the date.

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
        given = Given(ids, features, again, feature_names, columns, associations, name)
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

    def to_graphml(self, folder: str | os.PathLike[str]) -> None:
        """Write every layer to a GraphML file in a folder, for Gephi, Cytoscape and others (needs
        networkx).

        Nodes have the name of the entity as `label`, or else its row, the `cluster` and the
        `outlier_score`; edges have a `weight`. Files have the names of the layers. The folder is
        created if it does not exist, and files of the same names are replaced.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_graphml("graphs")  # doctest: +SKIP
        """
        write_graphmls(*self._graphs_for(folder))

    def to_edge_lists(self, folder: str | os.PathLike[str]) -> None:
        """Write every layer to a CSV file in a folder, with the columns Source, Target, Type and
        Weight, and the entities to nodes.csv: Id, Label, cluster and outlier_score.

        Gephi opens both (Import spreadsheet): first nodes.csv, then the edges of a layer. Labels
        are the names of the entities, or else their rows.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_edge_lists("graphs")  # doctest: +SKIP
        """
        write_edge_lists(*self._graphs_for(folder))

    def _graphs_for(self, folder: str | os.PathLike[str]) -> tuple[Path, Any, list[str], Any]:
        """The folder, which is created, the layers, the names of their files, and the nodes."""
        check_is_fitted(self)
        Path(folder).mkdir(parents=True, exist_ok=True)
        files = layer_file_names([layer.name for layer in self.layers_])
        nodes = node_attributes(self.labels_, self.outlier_score_, self.index_)
        return Path(folder), self.layers_, [name.removesuffix(".npz") for name in files], nodes
