"""Few entities: what cannot be decided counts by half measures, and nothing jumps at 100."""

import numpy as np
import pytest

from rmgl import RMGL, Network, Policy
from rmgl.automatic.layers import Task
from rmgl.automatic.small import doubt_of, undecided
from rmgl.automatic.spaces import Spaces
from rmgl.views.halves import LEAST
from rmgl.views.views import Views


def blobs(rng, n, width=6):
    """Rows of three clusters that all columns show."""
    return 4 * rng.normal(size=(3, width))[np.arange(n) % 3] + rng.normal(size=(n, width))


def neighbor_share(views, **numbers):
    policy = Policy(**numbers)
    unused = dict.fromkeys(("n_neighbors", "wanted", "stores", "team", "random_state", "run"))
    spaces = Spaces(views, None, few_entities=policy.few_entities)
    return Task(spaces=spaces, policy=policy, **unused).neighbor_share


def test_doubt_falls_to_zero_at_a_hundred_entities_without_a_jump():
    doubts = np.array([doubt_of(n) for n in range(1, 300)])
    assert (doubts[99:] == 0).all()
    assert (np.diff(doubts[:100]) < 0).all()
    assert np.abs(np.diff(doubts)).max() == pytest.approx(0.01)
    assert doubt_of(10, few=0) == 0
    assert doubt_of(10, few=20) == 0.5


@pytest.mark.parametrize(
    ("n", "numbers", "share"),
    [
        (40, {}, 0.6),
        (79, {}, 0.21),
        (81, {}, 0.2),  # the doubt is less than the share of the policy
        (100, {}, 0.2),
        (40, {"few_entities": 0}, 0.2),
        (40, {"few_entities": 50}, 0.2),
        (40, {"neighbor_share": 0.9}, 0.9),
    ],
)
def test_the_neighbor_layer_has_at_least_the_doubt_as_its_share(n, numbers, share, rng):
    views = Views.of([rng.normal(size=(n, 2))] * 2)
    assert neighbor_share(views, **numbers) == pytest.approx(share)


def test_the_neighbor_layer_of_a_fit_has_that_share_of_the_weight(rng):
    views = [blobs(rng, 40), blobs(rng, 40)]
    fitted = RMGL(3, random_state=0).fit(views)
    *others, neighbors = fitted.beta_
    assert neighbors == pytest.approx(0.6 * sum(others))
    off = RMGL(3, random_state=0, policy=Policy(neighbor_share=0.0)).fit(views)
    assert all(layer.role != "neighbors" for layer in off.layers_)


def test_a_view_may_be_reliable_between_one_and_three_deviations():
    assert undecided(np.array([-5.0, 1.0, 1.5, 3.0, 30.0])).tolist() == [0, 0, 0.25, 1, 1]


def related(rng, n, share):
    """Two columns of which one knows a share of the other."""
    X = rng.normal(size=(n, 2))
    X[:, 1] = share * X[:, 0] + np.sqrt(1 - share**2) * X[:, 1]
    return X


def test_a_view_that_may_be_reliable_counts_by_the_doubt(rng):
    found = []
    for share in np.linspace(0, 0.9, 10):
        views = Views.of({"many": blobs(rng, 60), "two": related(rng, 60, share)}).scaled("auto")
        parts, sure = (Spaces(views, None, few_entities=few).parts for few in (100, 0))
        deviations = views["two"].halves().deviations()
        floor = 0.4 * min(1.0, max(0.0, (deviations - 1) / 2))
        assert parts.tolist() == pytest.approx([1.0, max(sure[1], floor)])
        found.append((floor, sure[1]))
    assert any(floor > part for floor, part in found)  # in doubt: it counts for more
    assert any(floor == 0 and part == LEAST for floor, part in found)  # chance


def test_from_a_hundred_entities_on_nothing_is_in_doubt(rng):
    for n in (100, 150):
        views = Views.of({"many": blobs(rng, n), "two": related(rng, n, 0.3)}).scaled("auto")
        parts = [Spaces(views, None, few_entities=few).parts.tolist() for few in (100, 0)]
        assert parts[0] == parts[1]


def test_networks_count_in_full_however_few_nodes_they_have(rng):
    X = blobs(rng, 30)
    views = Views.of({"rows": X, "links": Network((X @ X.T > 0).astype(float))})
    assert Spaces(views, None).parts.tolist() == [1.0, 1.0]


def test_the_order_of_few_rows_changes_nothing(rng):
    views, order = [blobs(rng, 45), related(rng, 45, 0.4)], rng.permutation(45)
    one = RMGL(3, random_state=0).fit(views)
    other = RMGL(3, random_state=0).fit([X[order] for X in views])
    same = one.labels_[order][:, None] == one.labels_[order]
    assert (same == (other.labels_[:, None] == other.labels_)).all()
    assert other.view_weights_ == pytest.approx(one.view_weights_, rel=1e-6)


def test_layers_of_few_entities_are_certified(rng):
    fitted = RMGL(3, random_state=0).fit([blobs(rng, 45), related(rng, 45, 0.4)])
    assert all(layer.exact for layer in fitted.layers_ if not layer.given)
