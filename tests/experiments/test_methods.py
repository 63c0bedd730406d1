"""The methods of the experiments on a small problem: what they return, and that their parameters do
what they say.
"""

import numpy as np
import pytest

from rmgl.baselines import learn_gl_sigrep
from rmgl.embedding.labels import cluster_rows
from rmgl.experiments.data import Problem, synthetic
from rmgl.experiments.methods import METHODS, alphas, fit_rmgl, sigrep_layers
from rmgl.metrics import normalized_mutual_info_score
from rmgl.model.problems import default_alpha, default_beta
from rmgl.views.views import Views
from tests.conftest import planted_views


@pytest.fixture(scope="module")
def problem():
    views, target = planted_views(sizes=(12, 12, 12), columns=(3, 4))
    return Problem("planted", views, target, [1.0, 3.0])


NAMES = {
    "RMGL": ["RMGL (Q)", "RMGL layer view 0", "RMGL layer view 1", "_components"],
    "GL-SigRep": ["GL-SigRep view 0", "GL-SigRep view 1"],
    "GL-SigRep(C)": ["GL-SigRep(C)"],
    "SC-GED": ["SC-GED"],
    "SC-ML": ["SC-ML"],
    "GD-MCCA": ["GD-MCCA"],
    "kNN spectral": ["kNN spectral"],
}


# few rounds; clusters without a path between them
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_embeddings_that_find_the_planted_blocks(name, problem):
    parameters = {"max_iter": 20} if name == "SC-GED" else {}
    found = METHODS[name](problem, **parameters)
    assert list(found) == NAMES[name]
    for key, rows in found.items():
        if key.startswith("_"):
            assert rows.shape == (2,)
            continue
        assert rows.shape == (36, 3)
        labels = cluster_rows(rows, 3, n_init=5, random_state=0)
        assert normalized_mutual_info_score(problem.target, labels) > 0.9, key


# few rounds; clusters without a path between them
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", METHODS)
def test_methods_leave_the_views_alone_and_are_deterministic(name, problem):
    parameters = {"max_iter": 3} if name == "SC-GED" else {}
    before = {view: X.copy() for view, X in problem.views.items()}
    one, other = METHODS[name](problem, **parameters), METHODS[name](problem, **parameters)
    for key in one:
        np.testing.assert_array_equal(one[key], other[key])
    for view, X in problem.views.items():
        np.testing.assert_array_equal(X, before[view])


def test_alphas_are_the_number_or_follow_the_wanted_neighbors(problem):
    views = Views.of(problem.views)
    assert alphas(views, 100.0).tolist() == [100.0, 100.0]
    np.testing.assert_array_equal(
        alphas(views, "k=5"), [default_alpha(X, 5) for X in views.matrices]
    )


def test_rmgl_gets_alpha_and_beta_of_its_settings(problem):
    paper = fit_rmgl(problem, edges=100.0, weights="paper")
    assert paper.get_params()["alpha"] == [100.0, 100.0]
    assert paper.get_params()["beta"] == [1.0, 3.0]
    assert fit_rmgl(problem, edges=100.0, weights="equal").get_params()["beta"] == [2.0, 2.0]
    assert fit_rmgl(problem, edges=50.0, weights="equal", strength=10.0).get_params()["beta"] == [
        10.0,
        10.0,
    ]


def test_rmgl_by_default_has_the_heuristic_alpha_and_one_beta(problem):
    model = fit_rmgl(problem)
    scaled = Views.of(problem.views).scaled("minmax").matrices
    wanted = np.array([default_alpha(X) for X in scaled])
    np.testing.assert_allclose(model.alpha_, wanted, rtol=1e-12)
    np.testing.assert_allclose(model.beta_, default_beta(wanted, 36, 3), rtol=1e-12)


def test_gl_sigrep_layers_have_the_names_of_the_views(problem):
    layers = sigrep_layers(problem, scale="standard", edges="k=6", smoothing=0.5)
    assert [layer.name for layer in layers] == ["view 0", "view 1"]
    for layer, X in zip(layers, Views.of(problem.views).scaled("standard").matrices, strict=True):
        again = learn_gl_sigrep(X, 0.5, 0.5 * default_alpha(X, 6))
        assert (layer.adjacency != again.adjacency).nnz == 0


def test_the_graph_of_gd_mcca_is_that_of_the_named_view(problem):
    first, named, second = (
        METHODS["GD-MCCA"](problem, graph=graph)["GD-MCCA"] for graph in (None, "view 0", "view 1")
    )
    np.testing.assert_array_equal(first, named)
    assert not np.allclose(first, second)


def test_problems_know_their_clusters_and_their_data():
    one, other = synthetic(0), synthetic(1)
    assert one.n_clusters == len(set(one.target.tolist()))
    assert one.fingerprint == synthetic(0).fingerprint != other.fingerprint
    assert Problem(one.name, one.views, one.target, [2.0, 1.0, 1.0]).fingerprint != one.fingerprint
