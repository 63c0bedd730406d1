"""The verdict on an answer, and the second answers that it rests on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL, Policy
from rmgl.embedding.eigenvectors import Embedding, smallest_eigenvectors
from rmgl.layer import Origin, given_layer
from rmgl.results.clusters import MOST_ENTITIES, Refits, second_answers, stability_of_clusters
from rmgl.results.trust import Evidence, judge, worth
from tests.conftest import planted_views

SAME = Refits(1.0, {"a": 1.0, "b": 1.0}, 1.0, 0.9)
GOOD = Evidence(300, np.array([100, 100, 100]), {"a": 0.5, "b": 0.5}, SAME)


def with_strength(strength, stability=1.0):
    """Evidence of a strength: the stability times the square root of the separation."""
    separation = (strength / stability) ** 2
    return replace(GOOD, refits=Refits(stability, {}, 1.0, separation))


@pytest.mark.parametrize(
    ("strength", "word"), [(0.81, "good"), (0.79, "fair"), (0.61, "fair"), (0.59, "poor")]
)
@pytest.mark.parametrize("stability", [1.0, 0.9])
def test_the_word_follows_from_the_strength_of_the_evidence(strength, word, stability):
    evidence = with_strength(strength, stability)
    assert evidence.strength == pytest.approx(strength)
    trust = judge(evidence)
    assert trust.word == word
    (finding,) = trust.findings
    assert finding.numbers["stability"] == stability
    assert finding.numbers["separation"] == pytest.approx((strength / stability) ** 2)
    assert str(trust).startswith(f"{word}. Refits that leave out a fifth of the")


def test_the_policy_says_what_is_good_and_fair():
    policy = Policy(good_evidence=0.5, fair_evidence=0.2)
    words = [judge(with_strength(at), policy).word for at in (0.51, 0.49, 0.21, 0.19)]
    assert words == ["good", "fair", "fair", "poor"]


def test_an_unstable_answer_that_agrees_less_than_chance_has_no_strength():
    assert replace(GOOD, refits=Refits(-0.1, {}, 1.0, 0.9)).strength == 0.0


def test_stronger_evidence_was_worth_more():
    ranges = [worth(strength) for strength in np.linspace(0, 1, 21)]
    assert all(lower <= upper for lower, upper in ranges)
    assert [lower for lower, _ in ranges] == sorted(lower for lower, _ in ranges)
    said = judge(with_strength(0.97)).reasons[0]
    lower, upper = worth(0.97)
    assert said.endswith(
        f"Rand index between {lower:.2f} and {upper:.2f} (middle half of the results)"
    )


def test_what_was_not_examined_is_not_good():
    unexamined = judge(replace(GOOD, refits=None))
    assert unexamined.word == "fair"
    assert "not tested" in unexamined.reasons[0]
    many = judge(replace(GOOD, refits=None, n_entities=100, sizes=np.repeat([2, 1], [49, 2])))
    assert str(many) == (
        "poor. There are too few entities per cluster to test whether the clusters persist when "
        "some entities are left out."
    )
    few = judge(replace(GOOD, refits=None, n_entities=3))
    assert few.word == "poor"
    assert "too few entities" in few.reasons[0]
    one = judge(replace(GOOD, refits=None, sizes=np.array([300])))
    assert str(one) == "poor. There is only one cluster, so there is nothing to compare."


@pytest.mark.parametrize(("stability", "word"), [(0.81, "fair"), (0.79, "poor")])
def test_stable_clusters_that_are_compared_with_nothing_are_fair(stability, word):
    trust = judge(replace(GOOD, refits=Refits(stability, {}, 1.0, None)))
    assert trust.word == word
    assert "A comparison with data without clusters was not possible" in trust.reasons[0]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"weights": {"a": 0.81, "b": 0.19}}, "view 'a' has 81% of the weight"),
        (
            {"refits": replace(SAME, neighbors_only=0.69)},
            "alone give different clusters (agreement",
        ),
        ({"refits": replace(SAME, without={"b": 0.69})}, "without the 'b' layer, the clusters are"),
        ({"n_entities": 99}, "only 99 entities"),
    ],
)
def test_what_else_may_be_wrong_is_noted_and_does_not_change_the_word(change, note):
    trust = judge(replace(GOOD, **change))
    assert trust.word == "good"
    assert len(trust.reasons) == 2
    assert note in trust.reasons[1]
    assert trust.findings[1].severity == "advice"


@pytest.mark.parametrize(
    "change",
    [
        {"weights": {"a": 1.0}},
        {"weights": {"a": 0.8, "b": 0.2}},
        {"refits": Refits(1.0, {"a": 0.7}, 0.7, 0.9)},
        {"refits": Refits(1.0, {}, None, 0.9)},
        {"n_entities": 100},
    ],
)
def test_what_is_not_noted(change):
    assert len(judge(replace(GOOD, **change)).findings) == 1


def test_clear_clusters_have_the_same_second_answers():
    views, _ = planted_views()
    report = RMGL(3, random_state=0).fit(views).report_
    assert report.refits == Refits(1.0, dict.fromkeys(views, 1.0), 1.0, report.refits.separation)
    assert report.refits.separation > 0.64
    assert report.trust.word == "good"
    assert "only 90 entities" in str(report)
    assert "quick refits" in str(report)


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
    assert {report.trust.word for report in reports} == {"poor"}
    assert np.mean([report.refits.separation for report in reports]) < 0.15


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
    stability_of_clusters(model.layers_, model.beta_, model.labels_, 3, np.arange(10))
    assert {size for size, _ in seen} == {64}  # of the 80 that are not left out
    assert len(set(seen)) == len(seen) > 1


@pytest.mark.parametrize(("n_entities", "computed"), [(50_000, True), (50_001, False)])
def test_second_answers_are_computed_up_to_fifty_thousand_entities(
    n_entities, computed, monkeypatch
):
    """Of a ring, with answers that cost nothing."""
    few = Embedding(np.zeros((n_entities, 2)), np.zeros(2), 0.0, 1)
    monkeypatch.setattr(
        "rmgl.embedding.resampling.smallest_eigenvectors",
        lambda graph, *args, **options: Embedding(
            np.zeros((graph.shape[0], 2)), np.zeros(2), 0.0, 1
        ),
    )
    monkeypatch.setattr(
        "rmgl.embedding.resampling.cluster_rows",
        lambda rows, *args, **options: np.zeros(len(rows), dtype=int),
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
    assert trust.reasons[0].startswith("there are too few entities per cluster")


def test_a_view_that_alone_counts_cannot_be_left_out():
    views, _ = planted_views()
    model = RMGL(3, alpha=0.5, beta=[0.5, *[0.0] * (len(views) - 1)], random_state=0).fit(views)
    assert next(iter(views)) not in model.report_.refits.without


def test_trust_is_part_of_saved_models_and_plain_data(tmp_path):
    model = RMGL(3, random_state=0).fit(planted_views()[0])
    model.save(tmp_path / "m.rmgl")
    assert RMGL.load(tmp_path / "m.rmgl").report_ == model.report_
    assert model.report_.as_dict()["trust"]["word"] == model.report_.trust.word
