"""Kinds of views side by side: missing cells, categories, networks, distances and metrics in one
fit, and afterwards.
"""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.exceptions import NotFittedError

from rmgl import RMGL, Network, Precomputed, learn_layer
from rmgl.baselines import GDMCCA, SCML
from rmgl.command_line.cli import cli
from rmgl.views.views import Views

N = 90
TARGET = np.repeat([0, 1, 2], N // 3)
IDS = [f"e{row}" for row in range(N)]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def rows():
    return 4 * np.eye(4)[TARGET] + np.random.default_rng(0).normal(size=(N, 4))


@pytest.fixture
def gapped(rows):
    gaps = rows.copy()
    gaps[::2, 1] = np.nan
    return gaps


@pytest.fixture
def links():
    random = np.random.default_rng(1)
    # none alone
    upper = np.triu(
        random.random((N, N)) < np.where(TARGET[:, None] == TARGET, 0.25, 0.01), 1
    ) | np.eye(N, k=1, dtype=bool)
    return (upper | upper.T).astype(float)


@pytest.fixture
def mixed(rows):
    return pd.DataFrame({"x": rows[:, 0], "y": rows[:, 1], "c": np.array(["p", "q", "r"])[TARGET]})


def unfitted(**parameters):
    return RMGL(3, random_state=0, **parameters)


def write_edges(path, links, others=None):
    names = IDS if others is None else others
    path.write_text(
        "".join(
            f"{names[i]},{IDS[j]}\n"
            for i, j in zip(*np.nonzero(np.triu(links) if others is None else links), strict=True)
        )
    )


@pytest.mark.parametrize("kind", ["missing cells", "categories"])
def test_a_network_beside_such_a_table_on_the_command_line(kind, gapped, mixed, links, tmp_path):
    table = pd.DataFrame(gapped, columns=list("abcd")) if kind == "missing cells" else mixed
    table.assign(id=IDS).to_csv(tmp_path / "table.csv", index=False)
    write_edges(tmp_path / "links.csv", links)
    command = [
        "cluster",
        "table.csv",
        "--network",
        "links.csv",
        "-k",
        3,
        "--id",
        "id",
        "-o",
        "out",
        "--save",
        "m.rmgl",
        "--no-plots",
    ]
    paths = [
        str(tmp_path / part) if part in ("table.csv", "links.csv", "out", "m.rmgl") else str(part)
        for part in command
    ]
    found = CliRunner().invoke(cli, [*paths, "--no-report"])
    assert found.exit_code == 0, found.output
    (tmp_path / "new").mkdir()
    table.assign(id=[f"n{row}" for row in range(N)]).to_csv(
        tmp_path / "new" / "table.csv", index=False
    )
    write_edges(tmp_path / "new" / "links.csv", links, [f"n{row}" for row in range(N)])
    new = [str(tmp_path / "new" / name) for name in ("table.csv", "links.csv")]
    found = CliRunner().invoke(
        cli,
        [
            "predict",
            str(tmp_path / "m.rmgl"),
            new[0],
            "--network",
            new[1],
            "--id",
            "id",
            "-o",
            str(tmp_path / "p.csv"),
        ],
    )
    assert found.exit_code == 0, found.output
    fitted = RMGL.load(tmp_path / "m.rmgl")
    shares = fitted.predict_proba(
        {"table": table if kind == "categories" else table.to_numpy(), "links": links}
    )
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "p.csv").label, shares.argmax(axis=1))


def test_a_network_of_as_many_components_as_clusters():
    found = RMGL(2, random_state=0).fit(Network(np.kron(np.eye(2), np.ones((6, 6)))))
    assert sorted(np.bincount(found.labels_)) == [6, 6]


def test_correlations_of_rows_with_missing_cells_are_numbers(gapped):
    fitted = unfitted(metric="correlation").fit({"g": gapped})
    assert np.isfinite(fitted.fitted_.views.matrices[0]).all()
    assert np.isfinite(fitted.predict_proba({"g": gapped[:5]})).all()


def test_one_metric_leaves_a_network_as_it_is(links):
    words = (np.random.default_rng(2).random((N, 30)) < 0.3).astype(float)
    assert unfitted(metric="jaccard").fit(
        {"w": words, "n": Network(links)}
    ).fitted_.views.graphs == (1,)
    with pytest.raises(ValueError, match="metric='jaccard' does not apply to view 'n'"):
        unfitted(metric={"w": "jaccard", "n": "jaccard"}).fit({"w": words, "n": Network(links)})


@pytest.mark.parametrize("metric", ["hamming", "jaccard"])
def test_metrics_that_compare_values_refuse_missing_cells_and_categories(metric, gapped, mixed):
    with pytest.raises(ValueError, match="view 'g' contains NaN"):
        unfitted(metric=metric).fit({"g": np.round(gapped)})
    with pytest.raises(ValueError, match="view 't' requires numeric columns"):
        unfitted(metric=metric).fit({"t": mixed})


def test_new_rows_with_missing_cells_beside_a_network(rows, links):
    fitted = unfitted().fit({"a": rows, "n": Network(links)})
    new = rows.copy()
    new[np.random.default_rng(3).random(new.shape) < 0.3] = np.nan
    new[np.isnan(new).all(axis=1)] = rows[np.isnan(new).all(axis=1)]
    labels = fitted.predict({"a": new, "n": links})
    assert (labels == fitted.labels_).mean() > 0.9


def test_views_of_the_fit_are_explained_again(rows, links):
    views = {"a": rows, "n": Network(nx.from_numpy_array(links))}
    assert set(unfitted().fit(views).explain(views).view) == {"a"}
    kernel = {"a": rows, "k": Precomputed(rows @ rows.T, kind="kernel")}
    assert set(unfitted().fit(kernel).explain(kernel).view) == {"a"}
    alone = Network(links)
    assert len(unfitted().fit(alone).explain(alone)) == 0


def test_what_needs_rows_refuses_networks_and_distances(rows, links):
    for estimator in (GDMCCA(3), SCML(3)):
        with pytest.raises(
            ValueError,
            match=(
                r"view 'n' is a network or a distance matrix, but .* requires a table of "
                r"features; use RMGL"
            ),
        ):
            estimator.fit({"a": rows, "n": Network(links)})
    with pytest.raises(ValueError, match="a network was given"):
        learn_layer(Network(links), 1.0)


def test_one_table_of_several_kinds_is_predicted_alone(mixed):
    fitted = unfitted().fit({"t": mixed})
    np.testing.assert_array_equal(fitted.predict(mixed), fitted.predict({"t": mixed}))


def test_distances_with_labels_are_put_in_the_order_of_the_rows(rows):
    table = pd.DataFrame(rows, index=IDS)
    apart = pd.DataFrame(
        np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=-1)), index=IDS, columns=IDS
    )
    turned = apart.iloc[::-1, ::-1]
    one, two = (
        Views.of({"a": table, "d": Precomputed(distances)}).matrices[1]
        for distances in (apart, turned)
    )
    np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match="the labels of the distance matrix do not match the row"):
        Views.of(
            {
                "a": table,
                "d": Precomputed(apart.rename(index={"e0": "other"}, columns={"e0": "other"})),
            }
        )


def test_the_report_is_that_of_the_fit(rows):
    fitted, other = unfitted().fit([rows]), unfitted().fit([rows])
    wanted = str(other.report_)
    fitted.labels_[:] = 0
    assert str(fitted.report_) == wanted
    fitted.fit([rows[::-1]])
    assert fitted.report_.n_rows == N
    with pytest.raises(NotFittedError):
        unfitted().report_  # noqa: B018


def test_new_rows_of_a_dask_table_with_categories(rows, mixed):
    tables = pytest.importorskip("dask.dataframe")
    fitted = unfitted().fit({"t": mixed, "a": rows})
    found = fitted.predict({"t": tables.from_pandas(mixed, npartitions=3)})
    np.testing.assert_array_equal(
        found.compute(scheduler="synchronous"), fitted.predict({"t": mixed})
    )
