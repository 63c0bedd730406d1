"""The evidence for the number of clusters: score, resolutions, their table, and confidence."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL
from rmgl.automatic.cuts import Cuts, modularity, silhouette
from rmgl.automatic.number_of_clusters import (
    Counting,
    NumberOfClusters,
    by_silhouette,
    coarser_if_as_good,
    worth_resampling,
)
from rmgl.checks import Unsound
from rmgl.embedding.eigenvectors import Embedding, smallest_eigenvectors
from rmgl.embedding.resampling import cut
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
    silhouette=(0.9, 0.8, 0.9, 0.7, 0.6),
    stability=(1.0, 0.7, 0.95, 0.6, 0.5),
    n_nodes=100,
    **fields,
):
    """Evidence for 2 to 6 clusters."""
    candidates = np.arange(2, 2 + len(modularity))
    shown = {"resolutions": np.array([chosen]), "parts": np.arange(n_nodes)[None] % chosen}
    shown["silhouette"] = None if silhouette is None else np.array(silhouette)
    return NumberOfClusters(
        chosen,
        candidates,
        np.array(modularity),
        np.full(len(modularity), 0.1),
        np.array(stability),
        **(shown | fields),
    )


# What is measured


def test_the_score_is_modularity_times_silhouette_squared():
    np.testing.assert_allclose(
        evidence().score, [0.3 * 0.81, 0.5 * 0.64, 0.8 * 0.81, 0.6 * 0.49, 0.4 * 0.36], rtol=1e-12
    )
    # rows that are nearer to another center are no good
    assert evidence(silhouette=(-0.5, 0.8, 0.9, 0.7, 0.6)).score[0] == 0.0


def test_the_score_of_earlier_evidence_is_modularity_times_stability_squared():
    np.testing.assert_allclose(
        evidence(silhouette=None, stability=(np.nan, 0.7, 0.95, -0.2, 0.5)).score,
        [0.3, 0.5 * 0.49, 0.8 * 0.9025, 0.0, 0.4 * 0.25],
        rtol=1e-12,
    )


def test_the_silhouette_compares_distances_from_centers(rng):
    rows, labels = rng.normal(size=(40, 3)), rng.integers(4, size=40)
    centers = np.array([rows[labels == k].mean(axis=0) for k in range(4)])
    expected = []
    for row, label in zip(rows, labels, strict=True):
        distances = np.linalg.norm(row - centers, axis=1)
        own, other = distances[label], np.delete(distances, label).min()
        expected.append((other - own) / max(own, other))
    assert silhouette(rows, labels) == pytest.approx(np.mean(expected), rel=1e-9)
    # names of clusters and empty clusters do not matter
    assert silhouette(rows, 3 * labels + 1) == pytest.approx(np.mean(expected), rel=1e-9)


def test_the_silhouette_of_a_single_cluster_is_zero_and_of_points_one():
    points = np.repeat(np.eye(3), 5, axis=0)
    assert silhouette(points, np.zeros(15, dtype=int)) == 0.0
    assert silhouette(points, np.repeat([0, 1, 2], 5)) == pytest.approx(1.0, abs=1e-6)


def test_the_number_with_the_largest_score_is_chosen():
    graph, group = groups((20, 20, 20, 20, 20, 20))
    found = by_silhouette(graph, np.random.RandomState(0))
    assert found.chosen == found.candidates[found.score.argmax()] == 6
    assert found.candidates.tolist() == list(range(2, 21))  # at least six nodes in a cluster
    assert found.modularity[4] == pytest.approx(modularity(graph, group), rel=1e-12)
    assert found.stability[4] == 1.0
    assert np.nanmax(found.stability) <= 1
    assert found.range[0] <= 6 <= found.range[1]
    assert 6 in found.rivals


def test_many_clusters_are_looked_for_while_the_last_number_is_about_as_good():
    """In steps of two beyond 30; beside the best one, all numbers are tried."""
    graph, _ = groups((8,) * 45, outside=0.0)
    found = by_silhouette(graph, np.random.RandomState(0))
    assert found.chosen == 45
    assert {*range(2, 31), *range(32, 59, 2), 45} <= set(found.candidates.tolist())
    few, _ = groups((40,) * 8)
    assert by_silhouette(few, np.random.RandomState(0)).candidates[-1] == 30


@pytest.mark.parametrize(("n_nodes", "last"), [(720, 120), (719, 116), (2000, 120)])
def test_up_to_a_hundred_and_twenty_clusters_are_looked_for_in_growing_steps(
    n_nodes, last, monkeypatch
):
    """Where every number is about as good as the best one, and parts cost nothing: a sixth of the
    nodes at most. Two is the best, and has no neighbors that steps left out.
    """
    module = "rmgl.automatic.cuts"
    monkeypatch.setattr(
        f"{module}.smallest_eigenvectors",
        lambda graph, k, **options: Embedding(np.zeros((n_nodes, k)), np.zeros(k), 0.0, 1),
    )
    monkeypatch.setattr(
        f"{module}.cut", lambda vectors, k, random_state: np.arange(len(vectors)) % k
    )
    monkeypatch.setattr(f"{module}.modularity", lambda graph, labels: 0.5 - labels.max() / 1e4)
    monkeypatch.setattr(f"{module}.silhouette", lambda rows, labels: 0.8)
    monkeypatch.setattr(Cuts, "find_stability", lambda self, *rest: None)
    found = by_silhouette(sparse.csr_array((n_nodes, n_nodes)), np.random.RandomState(0))
    assert found.chosen == 2
    assert found.candidates.tolist() == [*range(2, 31), *range(32, 61, 2), *range(64, last + 1, 4)]


@pytest.mark.parametrize(("score", "last"), [(0.76, 60), (0.74, 30)])
def test_no_more_clusters_are_looked_for_once_the_last_number_is_outside_of_the_range(
    score, last, monkeypatch
):
    module = "rmgl.automatic.cuts"
    values = {30: score, 60: 0.0}
    monkeypatch.setattr(
        f"{module}.modularity",
        lambda graph, labels: values.get(int(labels.max()) + 1, 1.0 if labels.max() == 1 else 0.5),
    )
    monkeypatch.setattr(f"{module}.silhouette", lambda rows, labels: 1.0)
    monkeypatch.setattr(
        f"{module}.cut", lambda vectors, k, random_state: np.arange(len(vectors)) % k
    )
    monkeypatch.setattr(Cuts, "find_stability", lambda self, *rest: None)
    graph, _ = groups((6,) * 61)
    assert by_silhouette(graph, np.random.RandomState(0)).candidates[-1] == last


def test_parts_are_looked_for_again_on_four_fifths_of_the_nodes(monkeypatch):
    graph, _ = groups((20, 20, 20))
    seen = []

    def embed(part, *args, **options):
        seen.append(part.shape[0])
        return smallest_eigenvectors(part, *args, **options)

    for module in ("rmgl.automatic.cuts", "rmgl.embedding.resampling"):
        monkeypatch.setattr(f"{module}.smallest_eigenvectors", embed)
    by_silhouette(graph, np.random.RandomState(0))
    assert seen == [60, 48, 48, 48, 48]


def test_many_nodes_are_drawn_half_as_often(monkeypatch):
    graph, _ = groups((20, 20, 20))
    drawn = []
    monkeypatch.setattr("rmgl.automatic.cuts.MANY_NODES", 59)
    monkeypatch.setattr(
        Cuts,
        "find_again",
        lambda self, numbers, nodes: drawn.append(nodes) or np.ones(len(numbers)),
    )
    by_silhouette(graph, np.random.RandomState(0))
    assert len(drawn) == Counting.draws // 2


def test_many_rows_are_cut_by_the_centers_of_a_sample(monkeypatch):
    graph, group = groups((40, 40, 40))
    vectors = smallest_eigenvectors(graph, 3, normalized=True).vectors
    monkeypatch.setattr("rmgl.embedding.resampling.MOST_ROWS", 30)
    assert adjusted_rand_score(group, cut(vectors, 3, np.random.RandomState(0))) == 1.0


# Time


def test_once_time_is_over_the_best_number_so_far_is_taken():
    graph, _ = groups((20,) * 6)
    parts = []

    def going(part):
        parts.append(part)
        return len(parts) <= 7

    found = by_silhouette(graph, np.random.RandomState(0), going=going)
    assert found.candidates.tolist() == list(range(2, 10))
    assert found.chosen == 6
    assert np.isnan(found.stability).all()
    assert found.confidence == "low"
    assert "stability not measured" in found.reason
    (row,) = found.table
    assert row["stability"] is None
    assert "stability not tested" in row["sentence"]
    found.check(120)


def test_there_is_a_number_even_if_there_is_no_time():
    graph, _ = groups((20,) * 6)
    found = by_silhouette(graph, np.random.RandomState(0), going=lambda part: False)
    assert found.candidates.tolist() == [2]


def test_progress_rises_from_the_first_cut_to_the_last_draw():
    parts = []
    by_silhouette(
        groups((20,) * 3)[0],
        np.random.RandomState(0),
        going=lambda part: parts.append(part) or True,
    )
    assert parts == sorted(parts)
    assert 0 <= parts[0] < 0.5 <= parts[-1] < 1


# Which numbers are resampled, and which is chosen


def test_numbers_of_the_range_and_the_best_peaks_beside_it_are_resampled():
    found = evidence(
        chosen=4,
        modularity=(0.4, 0.2, 0.8, 0.7, 0.2, 0.3, 0.1),
        silhouette=(1.0,) * 7,
        stability=(np.nan,) * 7,
    )
    assert found.rivals == [4, 5]
    assert worth_resampling(found) == [2, 4, 5, 7]  # 3, 6 and 8 are no peaks


@pytest.mark.parametrize(
    ("stability", "modularity", "chosen"),
    [
        ((1.0, 0.9, 0.8), (0.75, 0.7, 0.8), 2),  # a peak in the range with the larger product
        ((0.8, 0.9, 0.8), (0.75, 0.7, 0.8), 4),  # its product is smaller
        ((1.0, 0.9, 0.8), (0.59, 0.5, 0.8), 4),  # it is outside of the range
        ((0.5, 1.0, 0.8), (0.6, 0.75, 0.8), 4),  # 3 is no peak
        ((np.nan, 0.9, 0.8), (0.75, 0.7, 0.8), 4),  # its stability is not known
        ((np.nan, np.nan, np.nan), (0.75, 0.7, 0.8), 4),
    ],
)
def test_a_coarser_peak_that_is_about_as_good_and_more_stable_is_preferred(
    stability, modularity, chosen
):
    found = evidence(
        chosen=4,
        modularity=modularity,
        silhouette=(1.0,) * 3,
        stability=stability,
        resolutions=None,
        parts=None,
    )
    assert coarser_if_as_good(found).chosen == chosen


def test_a_finer_number_is_never_preferred():
    found = evidence(
        chosen=2, modularity=(0.8, 0.7, 0.79), silhouette=(1.0,) * 3, stability=(0.5, 1.0, 1.0)
    )
    assert coarser_if_as_good(found).chosen == 2


# Resolutions


@pytest.mark.parametrize(("near", "chosen"), [(0.02, 9), (0.5, 3)])
def test_coarser_and_finer_parts_stand_beside_the_chosen_ones(near, chosen):
    graph, coarse, fine = nested(near)
    found = by_silhouette(graph, np.random.RandomState(0))
    assert found.chosen == chosen
    assert found.resolutions.tolist() == [3, 9]
    for parts, wanted in zip(found.parts, (coarse, fine), strict=True):
        assert adjusted_rand_score(wanted, parts) == 1.0
    found.check(135)
    first, second = (row["sentence"] for row in found.table)
    assert first == (
        f"3 clusters ({'chosen' if chosen == 3 else 'coarser'}): recovered when a fifth of the "
        "entities are left out"
    )
    assert second == (
        f"9 clusters ({'chosen' if chosen == 9 else 'finer'}): recovered when a fifth of the "
        "entities are left out"
    )


def with_stability(monkeypatch, known):
    """Let every cut that is resampled have a known stability, 0.5 for all others."""
    monkeypatch.setattr(
        Cuts,
        "find_stability",
        lambda self, numbers, *rest: self.stability.update(
            {k: known.get(k, 0.5) for k in self.numbers}
        ),
    )


def test_the_two_most_stable_resolutions_on_each_side_are_shown(monkeypatch):
    """Ten groups are chosen. Peaks of stability stand at all even numbers; that of 20 is below 0.8."""
    peaks = {2: 0.85, 4: 0.95, 6: 0.9, 8: 0.81, 10: 1.0}
    peaks |= {12: 0.82, 14: 0.9, 16: 0.85, 18: 0.95, 20: 0.79}
    with_stability(monkeypatch, peaks)
    found = by_silhouette(groups((12,) * 10)[0], np.random.RandomState(0))
    assert found.chosen == 10
    assert found.resolutions.tolist() == [4, 6, 10, 14, 18]


@pytest.mark.parametrize(("stability", "shown"), [(0.8, [3, 5]), (0.79, [3])])
def test_resolutions_are_shown_from_a_stability_of_four_fifths(stability, shown, monkeypatch):
    with_stability(monkeypatch, {3: 1.0, 5: stability})
    found = by_silhouette(groups((12,) * 3)[0], np.random.RandomState(0))
    assert found.resolutions.tolist() == shown


def test_the_table_has_the_numbers_of_every_resolution():
    found = by_silhouette(nested(0.02)[0], np.random.RandomState(0))
    for k, row in zip(found.resolutions, found.table, strict=True):
        at = found.candidates.tolist().index(k)
        names = ("score", "modularity", "silhouette", "stability", "eigengap")
        assert set(row) == {"n_clusters", *names, "sentence"}
        assert row["n_clusters"] == k
        assert [row[name] for name in names] == [getattr(found, name)[at] for name in names]


def test_the_evidence_as_a_dict_is_valid_json():
    found = by_silhouette(nested(0.02)[0], np.random.RandomState(0))
    said = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert said["resolutions"] == found.table
    assert said["range"] == list(found.range)
    assert [row["n_clusters"] for row in said["candidates"]] == found.candidates.tolist()
    unknown = [row["n_clusters"] for row in said["candidates"] if row["stability"] is None]
    assert unknown == found.candidates[np.isnan(found.stability)].tolist()


@pytest.mark.parametrize(
    ("stability", "words"),
    [
        (0.8, ": recovered when a fifth of the entities are left out"),
        (0.79, ": not reliably recovered when a fifth of the entities are left out"),
        (np.nan, ": stability not tested"),
    ],
)
def test_the_table_says_how_stable_parts_are(stability, words):
    (row,) = evidence(stability=(1.0, 0.7, stability, 0.6, 0.5)).table
    assert row["sentence"] == f"4 clusters (chosen){words}"


def test_evidence_without_resolutions_has_a_table_of_the_chosen_number():
    (row,) = evidence(resolutions=None, parts=None).table
    assert row["n_clusters"] == 4


def test_parts_are_those_of_the_entities_of_a_fit():
    views, target = planted_views(sizes=(40, 40, 40), columns=(5, 6))
    number = RMGL("auto", random_state=0).fit(views).number_
    assert number.parts.shape == (number.resolutions.size, 120)
    assert adjusted_rand_score(target, number.parts[number.resolutions.tolist().index(3)]) == 1.0


# Range and confidence


@pytest.mark.parametrize(
    ("modularity", "numbers"),
    [
        ((0.3, 0.5, 0.8, 0.5, 0.4), [4]),
        ((0.3, 0.5, 0.8, 0.61, 0.4), [4, 5]),  # three quarters of the best score
        ((0.3, 0.5, 0.8, 0.59, 0.4), [4]),
        ((0.61, 0.5, 0.8, 0.5, 0.7), [2, 4, 6]),
    ],
)
def test_the_range_has_all_numbers_with_three_quarters_of_the_best_score(modularity, numbers):
    found = evidence(modularity=modularity, silhouette=(1.0,) * 5)
    assert found.rivals == numbers
    assert found.range == (numbers[0], numbers[-1])
    assert found.as_dict()["range"] == [numbers[0], numbers[-1]]


@pytest.mark.parametrize(("eigengap", "numbers"), [(0.9, [4]), (0.89, [4, 5])])
def test_no_other_number_is_meant_where_the_graph_nearly_falls_into_components(eigengap, numbers):
    found = evidence(modularity=(0.3, 0.5, 0.8, 0.7, 0.4), silhouette=(1.0,) * 5)
    gaps = np.array([0.1, 0.95, eigengap, 0.95, 0.1])
    assert replace(found, eigengap=gaps).rivals == numbers


def test_the_chosen_number_is_always_in_its_range():
    """Known labels may need a number that is not about as good as the best one."""
    found = evidence(modularity=(0.8, 0.5, 0.3, 0.2, 0.1), chosen=2).at_least(5)
    assert found.chosen == 5
    assert found.range == (2, 5)
    assert evidence().at_least(9).range == (4, 9)


@pytest.mark.parametrize(
    ("changes", "confidence"),
    [
        ({}, "high"),
        ({"stability": (1.0, 0.7, 0.8, 0.6, 0.5)}, "high"),
        ({"stability": (1.0, 0.7, 0.79, 0.6, 0.5)}, "low"),  # other parts on some of the nodes
        ({"stability": (1.0, 0.7, np.nan, 0.6, 0.5)}, "low"),  # it is not known
        ({"silhouette": (0.7, 0.7, 0.8, 0.6, 0.5)}, "high"),
        ({"silhouette": (0.7, 0.7, 0.79, 0.6, 0.5)}, "low"),  # they are not apart
        ({"n_nodes": 99}, "low"),
        ({"modularity": (0.65, 0.5, 0.8, 0.6, 0.4)}, "low"),  # two clusters do about as well
        ({"modularity": (0.3, 0.8, 0.8, 0.99, 0.4)}, "high"),  # one more or less is as good
        ({"resolutions": None, "parts": None}, "high"),  # entities are not known
    ],
)
def test_confidence_has_its_conditions(changes, confidence):
    assert evidence(**changes).confidence == confidence
    assert evidence(**changes).reason.endswith(f"Confidence: {confidence}")


def test_the_reason_says_the_range():
    reason = evidence().reason
    assert "chosen from the candidates 2 to 6 (modularity" in reason
    assert "No other number fits nearly as well" in reason
    many = evidence(modularity=(0.8,) * 5, silhouette=(0.9,) * 5)
    assert ". 2 to 6 clusters fit about equally well" in many.reason


def test_numbers_a_fifth_away_are_no_others():
    candidates = np.arange(2, 31)
    score = np.where(np.abs(candidates - 20) <= 4, 0.8, 0.1)
    found = NumberOfClusters(20, candidates, score, np.zeros(29), np.ones(29))
    assert found.confidence == "high"
    assert replace(found, modularity=np.where(candidates == 15, 0.8, score)).confidence == "low"


@pytest.mark.parametrize("stretch", [1.0, 5.0])
@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_one_cloud_has_no_number_of_high_confidence(dimension, stretch, rng):
    X = rng.normal(size=(400, dimension))
    X[:, 0] *= stretch
    assert RMGL("auto", random_state=0).fit({"a": X}).number_.confidence == "low"


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
        {"silhouette": np.ones(3)},
    ],
)
def test_unsound_resolutions_are_refused(fields):
    evidence().check(100)
    with pytest.raises(Unsound):
        evidence(**fields).check(100)


@pytest.mark.parametrize("n", [6, 10, 16])
def test_a_graph_without_any_good_cut(n):
    """No number has a positive score: one is chosen all the same."""
    model = RMGL("auto", random_state=0).fit([np.eye(n)])
    assert model.number_.chosen in model.number_.rivals
    assert model.number_.confidence == "low"
