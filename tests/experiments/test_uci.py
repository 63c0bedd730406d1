"""The paper's model on the paper's data: UCI digits with the paper's parameters."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from rmgl.embedding.labels import cluster_rows
from rmgl.metrics import normalized_mutual_info_score


@pytest.mark.extended
def test_score_of_the_paper(paper_model, digits):
    """The mean over twenty seeds of k-means, as in the paper."""
    labels = [
        cluster_rows(paper_model.embedding_, 10, n_init=paper_model.n_init, random_state=seed)
        for seed in range(20)
    ]
    assert (
        np.mean([normalized_mutual_info_score(digits.target, found) for found in labels]) >= 0.945
    )


def test_layers_are_certified(paper_model):
    for layer in paper_model.layers_:
        assert layer.status == "converged"
        assert layer.kkt_residual <= 1e-6
        assert layer.gap <= 1e-6


def test_objective_falls_and_the_fit_converges(paper_model):
    assert (np.diff([row["objective"] for row in paper_model.history_]) <= 0).all()
    assert paper_model.converged_


def test_embedding_is_orthonormal_and_an_eigenbasis(paper_model):
    Q = paper_model.embedding_
    assert Q.shape == (2000, 10)
    np.testing.assert_allclose(Q.T @ Q, np.eye(10), atol=1e-9)
    # on the layers that it was computed from, before these were certified for it
    assert paper_model.history_[-2]["eigen_residual"] <= 1e-8
    combined = sum(
        beta * layer.laplacian
        for beta, layer in zip(paper_model.beta_, paper_model.layers_, strict=True)
    )
    bound = 2 * combined.diagonal().max()
    residual = np.linalg.norm(combined @ Q - Q * paper_model.eigenvalues_, axis=0).max() / bound
    assert residual == pytest.approx(paper_model.history_[-1]["eigen_residual"], rel=1e-6)
    assert residual <= np.sqrt(paper_model.tol)  # what a last round may turn the subspace by


@pytest.mark.extended
def test_memory_stays_under_a_gigabyte():
    """Peak of a fresh process that fits all six views: VmHWM, since ru_maxrss begins at the size of
    the process that started it.
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("reads the peak from /proc, as on Linux")
    code = """
    from rmgl import RMGL
    from rmgl.datasets import load_uci_digits
    RMGL(10, alpha=100, beta=[2, 2, 2, 20, 7, 1], random_state=0, max_iter=2, tol=1.0, n_jobs=2).fit(load_uci_digits().views)
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
    """
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(found.stdout) < 1_000_000


@pytest.mark.extended
def test_dual_ascent_reaches_the_newton_layers(digits):
    """The paper's iteration, given the passes it needs, ends at the same layers."""
    from rmgl import learn_layer

    for name, X in digits.views.items():
        newton = learn_layer(X, 10.0, scale="minmax")
        ascent = learn_layer(X, 10.0, scale="minmax", solver="dual-ascent", tol=1e-6)
        assert ascent.status == "converged", name
        assert ascent.n_passes > newton.n_passes
        np.testing.assert_allclose(ascent.objective, newton.objective, rtol=1e-9)
        assert abs(ascent.adjacency - newton.adjacency).max() < 1e-5
