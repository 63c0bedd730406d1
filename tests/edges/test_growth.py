"""Candidates that are extended measure the new pairs only, and have the same costs as candidates
that are measured anew.
"""

import numpy as np
import pytest
from scipy import sparse

from rmgl.edges import Candidates, PairList, find_candidates
from rmgl.edges.candidates import measured
from rmgl.edges.certificate import ListGrowth, joined
from rmgl.edges.space import Rows, Square
from rmgl.running.threads import one_part


def random_pattern(rng, n, share):
    upper = np.triu(rng.random((n, n)) < share, 1)
    return sparse.csr_array(upper | upper.T)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_union_of_patterns_and_what_is_new_in_it(rng, share):
    old, added = random_pattern(rng, 30, 0.3), random_pattern(rng, 30, share)
    union, is_new = joined(old, added)
    expected = old.toarray() | added.toarray()
    np.testing.assert_array_equal(union.toarray(), expected)
    assert union.has_sorted_indices
    assert union.dtype == bool
    marked = sparse.csr_array((is_new, union.indices, union.indptr), shape=union.shape).toarray()
    np.testing.assert_array_equal(marked, expected & ~old.toarray())


def test_costs_of_new_pairs_are_put_among_the_others(rng):
    X = rng.normal(size=(30, 3))
    old, added = random_pattern(rng, 30, 0.3), random_pattern(rng, 30, 0.2)
    union, is_new = joined(old, added)
    growth = ListGrowth.of(union, is_new, one_part)
    assert growth.pairs.n_pairs == np.count_nonzero(is_new) // 2
    carried = growth.carried(PairList(old).measure(X), growth.pairs.measure(X))
    np.testing.assert_array_equal(carried, PairList(union).measure(X))


def test_no_pair_is_new(rng):
    old = random_pattern(rng, 12, 0.4)
    union, is_new = joined(old, old)
    assert not is_new.any()
    growth = ListGrowth.of(union, is_new, one_part)
    assert growth.pairs.n_pairs == 0
    costs = rng.random(union.nnz)
    np.testing.assert_array_equal(growth.carried(costs, np.empty(0)), costs)


@pytest.mark.parametrize("space", [Rows, Square], ids=["rows", "square"])
@pytest.mark.parametrize("last", [False, True], ids=["another guide may follow", "the last guide"])
def test_extended_candidates_have_the_costs_of_candidates_measured_anew(rng, space, last):
    X, other, guide = (
        rng.normal(size=(60, 4)),
        rng.normal(size=(60, 2)),
        0.1 * rng.normal(size=(60, 3)),
    )

    def added(edges, check):
        return 0.5 * edges.measure(other)

    first = (
        find_candidates("v", space.of(X), None, 6, local=True)
        .with_added(added)
        .guided(guide, is_last=last)
    )
    wider = first.extended(np.full(60, 3.0))
    assert wider.edges.n_pairs > first.edges.n_pairs
    assert wider.growth.pairs.n_pairs == wider.edges.n_pairs - first.edges.n_pairs
    unguided = measured(wider.edges, wider.neighborhoods.space, wider.scaling) + added(
        wider.edges, None
    )
    np.testing.assert_array_equal(wider.distances, unguided + wider.edges.measure(guide))
    if last:
        assert wider.unguided is None
        with pytest.raises(AssertionError, match="no other guide"):
            wider.guided(guide)
    else:
        np.testing.assert_array_equal(wider.unguided, unguided)


def test_candidates_measured_anew_where_it_is_not_known_which_pairs_are_new(rng):
    from dataclasses import replace

    X = rng.normal(size=(60, 4))
    first = find_candidates("v", Rows.of(X), None, 6, local=True)
    grown = first.neighborhoods.extended(np.full(60, 3.0), first.distances, None)

    class Forgetful:
        def extended(self, *_):
            return replace(grown, is_new=None)

    wider = replace(first, neighborhoods=Forgetful()).extended(np.full(60, 3.0))
    assert wider.growth is None
    np.testing.assert_array_equal(wider.distances, Candidates.certified(grown).distances)
