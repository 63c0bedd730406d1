"""The verdict on an answer, and the second answers that it rests on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.embedding.eigenvectors import Embedding, smallest_eigenvectors
from rmgl.layer import Origin, given_layer
from rmgl.results.clusters import MOST_ENTITIES, Refits, second_answers, stability_of_clusters
from rmgl.results.trust import Evidence, entropy, judge
from tests.conftest import planted_views

SAME = Refits(1.0, {"a": 1.0, "b": 1.0}, 1.0)
GOOD = Evidence(
    300, np.array([100, 100, 100]), 0.9, {"a": 0.5, "b": 0.5}, {"a": 0.01, "b": 0.01}, 2.0, SAME
)


def test_nothing_wrong_is_good():
    trust = judge(GOOD)
    assert (trust.word, trust.reasons) == (
        "good",
        ["the clusters stay when entities, or the layers of views, are left out"],
    )
    unexamined = judge(replace(GOOD, refits=None))
    assert unexamined.word == "fair"
    assert "not examined" in unexamined.reasons[0]
    many = judge(replace(GOOD, refits=None, n_entities=100, sizes=np.repeat([2, 1], [49, 2])))
    assert str(many) == (
        "poor: there are too few entities for each cluster to leave some out and look "
        "whether the clusters stay"
    )
    few = judge(replace(GOOD, refits=None, n_entities=3))
    assert few.word == "poor"
    assert "too few entities" in few.reasons[0]


@pytest.mark.parametrize(
    ("change", "word", "reason"),
    [
        (
            {"within": 0.999, "sizes": np.array([290, 5, 5])},
            "poor",
            "nearly all entities are in one cluster",
        ),
        ({"weights": {"a": 0.81, "b": 0.19}}, "poor", "view 'a' has 81% of the weight"),
        (
            {"refits": Refits(0.59, {}, 1.0)},
            "poor",
            "a fifth of the entities is left out (agreement 0.59)",
        ),
        (
            {"refits": Refits(0.6, {}, 1.0)},
            "fair",
            "a fifth of the entities is left out (agreement 0.60)",
        ),
        (
            {"refits": Refits(0.89, {}, 1.0)},
            "fair",
            "a fifth of the entities is left out (agreement 0.89)",
        ),
        ({"refits": Refits(1.0, {}, 0.39)}, "poor", "alone give other clusters (agreement 0.39)"),
        ({"refits": Refits(1.0, {}, 0.4)}, "fair", "alone give other clusters (agreement 0.40)"),
        ({"refits": Refits(1.0, {}, 0.64)}, "fair", "alone give other clusters (agreement 0.64)"),
        (
            {"refits": Refits(1.0, {"b": 0.69}, 1.0)},
            "fair",
            "without the layer of view 'b' the clusters are different",
        ),
        ({"n_entities": 99}, "fair", "only 99 entities"),
        (
            {"components": {"a": 0.06}},
            "fair",
            "layer 'a' falls into many components (6% of its entities)",
        ),
        ({"largest_degree": 21.0}, "fair", "21 times the mean edge weight"),
    ],
)
def test_each_sign_has_its_word_and_reason(change, word, reason):
    trust = judge(replace(GOOD, **change))
    assert trust.word == word
    assert len(trust.reasons) == 1
    assert reason in trust.reasons[0]
    assert str(trust).startswith(f"{word}: ")


@pytest.mark.parametrize(
    "change",
    [
        {"within": 0.99, "sizes": np.array([290, 5, 5])},
        {"within": 0.999},
        {"weights": {"a": 1.0}},
        {"weights": {"a": 0.8, "b": 0.2}},
        {"refits": Refits(0.9, {"a": 0.7}, 0.65)},
        {"refits": Refits(1.0, {}, None)},
        {"n_entities": 100},
        {"components": {"a": 0.05}},
        {"largest_degree": 20.0},
    ],
)
def test_what_is_no_sign(change):
    assert judge(replace(GOOD, **change)).word == "good"


@pytest.mark.parametrize(("small", "word"), [(53, "poor"), (54, "good")])
def test_one_cluster_has_nearly_all_entities_up_to_three_tenths_of_the_entropy(small, word):
    """Of 1,000 entities in two clusters 53 or 54 are in the smaller one: 0.299 and 0.303 of the
    entropy of equal sizes.
    """
    sizes = np.array([1000 - small, small])
    shares = sizes / 1000
    assert (-(shares @ np.log2(shares)) < 0.3) == (word == "poor")
    assert judge(replace(GOOD, n_entities=1000, sizes=sizes, within=0.995)).word == word


def test_the_reasons_of_the_worst_word_come_first():
    trust = judge(replace(GOOD, n_entities=50, weights={"a": 0.1, "b": 0.9}))
    assert trust.word == "poor"
    assert "'b'" in trust.reasons[0]
    assert "50 entities" in trust.reasons[1]


def test_entropy_is_a_share_of_that_of_equal_sizes():
    assert entropy(np.array([7, 7, 7])) == pytest.approx(1.0)
    assert entropy(np.array([9, 0])) == 0.0
    shares = np.array([0.5, 0.25, 0.25])
    assert entropy(np.array([2, 1, 1])) == pytest.approx(
        -(shares * np.log(shares)).sum() / np.log(3)
    )


def test_clear_clusters_have_the_same_second_answers():
    views, _ = planted_views()
    report = RMGL(3, random_state=0).fit(views).report_
    assert report.refits == Refits(1.0, dict.fromkeys(views, 1.0), 1.0)
    assert report.trust.word == "fair"  # 90 entities are few
    assert "only 90 entities" in str(report)
    assert "Second answers" in str(report)


def test_noise_has_other_second_answers():
    """Over ten draws of noise the mean agreement is about 0.6 with a standard error of 0.04: the
    bound is three of them away.
    """
    reports = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        reports.append(
            RMGL(5, random_state=0).fit({name: rng.normal(size=(200, 6)) for name in "ab"}).report_
        )
    assert np.mean([report.refits.resampled for report in reports]) < 0.75
    assert "good" not in {report.trust.word for report in reports}


def nodes_seen(monkeypatch):
    """The numbers of nodes, and the edge weight, of every graph that is embedded for second answers
    from now on.
    """
    seen = []

    def embed(graph, *args, **options):
        seen.append((graph.shape[0], float(graph.sum())))
        return smallest_eigenvectors(graph, *args, **options)

    monkeypatch.setattr("rmgl.embedding.resampling.smallest_eigenvectors", embed)
    return seen


@pytest.mark.parametrize("n_fragments", [0, 10])
def test_a_fifth_of_the_entities_is_left_out_of_every_draw(n_fragments, monkeypatch):
    """Of all 90 entities, and of the 80 that are no fragments: 72 and 64 take part, others in every
    draw.
    """
    model = RMGL(3, random_state=0).fit(planted_views()[0])
    fragments = None if n_fragments == 0 else np.arange(90) < n_fragments
    embedding = Embedding(model.embedding_, model.eigenvalues_, 0.0, 1, fragments)
    seen = nodes_seen(monkeypatch)
    second_answers(model.layers_, model.beta_, model.labels_, embedding, np.random.RandomState(0))
    n = 90 - n_fragments
    assert sorted({size for size, _ in seen}) == [0.8 * n, n]
    drawn = [weight for size, weight in seen if size < n]
    assert len(set(drawn)) == len(drawn) > 1
    assert len(seen) - len(drawn) == 3  # without each of the two views, and the plain neighbors


def test_clusters_are_looked_for_again_on_four_fifths_of_the_entities(monkeypatch):
    model = RMGL(3, random_state=0).fit(planted_views()[0])
    seen = nodes_seen(monkeypatch)
    stability_of_clusters(
        model.layers_, model.beta_, model.labels_, model.embedding_, np.arange(10)
    )
    assert {size for size, _ in seen} == {64}  # of the 80 that are not left out
    assert len(set(seen)) == len(seen) > 1


@pytest.mark.parametrize(("n_entities", "computed"), [(50_000, True), (50_001, False)])
def test_second_answers_are_computed_up_to_fifty_thousand_entities(
    n_entities, computed, monkeypatch
):
    """Of a ring, with answers that cost nothing."""
    few = Embedding(np.zeros((n_entities, 2)), np.zeros(2), 0.0, 1)
    monkeypatch.setattr(
        "rmgl.embedding.resampling.smallest_eigenvectors", lambda graph, *args, **options: few
    )
    monkeypatch.setattr(
        "rmgl.embedding.resampling.cluster_rows",
        lambda rows, *args, **options: np.zeros(round(0.8 * n_entities), dtype=int),
    )
    ring = sparse.diags_array(
        [1.0, 1.0, 1.0, 1.0],
        offsets=(-1, 1, 1 - n_entities, n_entities - 1),
        shape=(n_entities, n_entities),
    )
    layer = given_layer(Origin("a"), sparse.csr_array(ring))
    found = second_answers(
        [layer], np.ones(1), np.zeros(n_entities, dtype=int), few, np.random.RandomState(0)
    )
    assert (found is not None) == computed


def test_no_second_answers_where_they_would_say_nothing():
    vectors = np.zeros((10, 6))
    few = Embedding(vectors, np.zeros(6), 0.0, 1)
    assert (
        second_answers([], np.zeros(0), np.zeros(10, dtype=int), few, np.random.RandomState(0))
        is None
    )
    vectors = np.zeros((MOST_ENTITIES + 1, 2))
    many = Embedding(vectors, np.zeros(2), 0.0, 1)
    assert (
        second_answers(
            [], np.zeros(0), np.zeros(MOST_ENTITIES + 1, dtype=int), many, np.random.RandomState(0)
        )
        is None
    )


@pytest.mark.parametrize(("n_clusters", "n_entities"), [(100, 100), (199, 200)])
def test_clusters_of_single_entities_are_not_trusted(n_clusters, n_entities, rng):
    trust = (
        RMGL(n_clusters, random_state=0)
        .fit([rng.normal(size=(n_entities, 4)), rng.normal(size=(n_entities, 5))])
        .report_.trust
    )
    assert trust.word == "poor"
    assert trust.reasons[0].startswith("there are too few entities for each cluster")


def test_a_view_that_alone_counts_cannot_be_left_out():
    views, _ = planted_views()
    model = RMGL(3, alpha=0.5, beta=[0.5, *[0.0] * (len(views) - 1)], random_state=0).fit(views)
    assert next(iter(views)) not in model.report_.refits.without


def test_trust_is_part_of_saved_models_and_plain_data(tmp_path):
    model = RMGL(3, random_state=0).fit(planted_views()[0])
    model.save(tmp_path / "m.rmgl")
    assert RMGL.load(tmp_path / "m.rmgl").report_ == model.report_
    assert model.report_.as_dict()["trust"]["word"] == model.report_.trust.word
