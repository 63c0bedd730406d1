"""The evidence for the number of clusters: score, resolutions, their table, and confidence."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL
from rmgl.automatic.number_of_clusters import (
    Counting,
    NumberOfClusters,
    by_stability,
    modularity,
)
from rmgl.checks import Unsound
from rmgl.embedding.eigenvectors import Embedding, smallest_eigenvectors
from tests.conftest import planted_views


def groups(sizes, inside=1.0, outside=0.001):
    """A graph of groups, and the group of every node."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    W = np.where(group[:, None] == group, inside, outside)
    np.fill_diagonal(W, 0.0)
    return sparse.csr_array(W), group


def nested(near, far=0.001, size=15):
    """Three groups of three groups; `near` is the weight between groups of the same group."""
    _, fine = groups((size,) * 9)
    coarse = fine // 3
    W = np.where(fine[:, None] == fine, 1.0, np.where(coarse[:, None] == coarse, near, far))
    np.fill_diagonal(W, 0.0)
    return sparse.csr_array(W), coarse, fine


def evidence(
    chosen=4,
    modularity=(0.3, 0.5, 0.8, 0.6, 0.4),
    stability=(1.0, 0.7, 0.95, 0.6, 0.5),
    n_nodes=100,
    **fields,
):
    """Evidence for 2 to 6 clusters."""
    candidates = np.arange(2, 2 + len(modularity))
    shown = {"resolutions": np.array([chosen]), "parts": np.arange(n_nodes)[None] % chosen}
    return NumberOfClusters(
        chosen,
        candidates,
        np.array(modularity),
        np.full(len(modularity), 0.1),
        np.array(stability),
        **(shown | fields),
    )


# What is measured


def test_the_score_is_modularity_times_stability_squared():
    np.testing.assert_allclose(
        evidence().score, [0.3, 0.5 * 0.49, 0.8 * 0.9025, 0.6 * 0.36, 0.4 * 0.25], rtol=1e-12
    )
    # not measured; worse than chance
    assert evidence(stability=(np.nan, 0.7, 0.95, -0.2, 0.5)).score[[0, 3]].tolist() == [0.3, 0.0]


def test_the_number_with_the_largest_score_is_chosen():
    graph, group = groups((20, 20, 20, 20, 20, 20))
    found = by_stability(graph, np.random.RandomState(0))
    assert found.chosen == found.candidates[found.score.argmax()] == 6
    assert found.candidates.tolist() == list(range(2, 21))  # at least six nodes in a cluster
    assert found.modularity[4] == pytest.approx(modularity(graph, group), rel=1e-12)
    assert found.stability[4] == 1.0
    assert (found.stability <= 1).all()
    assert found.rivals == [6]
    assert found.confidence == "high"


def test_many_clusters_are_looked_for_where_the_spectrum_has_room():
    """In steps of two beyond 30, of four beyond 60."""
    graph, _ = groups((8,) * 44, outside=0.0)
    found = by_stability(graph, np.random.RandomState(0))
    assert found.chosen == 44
    assert found.candidates.tolist() == [*range(2, 31), *range(32, 59, 2)]
    few, _ = groups((40,) * 8)
    assert by_stability(few, np.random.RandomState(0)).candidates[-1] == 30


@pytest.mark.parametrize(("n_nodes", "last"), [(720, 120), (719, 116), (2000, 120)])
def test_up_to_a_hundred_and_twenty_clusters_are_looked_for_in_growing_steps(
    n_nodes, last, monkeypatch
):
    """Of graphs whose spectrum has room for any number, and parts that cost nothing: a sixth of the
    nodes at most.
    """
    module = "rmgl.automatic.number_of_clusters"
    monkeypatch.setattr(
        f"{module}.smallest_eigenvectors",
        lambda graph, k, **options: Embedding(np.zeros((n_nodes, k)), np.zeros(k), 0.0, 1),
    )
    monkeypatch.setattr(
        f"{module}.cut", lambda vectors, k, random_state: np.arange(len(vectors)) % k
    )
    monkeypatch.setattr(f"{module}._stability", lambda graph, numbers, *rest: np.ones(numbers.size))
    ring = sparse.csr_array(
        sparse.diags_array([1.0, 1.0], offsets=(-1, 1), shape=(n_nodes, n_nodes))
    )
    found = by_stability(ring, np.random.RandomState(0))
    assert found.candidates.tolist() == [*range(2, 31), *range(32, 61, 2), *range(64, last + 1, 4)]


@pytest.mark.parametrize(("eigenvalue", "last"), [(0.24, 32), (0.26, 30)])
def test_no_more_than_thirty_clusters_are_looked_for_where_an_eigenvalue_is_above_a_quarter(
    eigenvalue, last, monkeypatch
):
    """32 groups of m = 6 of n nodes: all eigenvalues from the second to the 32nd are nc / (m - 1 +
    (n - m) c).
    """
    outside = 5 * eigenvalue / (192 - 186 * eigenvalue)
    graph, _ = groups((6,) * 32, outside=outside)
    degrees = graph.sum(axis=1)
    values = np.linalg.eigvalsh(np.eye(192) - graph.toarray() / np.sqrt(np.outer(degrees, degrees)))
    np.testing.assert_allclose(values[1:32], eigenvalue, rtol=1e-9)
    monkeypatch.setattr("rmgl.embedding.resampling.RESAMPLED_INITS", 1)
    found = by_stability(graph, np.random.RandomState(0), numbers=Counting(draws=1))
    assert found.candidates[-1] == last


def test_parts_are_looked_for_again_on_four_fifths_of_the_nodes(monkeypatch):
    graph, _ = groups((20, 20, 20))
    seen = []

    def embed(part, *args, **options):
        seen.append(part.shape[0])
        return smallest_eigenvectors(part, *args, **options)

    for module in ("rmgl.automatic.number_of_clusters", "rmgl.embedding.resampling"):
        monkeypatch.setattr(f"{module}.smallest_eigenvectors", embed)
    by_stability(graph, np.random.RandomState(0))
    assert seen[0] == 60
    assert set(seen[1:]) == {48}


# Resolutions


@pytest.mark.parametrize(("near", "chosen"), [(0.02, 9), (0.5, 3)])
def test_coarser_and_finer_parts_stand_beside_the_chosen_ones(near, chosen):
    graph, coarse, fine = nested(near)
    found = by_stability(graph, np.random.RandomState(0))
    assert found.chosen == chosen
    assert found.resolutions.tolist() == [3, 9]
    for parts, wanted in zip(found.parts, (coarse, fine), strict=True):
        assert adjusted_rand_score(wanted, parts) == 1.0
    found.check(135)
    first, second = (row["sentence"] for row in found.table)
    assert first == (
        f"3 clusters ({'chosen' if chosen == 3 else 'coarser'}) are found again on four "
        "fifths of the entities"
    )
    assert second == (
        f"9 clusters ({'chosen' if chosen == 9 else 'finer'}) are found again on four fifths "
        "of the entities"
    )


def test_the_two_most_stable_resolutions_on_each_side_are_shown(monkeypatch):
    """Ten groups are chosen. Peaks of stability stand at all even numbers; that of 20 is below 0.8."""
    peaks = {
        2: 0.85,
        4: 0.95,
        6: 0.9,
        8: 0.81,
        10: 1.0,
        12: 0.82,
        14: 0.9,
        16: 0.85,
        18: 0.95,
        20: 0.79,
    }
    monkeypatch.setattr(
        "rmgl.automatic.number_of_clusters._stability",
        lambda graph, numbers, *rest: np.array([peaks.get(int(k), 0.5) for k in numbers]),
    )
    found = by_stability(groups((12,) * 10)[0], np.random.RandomState(0))
    assert found.chosen == 10
    assert found.resolutions.tolist() == [4, 6, 10, 14, 18]


@pytest.mark.parametrize(("stability", "shown"), [(0.8, [2, 3]), (0.79, [3])])
def test_resolutions_are_shown_from_a_stability_of_four_fifths(stability, shown, monkeypatch):
    monkeypatch.setattr(
        "rmgl.automatic.number_of_clusters._stability",
        lambda graph, numbers, *rest: np.where(
            numbers == 3, 1.0, np.where(numbers == 2, stability, 0.5)
        ),
    )
    monkeypatch.setattr("rmgl.automatic.number_of_clusters._is_peak", lambda values, at: True)
    assert (
        by_stability(groups((12,) * 3)[0], np.random.RandomState(0)).resolutions.tolist() == shown
    )


def test_the_table_has_the_numbers_of_every_resolution():
    found = by_stability(nested(0.02)[0], np.random.RandomState(0))
    for k, row in zip(found.resolutions, found.table, strict=True):
        at = found.candidates.tolist().index(k)
        assert set(row) == {"n_clusters", "stability", "modularity", "eigengap", "sentence"}
        assert row["n_clusters"] == k
        assert [row[name] for name in ("stability", "modularity", "eigengap")] == [
            found.stability[at],
            found.modularity[at],
            found.eigengap[at],
        ]
    assert json.loads(json.dumps(found.as_dict()["resolutions"], allow_nan=False)) == found.table


@pytest.mark.parametrize(
    ("stability", "words"),
    [
        (0.9, "are found again"),
        (0.89, "are mostly found again"),
        (0.8, "are mostly found again"),
        (0.79, "are hardly found again"),
    ],
)
def test_the_table_says_how_stable_parts_are(stability, words):
    (row,) = evidence(stability=(1.0, 0.7, stability, 0.6, 0.5)).table
    assert row["sentence"] == f"4 clusters (chosen) {words} on four fifths of the entities"


def test_evidence_without_resolutions_has_a_table_of_the_chosen_number():
    (row,) = evidence(resolutions=None, parts=None).table
    assert row["n_clusters"] == 4


def test_parts_are_those_of_the_entities_of_a_fit():
    views, target = planted_views(sizes=(40, 40, 40), columns=(5, 6))
    number = RMGL("auto", random_state=0).fit(views).number_
    assert number.parts.shape == (number.resolutions.size, 120)
    assert adjusted_rand_score(target, number.parts[number.resolutions.tolist().index(3)]) == 1.0


# Confidence


@pytest.mark.parametrize(
    ("changes", "confidence"),
    [
        ({}, "high"),
        ({"stability": (1.0, 0.7, 0.9, 0.6, 0.5)}, "high"),
        ({"stability": (1.0, 0.7, 0.89, 0.6, 0.5)}, "low"),  # other parts on some of the nodes
        ({"n_nodes": 99}, "low"),
        ({"modularity": (0.66, 0.5, 0.8, 0.6, 0.4)}, "low"),  # two clusters do nearly as well
        ({"modularity": (0.64, 0.5, 0.8, 0.6, 0.4)}, "high"),
        # one more or less is as good
        (
            {"stability": (1.0, 1.0, 0.95, 1.0, 0.5), "modularity": (0.3, 0.7, 0.8, 0.7, 0.4)},
            "high",
        ),
        ({"resolutions": None, "parts": None}, "high"),  # evidence of earlier versions
    ],
)
def test_confidence_has_its_conditions(changes, confidence):
    assert evidence(**changes).confidence == confidence
    assert evidence(**changes).reason.endswith(f"the best of 2 to 6; confidence {confidence}")


def test_numbers_a_fifth_away_are_no_others():
    candidates = np.arange(2, 31)
    score = np.where(np.abs(candidates - 20) <= 4, 0.8, 0.1)
    found = NumberOfClusters(20, candidates, score, np.zeros(29), np.ones(29))
    assert found.confidence == "high"
    assert replace(found, modularity=np.where(candidates == 15, 0.8, score)).confidence == "low"


# What files may hold


@pytest.mark.parametrize(
    "fields",
    [
        {"resolutions": np.array([7])},
        {"parts": np.zeros((2, 100), dtype=np.intp)},
        {"parts": np.zeros(100, dtype=np.intp), "resolutions": np.array([4] * 100)},
        {"parts": np.full((1, 100), 4)},
        {"parts": np.full((1, 100), -1)},
        {"n_nodes": 101},
    ],
)
def test_unsound_resolutions_are_refused(fields):
    evidence().check(100)
    with pytest.raises(Unsound):
        evidence(**fields).check(100)
