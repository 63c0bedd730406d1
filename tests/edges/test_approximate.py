"""Approximate candidates: nothing is searched exactly but a sample that measures recall."""

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.edges import approximate
from rmgl.edges.approximate import RECALL_ROWS
from rmgl.edges.candidates import find_candidates
from rmgl.edges.search import Rows

N = 1200


@pytest.fixture
def views(rng):
    target = np.arange(N) % 3
    return {
        name: 4 * rng.normal(size=(3, width))[target] + rng.normal(size=(N, width))
        for name, width in (("a", 4), ("b", 6))
    }


@pytest.fixture
def perfect_lists(monkeypatch):
    """Lists without errors, which need no index."""
    monkeypatch.setattr(
        approximate,
        "approximate_neighbors",
        lambda X, length: Rows(X).nearest(np.arange(len(X)), length)[0],
    )


def test_scales_of_perfect_lists_are_exact(views, perfect_lists):
    X = views["a"]
    near = find_candidates("x", X, None, "approximate", local=True, n_neighbors=12)
    exact = find_candidates("x", X, None, 36, local=True, n_neighbors=12)
    assert near.recall == 1
    np.testing.assert_allclose(near.scaling.scales, exact.scaling.scales, rtol=1e-12)
    np.testing.assert_allclose(near.scaling.floors, exact.scaling.floors, rtol=1e-12)


def test_no_pass_over_all_rows_is_exact(views, perfect_lists, monkeypatch):
    asked = []
    search = Rows._nearest_places

    def counted(self, queries, length, precise, check):
        asked.append(self.n_rows if queries is None else queries.size)
        return search(self, queries, length, precise, check)

    lists = {
        (X.shape[1], length): Rows.of(X).nearest(np.arange(N), length)[0]
        for X in (*views.values(), np.hstack(list(views.values())))
        for length in (30,)
    }
    monkeypatch.setattr(
        approximate, "approximate_neighbors", lambda X, length: lists[X.shape[1], length]
    )
    monkeypatch.setattr(Rows, "_nearest_places", counted)
    with pytest.warns(UserWarning, match="only over its approximate candidate pairs"):
        model = RMGL(3, candidates="approximate", random_state=0).fit(views)
    assert set(asked) == {RECALL_ROWS}
    assert len(asked) == 3  # two views and the consensus
    assert np.bincount(model.labels_).tolist() == [N // 3] * 3
