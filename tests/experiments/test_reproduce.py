"""`rmgl reproduce`: everything it promises, in its quick form."""

import json
from pathlib import Path

import numpy as np
import pytest

from rmgl.experiments import cells, data, methods
from rmgl.experiments.grids import real_grids, settings, synthetic_grids
from rmgl.experiments.table import ORDER, row_names
from tests.commands import run
from tests.datasets.test_datasets import SHARED_IMAGES, needs_images


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    assert run("reproduce", "synthetic", "--quick", "-o", folder) == 0
    return folder


def table(folder, name):
    return json.loads((folder / name / "table.json").read_text())


@pytest.mark.extended
def test_synthetic_writes_table_and_figure(results):
    written = {path.name for path in (results / "synthetic").iterdir()}
    assert written == {
        "table.json",
        "table.md",
        "arrays.npz",
        "figure1_synthetic.png",
        "figure1_synthetic.pdf",
    }
    found = table(results, "synthetic")
    assert found["draws"] == 3
    assert found["perfect"]["both"] == 3
    assert found["unit_length"]["oracle_nmi"] < 1
    first = found["rows"][0]
    assert first["name"] == "RMGL (Q)"
    assert first["tuned"]["nmi_mean"] == pytest.approx(1.0)
    assert set(found["grids"]) == set(methods.METHODS)


@pytest.mark.extended
def test_finished_cells_are_kept_and_only_missing_ones_computed(results, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in (results / "cells").iterdir()}
    gone = sorted(before)[0]
    content = np.load(gone)["scores"]
    gone.unlink()
    computed = []
    original = cells.compute_one
    monkeypatch.setattr(
        cells,
        "compute_one",
        lambda cell, folder: computed.append(cell.path(folder)) or original(cell, folder),
    )
    assert run("reproduce", "synthetic", "--quick", "-o", results, "--jobs", 1) == 0
    assert computed == [gone]
    rows, again = (json.loads(str(scores))["rows"] for scores in (content, np.load(gone)["scores"]))
    assert rows == again  # the same seeds, the same numbers
    assert {path: path.stat().st_mtime_ns for path in before if path != gone} == {
        path: t for path, t in before.items() if path != gone
    }


@pytest.mark.extended
def test_redraw_computes_nothing(results, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cells, "compute_one", None)
    figure = results / "synthetic" / "figure1_synthetic.png"
    figure.unlink()
    assert run("reproduce", "synthetic", "--redraw", "-o", results) == 0
    assert figure.is_file()
    assert run("reproduce", "uci", "--redraw", "-o", tmp_path) == 2
    assert "contains no finished experiment: run it without --redraw" in capsys.readouterr().err


@pytest.mark.extended
def test_uci_quick(tmp_path):
    assert run("reproduce", "uci", "--quick", "-o", tmp_path) == 0
    written = {path.name for path in (tmp_path / "uci").iterdir()}
    assert {
        "figure2_uci.png",
        "figure2_uci.pdf",
        "figure3_uci.png",
        "figure3_uci.pdf",
        "table.md",
    } <= written
    found = table(tmp_path, "uci")
    names = [row["name"] for row in found["rows"]]
    assert names[0] == "RMGL (Q)"
    assert sum(name.startswith("RMGL layer") for name in names) == 6
    assert sum(name.startswith("GL-SigRep ") for name in names) == 6
    assert names[-5:] == ["GL-SigRep(C)", "SC-GED", "SC-ML", "GD-MCCA", "kNN spectral"]
    assert all(
        0 < row["tuned"]["nmi_mean"] <= 1 and row["default"] is not None for row in found["rows"]
    )
    assert found["paper_parameters"][0]["parameters"] == "scale=minmax, edges=100, weights=paper"
    markdown = (tmp_path / "uci" / "table.md").read_text()
    assert "| RMGL (Q), paper parameters |" in markdown


@needs_images
@pytest.mark.extended
def test_coil20_quick(tmp_path):
    assert run("reproduce", "coil20", "--quick", "--images", SHARED_IMAGES, "-o", tmp_path) == 0
    assert (tmp_path / "coil20" / "figure2_coil20.png").is_file()


def test_coil20_without_images_says_what_to_do(tmp_path, capsys):
    assert run("reproduce", "coil20", "--quick", "--images", tmp_path / "none", "-o", tmp_path) == 2
    error = capsys.readouterr().err
    assert "does not exist: pass a folder" in error


def test_paper_parameters_are_the_paper_s():
    problem = data.uci(quick=True)
    tried = [
        setting
        for setting in settings("uci", problem.views, quick=False)
        if setting.kind == "paper"
    ]
    assert {setting.parameters["scale"] for setting in tried} == {
        "minmax",
        "standard",
        "unit",
        "none",
    }
    assert problem.paper_beta == [2, 2, 2, 20, 7, 1]


@pytest.mark.parametrize(
    "grids", [real_grids(list("abcdef")), real_grids(list("abc")), synthetic_grids(list("abc"))]
)
def test_grids_have_about_the_same_size(grids):
    sizes = {method: len(grid) for method, grid in grids.items()}
    assert set(sizes) == set(methods.METHODS)
    assert all(16 <= size <= 24 for method, size in sizes.items() if method != "SC-GED")
    # by far the longest fits on real data
    assert sizes["SC-GED"] == (16 if "strength" in grids["RMGL"][0] else 8)


def test_knn_spectral_is_scikit_learns_spectral_clustering():
    """The bar beside ours is the real estimator's: same embedding, same labels."""
    from sklearn.cluster import SpectralClustering
    from sklearn.metrics import adjusted_rand_score

    from rmgl.embedding.labels import cluster_rows
    from rmgl.views.views import Views

    problem = data.uci(quick=True)
    rows = methods.knn_spectral(problem)["kNN spectral"]
    table = np.hstack(
        [
            X / np.sqrt(X.var(axis=0).sum())
            for X in Views.of(problem.views).scaled("minmax").matrices
        ]
    )
    theirs = SpectralClustering(
        10, affinity="nearest_neighbors", n_neighbors=10, random_state=0
    ).fit_predict(table)
    assert adjusted_rand_score(theirs, cluster_rows(rows, 10, random_state=0)) > 0.98


def test_order_of_methods_is_one():
    class Named:
        def __init__(self, name):
            self.name = name

    names = [
        "kNN spectral",
        "GL-SigRep b",
        "RMGL layer a",
        "GL-SigRep(C)",
        "RMGL (Q)",
        "GL-SigRep a",
    ]
    assert row_names([Named(name) for name in names]) == [
        "RMGL (Q)",
        "RMGL layer a",
        "GL-SigRep b",
        "GL-SigRep a",
        "GL-SigRep(C)",
        "kNN spectral",
    ]
    assert ORDER[0] == "RMGL (Q)"


def test_cells_are_marked_by_their_data(tmp_path):
    first, second = data.synthetic(0), data.synthetic(1)
    setting = settings("synthetic", first.views, quick=True)[0]
    paths = {
        cells.Cell("x", lambda: first, problem.fingerprint, setting, 1).path(Path(tmp_path))
        for problem in (first, second)
    }
    assert len(paths) == 2
