"""Graphs for networkx and igraph, MuData and AnnData, Feather: what goes out and comes in is what
was there.
"""

import builtins
import importlib.util
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import rmgl
from rmgl import RMGL, learn_layer
from rmgl.storage import multigraph
from rmgl.views.views import Views
from tests.commands import labels, run
from tests.conftest import planted_views

pytestmark = pytest.mark.filterwarnings(
    "ignore:From 0.4", "ignore:Cannot join columns", "ignore:Transforming to str index"
)

NAMES = [f"cell{i}" for i in range(90)]


@pytest.fixture(scope="module")
def cells():
    found, _ = planted_views()
    return {"rna": found["view 0"], "protein": found["view 1"]}


@pytest.fixture(scope="module")
def cells_model(cells):
    return RMGL(3, random_state=0).fit(
        {name: pd.DataFrame(X, index=NAMES) for name, X in cells.items()}
    )


@pytest.fixture
def mdata(cells):
    """Both modalities lack some cells, and "protein" has its own order."""
    return make_mudata(cells)


def make_mudata(cells, protein=None):
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    kept = np.random.default_rng(0).permutation(90)[:70] if protein is None else protein
    rows = {
        "rna": np.arange(85),
        "protein": np.union1d(kept, np.arange(85, 90)) if protein is None else kept,
    }
    rows["protein"] = rows["protein"][::-1]
    return mudata.MuData(
        {name: anndata.AnnData(X[rows[name]], obs=frame(rows[name])) for name, X in cells.items()}
    )


def frame(rows):
    return pd.DataFrame(index=[NAMES[row] for row in rows])


def with_nan_rows(mdata):
    """The data as dense arrays of all observations, NaN where a modality has none."""
    found = {}
    for name, adata in mdata.mod.items():
        X = adata.X.toarray() if sparse.issparse(adata.X) else adata.X
        found[name] = pd.DataFrame(X, index=adata.obs_names).reindex(mdata.obs_names)
    return found


def rebuilt(n_nodes, edges):
    """The adjacency matrix from triples (i, j, weight)."""
    i, j, weights = (np.array(column) for column in zip(*edges, strict=True))
    half = sparse.coo_array((weights, (i, j)), shape=(n_nodes, n_nodes))
    return (half + half.T).toarray()


def assert_same_graph(found, layer):
    np.testing.assert_array_equal(found, layer.adjacency.toarray())


def test_one_layer_is_the_same_graph(cells):
    pytest.importorskip("networkx")
    pytest.importorskip("igraph")
    layer = learn_layer(cells["rna"], alpha=0.1, name="rna")
    graph = layer.to_networkx()
    assert graph.name == "rna"
    assert list(graph) == list(range(90))
    assert graph.number_of_edges() == layer.n_edges
    assert_same_graph(rebuilt(90, graph.edges(data="weight")), layer)
    graph = layer.to_igraph()
    assert graph["name"] == "rna"
    assert (graph.vcount(), graph.ecount(), graph.is_directed()) == (90, layer.n_edges, False)
    assert_same_graph(rebuilt(90, [(*edge.tuple, edge["weight"]) for edge in graph.es]), layer)


def test_all_layers_in_networkx(cells_model):
    networkx = pytest.importorskip("networkx")
    graph = cells_model.to_networkx()
    assert isinstance(graph, networkx.MultiGraph)
    assert graph.number_of_edges() == sum(layer.n_edges for layer in cells_model.layers_)
    assert list(graph) == list(range(90))
    assert list(dict(graph.nodes(data="label")).values()) == cells_model.labels_.tolist()
    assert (
        list(dict(graph.nodes(data="outlier_score")).values())
        == cells_model.outlier_score_.tolist()
    )
    assert list(dict(graph.nodes(data="name")).values()) == NAMES
    for layer in cells_model.layers_:
        edges = [
            (i, j, data["weight"])
            for i, j, data in graph.edges(data=True)
            if data["layer"] == layer.name
        ]
        assert_same_graph(rebuilt(90, edges), layer)
        i, j, weight = edges[0]
        assert graph[i][j][layer.name]["weight"] == weight
    assert type(graph.nodes[0]["label"]) is int
    assert type(weight) is float


def test_all_layers_in_igraph(cells_model):
    pytest.importorskip("igraph")
    graph = cells_model.to_igraph()
    assert (graph.vcount(), graph.ecount()) == (
        90,
        sum(layer.n_edges for layer in cells_model.layers_),
    )
    assert graph.vs["label"] == cells_model.labels_.tolist()
    assert graph.vs["outlier_score"] == cells_model.outlier_score_.tolist()
    assert graph.vs["name"] == NAMES
    for layer in cells_model.layers_:
        assert_same_graph(
            rebuilt(
                90, [(*edge.tuple, edge["weight"]) for edge in graph.es.select(layer=layer.name)]
            ),
            layer,
        )


def test_rows_without_labels_have_no_name(cells):
    pytest.importorskip("networkx")
    graph = RMGL(3, random_state=0).fit(cells).to_networkx()
    assert set(graph.nodes[0]) == {"label", "outlier_score"}


@pytest.mark.parametrize("method", ["to_networkx", "to_igraph"])
def test_graphs_need_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(RMGL(3), method)()


@pytest.mark.parametrize("package", ["networkx", "igraph"])
def test_a_missing_package_is_named_with_its_extra(cells_model, monkeypatch, package):
    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr("rmgl.layer.graphs.import_module", fail)
    for graph_of in (
        getattr(cells_model, f"to_{package}"),
        getattr(cells_model.layers_[0], f"to_{package}"),
    ):
        with pytest.raises(
            ImportError, match=f"needs {package}, which is not installed: pip install {package}"
        ):
            graph_of()


def test_graphml_holds_the_same_graph(cells, tmp_path):
    networkx = pytest.importorskip("networkx")
    for name, X in cells.items():
        pd.DataFrame(X, index=pd.Index(NAMES, name="cell")).to_csv(tmp_path / f"{name}.csv")
    out = tmp_path / "out"
    call = (
        "cluster",
        tmp_path / "rna.csv",
        tmp_path / "protein.csv",
        "-k",
        3,
        "--id",
        "cell",
        "-o",
        out,
        "--no-plots",
        "--graphml",
    )
    assert run(*call) == 0
    graph = networkx.read_graphml(out / "layers.graphml", node_type=int)
    assert list(dict(graph.nodes(data="name")).values()) == NAMES
    assert list(dict(graph.nodes(data="label")).values()) == NAMES  # what Gephi shows
    assert list(dict(graph.nodes(data="cluster")).values()) == labels(out)["label"].tolist()
    for name in ("rna", "protein", "consensus"):
        edges = [
            (i, j, data["weight"]) for i, j, data in graph.edges(data=True) if data["layer"] == name
        ]
        stored = sparse.load_npz(out / "layers" / f"{name}.npz").toarray()
        np.testing.assert_array_equal(rebuilt(90, edges), stored)
        alone = networkx.read_graphml(out / "layers" / f"{name}.graphml", node_type=int)
        np.testing.assert_array_equal(rebuilt(90, alone.edges(data="weight")), stored)
        assert list(dict(alone.nodes(data="label")).values()) == NAMES
    numbers = [key for _, _, key in graph.edges(keys=True)]
    assert len(set(numbers)) == len(numbers)
    assert run(*call, "--edge-lists", "--force") == 0
    assert_edge_lists(out / "layers", labels(out)["label"], NAMES)
    assert run(*call, "--force") == 0


def assert_edge_lists(folder, clusters, names):
    """The columns that Gephi looks for, and the edges of the stored layers."""
    nodes = pd.read_csv(folder / "nodes.csv", dtype={"Label": str})
    assert list(nodes.columns) == ["Id", "Label", "cluster", "outlier_score"]
    assert nodes.Id.tolist() == list(range(90))
    assert nodes.Label.tolist() == list(names)
    assert nodes.cluster.tolist() == list(clusters)
    for name in ("rna", "protein", "consensus", "neighbors"):
        edges = pd.read_csv(folder / f"{name}.csv", float_precision="round_trip")
        assert list(edges.columns) == ["Source", "Target", "Type", "Weight"]
        assert set(edges.Type) == {"Undirected"}
        found = rebuilt(90, edges[["Source", "Target", "Weight"]].itertuples(index=False))
        stored = folder / f"{name}.npz"
        if stored.exists():
            np.testing.assert_array_equal(found, sparse.load_npz(stored).toarray())


def test_a_model_writes_one_file_per_layer(cells, cells_model, tmp_path):
    networkx = pytest.importorskip("networkx")
    cells_model.to_edge_lists(tmp_path / "some" / "csv")
    assert_edge_lists(tmp_path / "some" / "csv", cells_model.labels_, NAMES)
    cells_model.to_graphml(tmp_path / "graphs")
    for layer in cells_model.layers_:
        graph = networkx.read_graphml(tmp_path / "graphs" / f"{layer.name}.graphml", node_type=int)
        assert_same_graph(rebuilt(90, graph.edges(data="weight")), layer)
    unnamed = RMGL(3, random_state=0).fit({"nodes": cells["rna"], "rna": cells["protein"]})
    unnamed.to_edge_lists(tmp_path / "rows")
    nodes = pd.read_csv(tmp_path / "rows" / "nodes.csv", dtype={"Label": str})
    assert nodes.Label.tolist() == [str(row) for row in range(90)]
    assert (tmp_path / "rows" / "nodes_2.csv").exists()  # the layer of that name
    with pytest.raises(NotFittedError):
        RMGL(3).to_graphml(tmp_path)


def test_graphml_is_the_graph_of_the_model(cells_model, tmp_path):
    networkx = pytest.importorskip("networkx")
    nodes = multigraph.node_attributes(
        cells_model.labels_, cells_model.outlier_score_, cells_model.index_
    )
    multigraph.write_graphml(tmp_path / "layers.graphml", cells_model.layers_, nodes)
    found, wanted = (
        networkx.read_graphml(tmp_path / "layers.graphml", node_type=int),
        cells_model.to_networkx(),
    )
    for node, shown in found.nodes(data=True):
        given = wanted.nodes[node]
        assert shown == {
            "label": given["name"],
            "name": given["name"],
            "cluster": given["label"],
            "outlier_score": given["outlier_score"],
        }
    edges = [
        sorted((i, j, data["layer"], data["weight"]) for i, j, data in graph.edges(data=True))
        for graph in (found, wanted)
    ]
    assert edges[0] == edges[1]


def test_graphml_without_networkx_stops_before_the_fit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("rmgl.command_line.cli.find_spec", lambda name: None)
    assert run("cluster", tmp_path / "none.npz", "-k", 3, "-o", tmp_path / "out", "--graphml") == 2
    assert (
        capsys.readouterr().err
        == "rmgl: --graphml needs networkx, which is not installed: pip install networkx\n"
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_modalities_with_different_observations_are_rows_of_nan(mdata, kind):
    wanted = with_nan_rows(mdata)
    assert sorted(int(X.isna().all(axis=1).sum()) for X in wanted.values()) == [
        5,
        90 - mdata["protein"].n_obs,
    ]
    for adata in mdata.mod.values():
        adata.X = kind(adata.X)
    views = rmgl.from_mudata(mdata)
    assert views.names == ("rna", "protein")
    assert views.index.tolist() == mdata.obs_names.tolist()
    assert all(sparse.issparse(X) == (kind is not np.asarray) for X in views.matrices)
    for view, table in zip(views, wanted.values(), strict=True):
        X, rows = view.matrix, view.entities
        assert rows.tolist() == np.flatnonzero(table.notna().all(axis=1)).tolist()
        np.testing.assert_array_equal(X.toarray() if sparse.issparse(X) else X, table.fillna(0.0))
    scale = {"scale": "none"}
    found, wanted = (
        RMGL(3, random_state=0, **scale).fit(views),
        RMGL(3, random_state=0, **scale).fit(wanted),
    )
    assert found.labels_.tolist() == wanted.labels_.tolist()
    assert found.n_features_in_ == wanted.n_features_in_
    assert found.index_.tolist() == wanted.index_.tolist()
    for ours, theirs in zip(found.layers_, wanted.layers_, strict=True):
        np.testing.assert_allclose(
            ours.adjacency.toarray(),
            theirs.adjacency.toarray(),
            atol=1e-6 if kind is not np.asarray else 0,
        )


def test_modalities_with_the_same_observations_in_another_order(cells):
    mdata = make_mudata({"rna": cells["rna"], "protein": cells["protein"]}, protein=np.arange(85))
    mdata = mdata[:85].copy()
    found = rmgl.from_mudata(mdata)
    assert found.complete
    np.testing.assert_array_equal(found.matrices[1], cells["protein"][:85])


def test_layers_and_representations_of_modalities(mdata):
    for name, adata in mdata.mod.items():
        adata.layers["double"] = 2 * adata.X
        adata.obsm["X_pca"] = (
            adata.X[:, :2] if name == "rna" else pd.DataFrame(adata.X[:, :2], index=adata.obs_names)
        )
    plain = rmgl.from_mudata(mdata)
    double, pca = rmgl.from_mudata(mdata, layer="double"), rmgl.from_mudata(mdata, rep="X_pca")
    mixed = rmgl.from_mudata(mdata, rep={"rna": "X_pca"}, layer={"protein": "double"})
    for m in range(2):
        np.testing.assert_array_equal(double.matrices[m], 2 * plain.matrices[m])
        np.testing.assert_array_equal(pca.matrices[m], plain.matrices[m][:, :2])
    np.testing.assert_array_equal(mixed.matrices[0], pca.matrices[0])
    np.testing.assert_array_equal(mixed.matrices[1], double.matrices[1])


def repeat_a_name(mdata):
    mdata["rna"].obs_names = ["cell1", *mdata["rna"].obs_names[1:]]


def rename(mdata):
    mdata["rna"].obs_names = ["new", *mdata["rna"].obs_names[1:]]


def drop_x(mdata):
    del mdata["rna"].X


def drop_from_all(mdata):
    for adata in mdata.mod.values():
        adata.X[adata.obs_names == "cell7"] = np.nan


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            repeat_a_name,
            {},
            r"modality 'rna' has the observation 'cell1' more than once: call obs_names_make_unique",
        ),
        (rename, {}, r"observation 'new' of modality 'rna' is not in the MuData: call update\(\)"),
        (drop_x, {}, r"modality 'rna' has no X"),
        (drop_from_all, {}, r"row 'cell7' is missing from every view"),
        (None, {"rep": "X_pca"}, r"modality 'rna' has no 'X_pca' in obsm: it has \[\] there"),
        (None, {"layer": {"protein": "counts"}}, r"modality 'protein' has no 'counts' in layers"),
        (
            None,
            {"rep": {"atac": "X_lsi"}},
            r"rep names unknown modalities \['atac'\]: the modalities are \['rna', 'protein'\]",
        ),
        (
            None,
            {"rep": "X_pca", "layer": "counts"},
            r"rep='X_pca' and layer='counts' are both given for modality 'rna'",
        ),
    ],
)
def test_bad_mudata(mdata, change, options, message):
    if change is not None:
        change(mdata)
    with pytest.raises(ValueError, match=message):
        rmgl.from_mudata(mdata, **options)


def test_cells_of_a_modality_may_be_missing(mdata):
    mdata["protein"].X[3, 1] = np.nan
    views = rmgl.from_mudata(mdata)
    assert [view.n_gaps for view in views] == [0, 1]
    row = list(mdata.obs_names).index(mdata["protein"].obs_names[3])
    assert views[1].gaps[row, 1]
    message = rf"view 'protein' contains NaN cells \(1 in all\) in 1 of \d+ rows that also have other values \(first: row {row}, column 1\)"
    with pytest.raises(ValueError, match=message):
        RMGL(3, missing="error").fit(views)


def test_views_say_themselves_which_rows_they_have(mdata):
    with pytest.raises(ValueError, match="observed= applies to arrays and tables"):
        RMGL(3).fit(rmgl.from_mudata(mdata), observed=np.ones((90, 2)))


def test_parts_of_one_anndata(cells):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(
        cells["rna"],
        obs=frame(range(90)),
        obsm={"protein": cells["protein"]},
        layers={"raw": sparse.csr_matrix(cells["rna"])},
    )
    found = rmgl.from_anndata(adata, {"rna": "X", "counts": "raw", "protein": "protein"})
    assert found.names == ("rna", "counts", "protein")
    np.testing.assert_array_equal(found.matrices[0], cells["rna"])
    np.testing.assert_array_equal(found.matrices[1].toarray(), cells["rna"])
    np.testing.assert_array_equal(found.matrices[2], cells["protein"])
    assert found.index.tolist() == NAMES
    listed = rmgl.from_anndata(adata, ["X", "protein"])
    assert listed.names == ("X", "protein")
    model = RMGL(3, random_state=0).fit(listed)
    assert model.labels_.tolist() == RMGL(3, random_state=0).fit(cells).labels_.tolist()
    rmgl.to_anndata(model, adata, key="graph")
    assert adata.obs["graph"].tolist() == [str(label) for label in model.labels_]
    layers = {"graph_X", "graph_protein", "graph_consensus", "graph_neighbors"}
    assert set(adata.obsp) == layers | {"graph_connectivities", "graph_distances"}
    with pytest.raises(
        ValueError,
        match=r"no 'atac': use one of \['X', 'protein', 'X_graph', 'raw'\]",
    ):
        rmgl.from_anndata(adata, ["atac"])
    with pytest.raises(ValueError, match="view names must differ"):
        rmgl.from_anndata(adata, ["X", "X"])
    with pytest.raises(TypeError, match="is a single name: pass a list"):
        rmgl.from_anndata(adata, "X")
    with pytest.raises(TypeError, match=r"use rmgl\.from_anndata"):
        rmgl.from_mudata(adata)
    adata.layers["protein"] = adata.X
    with pytest.raises(ValueError, match="both obsm and layers"):
        rmgl.from_anndata(adata, ["protein"])


def test_results_survive_a_file(mdata, tmp_path):
    import mudata

    views = rmgl.from_mudata(mdata)
    model = RMGL(3, scale=["minmax", "none"], random_state=0).fit(views)
    assert rmgl.to_mudata(model, mdata) is None
    mdata.write_h5mu(tmp_path / "result.h5mu")
    found = mudata.read_h5mu(tmp_path / "result.h5mu")
    assert found.obs["rmgl"].dtype == "category"
    assert found.obs["rmgl"].cat.categories.tolist() == ["0", "1", "2"]
    assert found.obs["rmgl"].astype(int).tolist() == model.labels_.tolist()
    assert found.obs["rmgl_outlier_score"].tolist() == model.outlier_score_.tolist()
    np.testing.assert_array_equal(found.obsm["X_rmgl"], model.embedding_)
    for layer in model.layers_:
        assert_same_graph(found.obsp[f"rmgl_{layer.name}"].toarray(), layer)
    about = found.uns["rmgl"]
    assert about["report"] == str(model.report_)
    assert about["view_weights"] == dict(zip(model.view_names_, model.view_weights_, strict=True))
    assert about["params"]["scale"].tolist() == ["minmax", "none"]
    assert about["params"]["n_clusters"] == about["n_clusters"] == 3
    assert "views" not in about["params"]
    again = RMGL(3, scale=["minmax", "none"], random_state=0).fit(rmgl.from_mudata(found))
    assert again.labels_.tolist() == model.labels_.tolist()


def test_every_parameter_can_be_written(cells, tmp_path):
    anndata = pytest.importorskip("anndata")
    graph = sparse.csr_array(np.ones((90, 90)))
    model = RMGL(
        3, alpha={"rna": 1, "protein": 2.5}, beta=(1, 2), random_state=np.random.RandomState(0)
    ).fit(cells)
    model.set_params(candidates=[graph, "all"], views={"rna": slice(3), "protein": [4, 5]})
    adata = anndata.AnnData(cells["rna"])
    rmgl.to_anndata(model, adata)
    adata.write_h5ad(tmp_path / "result.h5ad")
    params = anndata.read_h5ad(tmp_path / "result.h5ad").uns["rmgl"]["params"]
    assert params["alpha"] == {"rna": 1, "protein": 2.5}
    assert params["beta"].tolist() == [1, 2]
    assert params["views"]["rna"] == "slice(None, 3, None)"


def test_results_are_written_only_where_they_belong(cells_model, mdata, cells):
    anndata = pytest.importorskip("anndata")
    same = anndata.AnnData(cells["rna"], obs=frame(range(90)))
    with pytest.raises(NotFittedError):
        rmgl.to_anndata(RMGL(3), same)
    rows = [0, 1, 3, 2, *range(4, 90)]
    with pytest.raises(
        ValueError, match="row 2 of the model is 'cell2', but observation 2 is 'cell3'"
    ):
        rmgl.to_anndata(cells_model, same[rows].copy())
    with pytest.raises(ValueError, match="fitted on 90 rows, but there are 85 observations"):
        rmgl.to_anndata(cells_model, mdata["rna"])
    assert "rmgl" not in mdata["rna"].obs
    numbered = RMGL(3, random_state=0).fit(cells)
    rmgl.to_anndata(numbered, same)
    same.obsp["rmgl_rna"].data[:] = 0
    assert numbered.layers_[0].adjacency.data.all()


def test_command_line_reads_h5mu(mdata, tmp_path, capsys):
    mdata.write_h5mu(tmp_path / "data.h5mu")
    assert (
        run("cluster", tmp_path / "data.h5mu", "-k", 3, "-o", tmp_path / "out", "--no-plots") == 0
    )
    assert "90 rows, 2 views, 3 clusters" in capsys.readouterr().out
    table = labels(tmp_path / "out")
    assert table["id"].tolist() == mdata.obs_names.tolist()
    assert (
        table["label"].tolist()
        == RMGL(3, random_state=0).fit(rmgl.from_mudata(mdata)).labels_.tolist()
    )


def test_bad_h5mu_is_one_clear_line(cells, tmp_path, capsys):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(cells["rna"]).write_h5ad(tmp_path / "one.h5mu")
    (tmp_path / "text.h5mu").write_text("nope")
    np.save(tmp_path / "rna.npy", cells["rna"])
    cases = [
        (["text.h5mu"], [], r"text\.h5mu: not a readable \.h5mu file"),
        (["one.h5mu"], [], r"one\.h5mu: not a readable \.h5mu file"),
        (["text.h5mu", "rna.npy"], [], r"use one \.npz or \.h5mu file with all views"),
        (["text.h5mu"], ["--id", "cell"], r"names of its observations: leave out --id"),
    ]
    for files, options, message in cases:
        assert (
            run(
                "cluster",
                *(tmp_path / file for file in files),
                "-k",
                3,
                "-o",
                tmp_path / "out",
                *options,
            )
            == 2
        )
        error = capsys.readouterr().err
        assert re.search(message, error)
        assert error.count("\n") == 1


def test_h5mu_without_mudata_names_the_extra(tmp_path, monkeypatch, capsys):
    (tmp_path / "data.h5mu").write_text("")
    plain_import = builtins.__import__

    def fail(name, *rest):
        if name == "mudata":
            raise ImportError(name)
        return plain_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fail)
    assert run("cluster", tmp_path / "data.h5mu", "-k", 3, "-o", tmp_path / "out") == 2
    assert (
        "data.h5mu: .h5mu files need mudata, which is not installed: pip install mudata"
        in capsys.readouterr().err
    )


def test_feather_is_parquet_is_csv(cells, tmp_path):
    if importlib.util.find_spec("pyarrow") is None:
        pytest.skip("needs pyarrow")
    from rmgl.storage.readers import read_views

    table = pd.DataFrame(cells["rna"], columns=list("xyz"))
    table.insert(0, "cell", NAMES)
    table.to_csv(tmp_path / "rna.csv", index=False)
    table.to_parquet(tmp_path / "rna.parquet")
    table.to_feather(tmp_path / "rna.feather")
    table.to_feather(tmp_path / "rna.arrow", compression="uncompressed")
    for kind in ("csv", "parquet", "feather", "arrow"):
        found = read_views([tmp_path / f"rna.{kind}"], "cell")
        np.testing.assert_array_equal(found.matrices[0], cells["rna"])
        assert found.index.tolist() == NAMES
    (tmp_path / "bad.feather").write_text("nope")
    with pytest.raises(ValueError, match=r"bad\.feather: "):
        read_views([tmp_path / "bad.feather"])
    with pytest.raises(
        ValueError,
        match=r"use one \.npz or \.h5mu file, or \.csv, \.tsv, \.xlsx, \.parquet, \.feather, \.arrow",
    ):
        read_views([next(iter(tmp_path.glob("*.csv"))).rename(tmp_path / "rna.ods")])


def test_views_are_taken_as_they_are(cells):
    given = Views.of(cells)
    model = RMGL(3, random_state=0).fit(given)
    assert model.n_features_in_ == given.n_features
    assert model.labels_.tolist() == RMGL(3, random_state=0).fit(cells).labels_.tolist()


def test_a_mudata_itself_is_no_table():
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    adata = anndata.AnnData(np.eye(5))
    with pytest.raises(TypeError, match=r"use rmgl\.from_anndata"):
        RMGL(2).fit(adata)
    with pytest.raises(TypeError, match=r"use rmgl\.from_mudata"):
        RMGL(2).fit(mudata.MuData({"a": adata}))


def test_the_order_of_columns_in_new_files_does_not_matter(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    import pandas as pd
    from click.testing import CliRunner

    from rmgl.command_line.cli import cli

    monkeypatch.chdir(tmp_path)
    views, _ = planted_views(sizes=(15, 15), columns=(3,))
    frame = pd.DataFrame(views["view 0"], columns=["a", "b", "c"])
    frame.to_csv("x.csv", index=False)
    run = CliRunner().invoke
    assert (
        run(
            cli, ["cluster", "x.csv", "-k", "2", "-o", "out", "--no-plots", "--save", "m.rmgl"]
        ).exit_code
        == 0
    )
    assert run(cli, ["predict", "m.rmgl", "x.csv", "-o", "p.csv"]).exit_code == 0
    assert list(pd.read_csv("p.csv").label) == list(pd.read_csv("out/labels.csv").label)
    frame[["c", "b", "a"]].to_csv("x.csv", index=False)
    assert run(cli, ["predict", "m.rmgl", "x.csv", "-o", "q.csv"]).exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv("q.csv"), pd.read_csv("p.csv"))
    frame.set_index(pd.Index(range(30, 60), name="cell")).to_parquet("y.parquet")
    refused = run(cli, ["cluster", "y.parquet", "-k", "2", "-o", "out2", "--no-plots"])
    assert refused.exit_code == 2
    assert "its rows have labels, which would be lost: use --id cell" in refused.output
    assert (
        run(
            cli, ["cluster", "y.parquet", "-k", "2", "-o", "out2", "--no-plots", "--id", "cell"]
        ).exit_code
        == 0
    )
