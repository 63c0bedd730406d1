"""`rmgl.scverse`: what scanpy's users call, and what its functions read."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import rmgl
from rmgl import RMGL
from tests.conftest import planted_views

pytestmark = pytest.mark.filterwarnings(
    "ignore:From 0.4", "ignore:Cannot join columns", "ignore:Transforming to str index"
)
mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")


@pytest.fixture
def mdata():
    views, _ = planted_views()
    return mudata.MuData(
        {"rna": anndata.AnnData(views["view 0"]), "protein": anndata.AnnData(views["view 1"])}
    )


@pytest.fixture
def adata():
    views, _ = planted_views()
    return anndata.AnnData(views["view 0"], obsm={"protein": views["view 1"]})


def assert_written(found, model, key):
    """All parts of the result, in an object that was read from a file."""
    assert found.obs[key].astype(int).tolist() == model.labels_.tolist()
    assert found.obs[f"{key}_outlier_score"].tolist() == model.outlier_score_.tolist()
    np.testing.assert_array_equal(found.obsm[f"X_{key}"], model.embedding_)
    common = sum(
        beta * layer.adjacency for layer, beta in zip(model.layers_, model.beta_, strict=True)
    )
    np.testing.assert_allclose(
        found.obsp[f"{key}_connectivities"].toarray(), (common / common.max()).toarray()
    )
    apart = cdist(model.embedding_, model.embedding_) * (common.toarray() > 0)
    np.testing.assert_allclose(found.obsp[f"{key}_distances"].toarray(), apart, atol=1e-12)
    for layer in model.layers_:
        np.testing.assert_array_equal(
            found.obsp[f"{key}_{layer.name}"].toarray(), layer.adjacency.toarray()
        )
    about = found.uns[key]
    assert about["n_clusters"] == model.n_clusters_
    assert about["verdict"] == model.report_.trust.word
    assert about["report"] == str(model.report_)
    assert about["view_weights"] == dict(zip(model.view_names_, model.view_weights_, strict=True))


def assert_neighbors(found, key):
    """What scanpy's `NeighborsView` and `tl.umap` ask of `uns` and `obsp`."""
    about = found.uns[key]
    assert sparse.issparse(found.obsp[about["connectivities_key"]])
    assert isinstance(about["distances_key"], str)
    assert about["params"]["method"] == "rmgl"
    assert about["params"]["metric"] == "euclidean"
    assert about["params"]["n_neighbors"] == RMGL().n_neighbors
    assert about["params"]["use_rep"] in found.obsm


def test_a_mudata_is_clustered_and_read_back(mdata, tmp_path):
    model = rmgl.scverse.cluster(mdata, n_clusters=3, key_added="joint", random_state=0)
    assert isinstance(model, RMGL)
    mdata.write_h5mu(tmp_path / "x.h5mu")
    found = mudata.read_h5mu(tmp_path / "x.h5mu")
    assert_written(found, model, "joint")
    for key in ("joint", "joint_rna", "joint_protein"):
        assert_neighbors(found, key)
    wanted = RMGL(3, random_state=0).fit(rmgl.from_mudata(mdata))
    np.testing.assert_array_equal(model.labels_, wanted.labels_)


def test_an_anndata_is_clustered_and_read_back(adata, tmp_path):
    model = rmgl.scverse.cluster(
        adata,
        3,
        views={"rna": "X", "protein": "protein"},
        random_state=0,
        metric={"rna": "cosine", "protein": "euclidean"},
    )
    adata.write_h5ad(tmp_path / "x.h5ad")
    found = anndata.read_h5ad(tmp_path / "x.h5ad")
    assert_written(found, model, "rmgl")
    for key in ("rmgl", "rmgl_rna"):
        assert_neighbors(found, key)
    assert found.uns["rmgl"]["params"]["metric_of_views"] == {
        "rna": "cosine",
        "protein": "euclidean",
    }


def test_modalities_and_representations_are_chosen(mdata):
    mdata.mod["rna"].obsm["X_pca"] = mdata.mod["rna"].X[:, :2]
    one = rmgl.scverse.cluster(mdata, 3, views=["protein"], random_state=0)
    assert one.view_names_ == ["protein"]
    two = rmgl.scverse.cluster(mdata, 3, rep={"rna": "X_pca"}, random_state=0)
    assert two.fitted_.views["rna"].matrix.shape[1] == 2
    assert rmgl.scverse.cluster(mdata, random_state=0).number_ is not None  # chosen from the data


def test_the_name_of_a_layer_is_no_path(adata, tmp_path):
    rmgl.scverse.cluster(adata, 3, views={"a/b": "X", "c": "protein"}, random_state=0)
    adata.write_h5ad(tmp_path / "x.h5ad")
    assert "rmgl_a_b" in anndata.read_h5ad(tmp_path / "x.h5ad").obsp


def test_the_plot_is_that_of_the_embedding(adata):
    pytest.importorskip("matplotlib")
    model = rmgl.scverse.cluster(adata, 3, views=["X", "protein"], random_state=0)
    ax = rmgl.scverse.plot(adata, method="last")
    assert ax.get_title() == "Common embedding: rmgl"
    points = np.vstack([np.asarray(part.get_offsets()) for part in ax.collections])
    np.testing.assert_allclose(
        np.sort(points, axis=0), np.sort(model.embedding_[:, -2:], axis=0), atol=1e-12
    )
    adata.obs["donor"] = np.where(np.arange(90) % 2, "a", "b")
    other = rmgl.scverse.plot(adata, color="donor", ax=ax, method="pca")
    assert other is ax
    assert {text.get_text() for text in other.texts} >= {"a", "b"}


def test_what_does_not_fit_is_refused(mdata, adata):
    with pytest.raises(ValueError, match=r"pass the parts to use as views"):
        rmgl.scverse.cluster(adata, 3)
    with pytest.raises(ValueError, match=r"rep= and layer= are only for MuData objects"):
        rmgl.scverse.cluster(adata, 3, views=["X"], rep="X_pca")
    with pytest.raises(ValueError, match=r"views= names 'atac', but the modalities are"):
        rmgl.scverse.cluster(mdata, 3, views=["atac"])
    with pytest.raises(ValueError, match=r"obsm has no 'X_rmgl': call rmgl.scverse.cluster"):
        rmgl.scverse.plot(adata)
    rmgl.scverse.cluster(adata, 3, views=["X"], random_state=0)
    with pytest.raises(ValueError, match=r"obs has no column 'donor'"):
        rmgl.scverse.plot(adata, color="donor")


@pytest.mark.extended
def test_scanpy_reads_what_is_written(mdata, adata):
    sc = pytest.importorskip("scanpy")
    rmgl.scverse.cluster(mdata, 3, random_state=0)
    rmgl.scverse.cluster(adata, 3, views={"rna": "X", "protein": "protein"}, random_state=0)
    for data in (mdata, adata):
        for key in ("rmgl", "rmgl_rna"):
            sc.tl.umap(data, neighbors_key=key)
            assert data.obsm["X_umap"].shape == (90, 2)
        assert sc.pl.embedding(data, "X_rmgl", color="rmgl", show=False).get_title() == "rmgl"
    views, _ = planted_views(distance=1.5)  # clusters with edges between them
    near = anndata.AnnData(views["view 0"])
    rmgl.scverse.cluster(near, 3, views=["X"], random_state=0)
    sc.tl.paga(near, groups="rmgl", neighbors_key="rmgl")
    assert near.uns["paga"]["connectivities"].shape == (3, 3)
