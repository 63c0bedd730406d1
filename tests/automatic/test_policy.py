"""The numbers and rules of the automatic choice can be exchanged."""

import dataclasses
import functools

import numpy as np
import pytest
from sklearn.base import clone

from rmgl import RMGL, Policy
from rmgl.automatic.consensus import CONSENSUS_RULES
from rmgl.automatic.number_of_clusters import NUMBER_RULES, NumberOfClusters
from rmgl.automatic.weighing import WEIGHING_RULES, mean_roughness, roughness
from rmgl.rules import find_rule, rule_name
from rmgl.views.halves import LEAST, parts_by
from rmgl.views.views import Views
from tests.conftest import assert_same, planted_views


@pytest.fixture(scope="module")
def noisy_views():
    """Two good views, and one of noise."""
    views, _ = planted_views(sizes=(15, 15, 15), columns=(3, 4))
    return {**views, "noise": np.random.default_rng(5).normal(size=(45, 3))}


@pytest.fixture(scope="module")
def default(noisy_views):
    return fit(noisy_views)


def fit(views, policy=None, n_clusters=3, **options):
    return RMGL(n_clusters, policy=policy, random_state=0, **options).fit(views)


# Rules for single calls, which tests count


def seven_two_one(roughness, shares, with_consensus):
    return np.array([0.7, 0.2, 0.1])


def where_there_are_three(views):
    return len(views.names) == 3


def always_two(graph, random_state):
    numbers = np.array([2, 3])
    return NumberOfClusters(
        2, numbers, np.array([0.5, 0.1]), np.array([0.1, 0.1]), np.array([1.0, np.nan])
    )


# What a policy says


def test_the_default_is_that_of_a_policy_without_arguments(noisy_views, default):
    assert_same(fit(noisy_views, Policy()), default)


def test_a_policy_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Policy().coupling = 1.0


def test_equal_weights(noisy_views, default):
    model = fit(noisy_views, Policy(weighing="equal"))
    np.testing.assert_allclose(model.view_weights_, np.full(3, 1 / 3), rtol=1e-12)
    np.testing.assert_allclose(model.beta_[:3], np.full(3, model.beta_[3] / 3), rtol=1e-12)
    assert model.view_roughness_ is not None
    assert default.view_weights_[2] < 0.1


def parts(model):
    """What the views count for by their reliability."""
    found = np.array([view.reliability for view in model.report_.views])
    return parts_by(found, found.max())


def test_agreement_is_the_power_of_roughness_times_the_part_by_reliability(default):
    assert parts(default).tolist() == [1.0, 1.0, LEAST]
    powers = parts(default) * (default.view_roughness_ + default.report_.uncertainty) ** -2.0
    np.testing.assert_allclose(default.view_weights_, powers / powers.sum(), rtol=1e-12)


def test_agreement_without_a_consensus_is_a_smaller_power(noisy_views):
    model = fit(noisy_views, Policy(consensus="never"))
    powers = parts(model) * (model.view_roughness_ + model.report_.uncertainty) ** -1.5
    np.testing.assert_allclose(model.view_weights_, powers / powers.sum(), rtol=1e-12)


def test_no_consensus(noisy_views, default):
    model = fit(noisy_views, Policy(consensus="never"))
    assert [layer.role for layer in model.layers_] == ["view"] * 3 + ["neighbors"]
    assert [layer.role for layer in default.layers_] == ["view"] * 3 + ["consensus", "neighbors"]
    assert not model.report_.consensus
    assert model.alpha_.shape == model.beta_.shape == (4,)


def test_no_guidance(noisy_views, default):
    """Then no rows guide the layers, and each is that of its view alone but for the coupling."""
    steps = []
    model = RMGL(3, policy=Policy(guidance=()), random_state=0).fit(
        noisy_views, callback=lambda row: steps.append(row["step"])
    )
    assert model.guide_ is None
    assert "guidance" not in steps
    assert default.guide_ is not None


def test_guidance_has_one_pass_for_every_number(noisy_views):
    rows = []
    model = RMGL(3, policy=Policy(guidance=(0.2, 0.5)), random_state=0).fit(
        noisy_views, callback=rows.append
    )
    assert [row["guidance"] for row in rows if row["step"] == "guidance"] == [0.2, 0.5]
    # rows of length one, times sqrt(0.5 / 2)
    np.testing.assert_allclose(np.square(model.guide_).sum(axis=1), 0.25, rtol=1e-9)


def test_beta_is_proportional_to_the_coupling(noisy_views):
    one, ten = (
        fit(noisy_views, Policy(guidance=(), coupling=coupling)) for coupling in (0.01, 0.1)
    )
    np.testing.assert_allclose(ten.beta_, 10 * one.beta_, rtol=1e-12)
    of_learned = one.beta_[:-1]
    assert of_learned.max() == pytest.approx(0.01 * 45 / (2 * 3), rel=1e-12)


def test_no_local_scaling(noisy_views, default):
    assert fit(noisy_views, Policy(local_scaling=False)).local_scaling_ == [None] * 5
    # the neighbors are not learned from costs
    assert [scaling is None for scaling in default.local_scaling_] == [False] * 4 + [True]


def test_floors_are_proportional_to_their_share(noisy_views):
    half, whole = (
        fit(noisy_views, Policy(floor_share=share)).local_scaling_[0] for share in (0.4, 0.8)
    )
    np.testing.assert_array_equal(half.scales, whole.scales)
    np.testing.assert_allclose(2 * half.floors, whole.floors, rtol=1e-12)


def test_k_means_sees_rows_of_length_one(noisy_views, monkeypatch):
    from rmgl.embedding import labels as module

    seen, cluster_rows = [], module.cluster_rows

    def watch(rows, *given, **options):
        seen.append(rows)
        return cluster_rows(rows, *given, **options)

    monkeypatch.setattr(module, "cluster_rows", watch)
    # where no fragments are looked for, labels alone come from k-means
    fit(noisy_views, Policy(small_cluster=0.0))
    np.testing.assert_allclose(np.linalg.norm(seen[0], axis=1), 1.0, rtol=1e-9)
    model = fit(noisy_views, alpha=0.5, beta=0.1)
    # in a canonical order
    np.testing.assert_array_equal(np.sort(seen[1], axis=0), np.sort(model.embedding_, axis=0))


# Rules of one's own


def test_a_weighing_rule_of_ones_own(noisy_views):
    calls = []

    def rule(roughness, shares, with_consensus):
        calls.append((np.array(roughness), with_consensus))
        return seven_two_one(roughness, shares, with_consensus)

    model = fit(noisy_views, Policy(weighing=rule))
    of_fit = list(calls)  # the report weighs the views of data without clusters as well
    assert of_fit
    expected = model.view_roughness_ + model.report_.uncertainty
    for measured, with_consensus in of_fit:
        assert with_consensus is True
        np.testing.assert_array_equal(measured, expected)
    np.testing.assert_array_equal(model.view_weights_, [0.7, 0.2, 0.1])
    doubt = 1 - 45 / 100
    np.testing.assert_allclose(
        model.beta_ / model.beta_[3], [0.7, 0.2, 0.1, 1.0, doubt * 2.0], rtol=1e-12
    )


@pytest.mark.parametrize("answer", [True, False])
def test_a_consensus_rule_of_ones_own(answer, noisy_views):
    calls = []

    def rule(given):
        calls.append(given)
        return answer

    model = fit(noisy_views, Policy(consensus=rule))
    (given,) = calls
    assert isinstance(given, Views)
    assert given.names == tuple(noisy_views)
    assert model.report_.consensus is answer
    assert [layer.role for layer in model.layers_] == ["view"] * 3 + ["consensus"] * answer + [
        "neighbors"
    ]


def test_a_single_view_needs_no_consensus_rule(noisy_views):
    def rule(given):
        raise AssertionError("not asked")

    assert [
        layer.role for layer in fit({"a": noisy_views["view 0"]}, Policy(consensus=rule)).layers_
    ] == ["view", "neighbors"]


def test_a_number_rule_of_ones_own(noisy_views):
    calls = []

    def rule(graph, random_state):
        calls.append((graph.shape, isinstance(random_state, np.random.RandomState)))
        return always_two(graph, random_state)

    model = fit(noisy_views, Policy(number=rule), n_clusters="auto")
    assert calls == [((45, 45), True)]
    assert model.n_clusters_ == model.number_.chosen == 2
    assert set(model.labels_) == {0, 1}
    fit(noisy_views, Policy(number=rule), n_clusters=3)
    assert len(calls) == 1  # the number is given


@pytest.mark.parametrize(
    ("field", "known"),
    [("consensus", CONSENSUS_RULES), ("weighing", WEIGHING_RULES), ("number", NUMBER_RULES)],
)
def test_built_in_rules_can_be_given_as_functions(field, known, noisy_views):
    for name, rule in known.items():
        assert_same(
            *(
                fit(
                    noisy_views,
                    Policy(**{field: given}),
                    n_clusters="auto" if field == "number" else 3,
                )
                for given in (name, rule)
            )
        )


@pytest.mark.parametrize(
    ("field", "known"),
    [
        ("consensus", "'overlap', 'never'"),
        ("weighing", "'agreement', 'equal'"),
        ("number", "'silhouette'"),
    ],
)
def test_an_unknown_rule_is_named(field, known, noisy_views):
    with pytest.raises(
        ValueError,
        match=rf"policy: {field}='best' is not recognized: use one of {known}, or a function",
    ):
        fit(noisy_views, Policy(**{field: "best"}), n_clusters="auto")


@pytest.mark.parametrize("value", ["equal", {"weighing": "equal"}, Policy])
def test_what_is_no_policy_is_refused(value, noisy_views):
    with pytest.raises(ValueError, match="The 'policy' parameter of RMGL must be None or a Policy"):
        fit(noisy_views, value)


def test_rules_are_found_by_name_or_are_themselves():
    assert find_rule("weighing", "equal", WEIGHING_RULES) is WEIGHING_RULES["equal"]
    assert find_rule("weighing", seven_two_one, WEIGHING_RULES) is seven_two_one
    assert rule_name("equal", WEIGHING_RULES) == "equal"
    assert rule_name(seven_two_one, WEIGHING_RULES) == f"{__name__}.seven_two_one"


# Parameters and files


def test_clones_and_parameters_keep_the_policy():
    policy = Policy(weighing=seven_two_one, guidance=(0.5,))
    model = RMGL(3, policy=policy)
    assert model.get_params()["policy"] is policy
    assert clone(model).policy == policy
    assert clone(model).set_params(policy=None).policy is None
    assert "policy" not in repr(RMGL(3))


@pytest.mark.parametrize(
    "policy", [None, Policy(), Policy(weighing="equal", guidance=(), coupling=0.5)]
)
def test_a_saved_model_has_its_policy(policy, noisy_views, tmp_path):
    model = fit(noisy_views, policy)
    model.save(tmp_path / "m.rmgl")
    loaded = RMGL.load(tmp_path / "m.rmgl")
    assert loaded.policy == policy
    assert_same(loaded, model)
    assert_same(clone(loaded).fit(noisy_views), model)


def test_a_saved_model_has_the_names_of_functions(noisy_views, tmp_path):
    policy = Policy(weighing=seven_two_one, consensus=where_there_are_three, number=always_two)
    model = fit(noisy_views, policy, n_clusters="auto")
    model.save(tmp_path / "m.rmgl")
    assert model.policy is policy
    loaded = RMGL.load(tmp_path / "m.rmgl")
    names = {
        "weighing": "seven_two_one",
        "consensus": "where_there_are_three",
        "number": "always_two",
    }
    assert loaded.policy == Policy(**{field: f"{__name__}.{name}" for field, name in names.items()})
    np.testing.assert_array_equal(
        loaded.predict_proba(noisy_views), model.predict_proba(noisy_views)
    )
    with pytest.raises(
        ValueError, match=r"policy: consensus='.*where_there_are_three' is not recognized"
    ):
        clone(loaded).fit(noisy_views)
    assert_same(clone(loaded).set_params(policy=policy).fit(noisy_views), model)


def test_a_checkpoint_belongs_to_its_policy(noisy_views, tmp_path):
    steps = tmp_path / "steps"
    RMGL(3, policy=Policy(coupling=0.02), random_state=0).fit(noisy_views, checkpoint=steps)
    with pytest.raises(ValueError, match="has a run with different data, parameters or versions"):
        RMGL(3, policy=Policy(coupling=0.03), random_state=0).fit(noisy_views, checkpoint=steps)


def test_numbers_for_alpha_and_beta_leave_the_policy_aside(noisy_views):
    given = {"alpha": 0.5, "beta": 1.0}
    assert_same(
        fit(noisy_views, Policy(weighing="equal", consensus="never"), **given),
        fit(noisy_views, **given),
    )


# Roughness


def test_roughness_is_the_double_sum(rng):
    from scipy import sparse

    W = rng.random((9, 9)) * (rng.random((9, 9)) < 0.5)
    W = np.triu(W, 1) + np.triu(W, 1).T
    U = rng.normal(size=(9, 2))
    D = ((U[:, None] - U[None]) ** 2).sum(axis=2)
    assert roughness(U, sparse.csr_array(W)) == pytest.approx(
        (W * D).sum() / W.sum() / D.mean(), rel=1e-12
    )
    assert roughness(np.ones((9, 2)), sparse.csr_array(W)) == 0.0


def test_the_mean_roughness_is_geometric():
    measured = np.array([[0.1, 0.4], [0.9, 0.4]])
    least = 0.005
    wanted = [np.sqrt((0.1 + least) * (0.9 + least)), 0.4 + least]
    np.testing.assert_allclose(mean_roughness(measured, least), wanted, rtol=1e-12)


@pytest.mark.parametrize("rule", WEIGHING_RULES)
@pytest.mark.parametrize("with_consensus", [True, False])
def test_every_weighing_rule_gives_weights_that_sum_to_one(rule, with_consensus):
    for measured in ([0.1], [0.1, 0.1, 0.1], [0.005, 1.2, 0.3]):
        weights = WEIGHING_RULES[rule](measured, np.ones(len(measured)), with_consensus)
        assert weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert (weights > 0).all()
        assert (np.diff(weights[np.argsort(measured)]) <= 1e-15).all()  # the rougher, the less


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"guidance": (-1.0,)}, r"policy: guidance=\(-1.0,\) must be numbers from 0 to 100"),
        ({"guidance": [0.1]}, r"policy: guidance=\[0.1\] must be numbers from 0 to 100"),
        ({"guidance": 0.3}, r"policy: guidance=0.3 must be a tuple of numbers"),
        ({"draws": 4.0}, r"policy: draws=4.0 must be a whole number from 1 to 1000"),
        ({"resamples": 0}, r"policy: resamples=0 must be a whole number from 1 to 1000"),
        (
            {"fair_evidence": 0.9},
            r"policy: fair_evidence=0.9 must not be larger than good_evidence=0.8",
        ),
        ({"coupling": float("nan")}, r"policy: coupling=nan must be a number from 1e-06 to 100"),
        ({"floor_share": 2.0}, r"policy: floor_share=2.0 must be a number from 0 to 1"),
        ({"neighbor_share": -0.1}, r"policy: neighbor_share=-0.1 must be a number from 0 to 100"),
        ({"small_component": 1.1}, r"policy: small_component=1.1 must be a number from 0 to 1"),
        (
            {"small_cluster": "a half"},
            r"policy: small_cluster='a half' must be a number from 0 to 1",
        ),
        ({"complementary": 1.1}, r"policy: complementary=1.1 must be a number from 0 to 1"),
        ({"complete_share": True}, r"policy: complete_share=True must be a number from 0 to 1"),
        (
            {"consensus_share": 101.0},
            r"policy: consensus_share=101.0 must be a number from 0 to 100",
        ),
        (
            {"disagreement": (0.2, 1.1)},
            r"policy: disagreement=\(0.2, 1.1\) must be numbers from 0 to 1",
        ),
        (
            {"disagreement": (0.3, 0.2)},
            r"policy: disagreement=\(0.3, 0.2\) must be two numbers, the smaller one first",
        ),
        (
            {"disagreement": (0.2, 0.2)},
            r"policy: disagreement=\(0.2, 0.2\) must be two numbers, the smaller one first",
        ),
        (
            {"disagreement": 0.2},
            r"policy: disagreement=0.2 must be two numbers, the smaller one first",
        ),
        (
            {"disagreement": (0.2,)},
            r"policy: disagreement=\(0.2,\) must be two numbers, the smaller one first",
        ),
    ],
)
def test_numbers_out_of_range_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Policy(**fields)


@pytest.mark.parametrize(
    "weights",
    [
        [1.0],
        [0.5, 0.25, 0.25],
        [2.0, -1.0],
        [np.nan, 1.0],
        [0.0, 0.0],
        [1.0, 1.0],
        [0.5, 0.5 + 1e-6],
    ],
)
def test_weights_of_a_rule_are_checked(weights):
    with pytest.raises(
        ValueError,
        match=r"policy: the rule for weighing returned .*must return 2 numbers >= 0 that sum to one",
    ):
        Policy(weighing=lambda roughness, shares, with_consensus: weights).weigh(
            [0.1, 0.2], [1.0, 1.0], True
        )


def test_weights_of_a_rule_sum_to_one_up_to_rounding():
    weights = [0.5, 0.5 + 1e-12]
    assert (
        Policy(weighing=lambda roughness, shares, with_consensus: weights)
        .weigh([0.1, 0.2], [1.0, 1.0], True)
        .tolist()
        == weights
    )


def test_a_rule_for_the_number_returns_evidence():
    with pytest.raises(
        ValueError, match=r"returned an object of type int, but must return a NumberOfClusters"
    ):
        Policy(number=lambda graph, random_state: 3).choose_number(None, None)


def test_a_rule_without_a_name_of_its_own_is_named_by_its_type():
    assert Policy(weighing=functools.partial(max)).named().weighing == "functools.partial"
