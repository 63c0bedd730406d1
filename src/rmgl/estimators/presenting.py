"""Estimators that explain and display their fitted model with tables, pages, summaries, and graph
exports.
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
from rmgl.views.stored import read_stored
from rmgl.views.views import Views


class Presenter(FittedClusterer):
    """A fitted clusterer that explains and displays its clusters."""

    align: str | None

    def explain(self, X: Any, feature_names: Any = None, *, observed: Any = None) -> Explanation:
        """Compare each cluster with all other entities in every feature, without refitting.

        The effect size is (mean inside - mean outside) / s, where s is the standard deviation
        pooled over the cluster and all other entities. The AUC is the probability that a member has
        a larger value than a non-member. Entities that are missing from a view are left out of
        its comparisons. There are no p-values, because the clusters were found in the same data.

        Parameters
        ----------
        X : as for `fit`
            The views that the model was fitted on, with the same rows in the same order and with
            values in the units in which you want results reported. A view may be left out of a
            dict, or be None in a list. The views are also required for a loaded model.
        feature_names : list with one list of names per view, or dict by view name, optional
            Feature names. By default, the column names of tables or, without names, "column 0",
            "column 1" and so on.
        observed : as for `fit`

        Returns
        -------
        Explanation
            A table with the columns cluster, view, feature, effect_size, mean_inside, mean_outside,
            auc, n_inside, n_outside and column. Within each cluster, the largest effects come
            first. `to_frame()` converts it to a DataFrame.

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
        """Test whether columns that were not used in the fit, such as outcome, treatment or
        survival, differ between the clusters.

        Numbers, dates and ordered categories use the Kruskal-Wallis test (effect size: epsilon
        squared). Categories and Booleans use the chi-squared test (with random tables if expected
        counts are below 5; effect size: bias-corrected Cramer's V). Survival uses the log-rank
        test. Nothing is refitted.

        Parameters
        ----------
        table : DataFrame (pandas, polars or pyarrow) or dict of columns
            One row per entity. Rows are matched by id: the row labels of the table are compared
            with `index_`. If the fit had no row labels, rows are matched by position. Rows that are
            not in the fit are ignored, and entities that are absent from the table count as
            missing; the result reports both numbers. A column that was used in the fit raises an
            error, because its p-value would be meaningless. Such columns are recognized by their
            names and by the ranks of their values.
        time, event : names of two columns, optional
            Survival data. `time` is how long each entity was observed (a number >= 0, or a
            duration). `event` indicates whether the event occurred at that time (true or false, or
            1 or 0).
        pairwise : bool, default False
            Whether to also compare pairs of clusters, with the same tests.
        random_state : int, default 0
            Seed for the random tables.

        Returns
        -------
        Associations
            A table with one row per column, strongest evidence first. The q-values are p-values
            corrected for the number of columns. `survival` contains the survival curves of the
            clusters. `to_frame()` converts the table to a DataFrame.

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
        """Write an interactive HTML page about the result (requires bokeh).

        The page is one file and works offline. It shows the verdict, the common embedding, the
        neighbors of each entity in each layer, the features that distinguish the clusters, the
        views, the choice of the number of clusters, and the certificates. With more than 100,000
        entities, it shows a density image and a sample.

        Parameters
        ----------
        path : file
            Output path, usually ending in .html. An existing file is overwritten.
        ids : list or array of N names, optional
            Names of the entities. By default, the labels in `index_` or, without labels, the row
            numbers.
        features : Explanation, optional
            Features that distinguish the clusters, as returned by `explain`. By default, they are
            computed from `views` or, without it, from the scaled rows that the model keeps.
        views : as for `fit`, optional
            The views that the model was fitted on. With them, the page shows features in their
            original units, together with their distributions.
        feature_names : as for `explain`, optional
        columns : dict or table of columns with N values each, optional
            Additional columns for coloring points, such as known classes. They may contain numbers,
            dates or text.
        associations : Associations, optional
            Comparison of other columns across the clusters, as returned by `associate`. The page
            shows it in its own section, with survival curves.
        observed : as for `fit`, optional
        name : str, optional
            Name of the data set, shown at the top of the page beside the date.

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
        with stages(False) as stage:  # progress bar of the command line, if there is one
            write_page(path, self.fitted_, self.report_, given, partial(stage, "page"))

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: a summary if the model is fitted, and otherwise
        scikit-learn's diagram.

        The report is not computed for the summary.
        """
        if not self.__sklearn_is_fitted__():
            return str(estimator_html_repr(self))
        from rmgl.page.page import summary_of

        return summary_of(self.fitted_, vars(self).get("report_"))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return the representations for notebooks: text and, unless scikit-learn's `display`
        option is "text", HTML.
        """
        text = {"text/plain": repr(self)}
        return (
            text if get_config()["display"] == "text" else {**text, "text/html": self._repr_html_()}
        )

    def _views_again(self, X: Any, observed: Any) -> Views:
        """Check views that were passed again after the fit, possibly only some of them. An entity
        may be missing from all of these views.
        """
        fitted = self.fitted_.views
        rows = features_again(fitted, read_stored(X, self.align is not None))
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
        """Return all layers as one `networkx.MultiGraph` with nodes 0 to N-1 (requires networkx).

        Edges have the attributes `layer` and `weight`. The key of an edge is the name of its layer.
        Nodes have the attributes `label`, `outlier_score` and, if rows are labeled, `name`.

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
        """Return all layers as one `igraph.Graph` with parallel edges (requires igraph).

        The attributes are the same as in `to_networkx`.

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
        """Write each layer to a GraphML file, for Gephi, Cytoscape and similar tools (requires
        networkx).

        Nodes have a `label` (the name of the entity, or its row number), a `cluster` and an
        `outlier_score`. Edges have a `weight`. Each file is named after its layer. The folder is
        created if it does not exist, and existing files are overwritten.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_graphml("graphs")  # doctest: +SKIP
        """
        write_graphmls(*self._graphs_for(folder))

    def to_edge_lists(self, folder: str | os.PathLike[str]) -> None:
        """Write each layer to a CSV file of edges, and the entities to nodes.csv.

        Edge files have the columns Source, Target, Type and Weight. The file nodes.csv has the
        columns Id, Label, cluster and outlier_score.

        To open the files in Gephi, use Import spreadsheet: import nodes.csv first, then the edge
        file of a layer. Labels are the names of the entities, or their row numbers.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_edge_lists("graphs")  # doctest: +SKIP
        """
        write_edge_lists(*self._graphs_for(folder))

    def _graphs_for(self, folder: str | os.PathLike[str]) -> tuple[Path, Any, list[str], Any]:
        """Create the folder, and return it with the layers, their file names and the nodes."""
        check_is_fitted(self)
        Path(folder).mkdir(parents=True, exist_ok=True)
        files = layer_file_names([layer.name for layer in self.layers_])
        nodes = node_attributes(self.labels_, self.outlier_score_, self.index_)
        return Path(folder), self.layers_, [name.removesuffix(".npz") for name in files], nodes
