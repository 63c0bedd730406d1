"""Threads: the same numbers for any number of them."""

from threading import Barrier
from time import process_time

import numpy as np
import pytest

from rmgl import RMGL, learn_layer
from rmgl.edges import AllPairs
from rmgl.edges import stores as module
from rmgl.embedding import lanczos
from rmgl.running import progress
from rmgl.running import threads as parallel
from rmgl.running.progress import Stopwatch
from rmgl.running.threads import Interrupted, team_of
from tests.processes import HANGING


def test_rows_cover_everything_once_in_order():
    for n_threads in (1, 2, 3, 7):
        with team_of(n_threads) as team:
            for n in (0, 1, 5, 100):
                parts = team.in_parts(lambda first, stop: list(range(first, stop)), n)
                assert [row for part in parts for row in part] == list(range(n))
                assert len(parts) == max(1, min(n_threads, n))


def test_threads_that_are_left_over_help_with_rows():
    def parts_of(team, n_items):
        """In how many parts every item is shared while the others run, too."""
        n_running = min(n_items, 4)
        begun, ended = Barrier(n_running), Barrier(n_running)

        def work(item, check):
            begun.wait(HANGING)
            parts = len(team.in_parts(lambda first, stop: None, 100))
            ended.wait(HANGING)
            return parts

        return team(work, range(n_items))

    with team_of(4) as team:
        assert parts_of(team, 2) == [2, 2]
        assert parts_of(team, 8) == [1] * 8
        assert parts_of(team, 1) == [4]
        assert len(team.in_parts(lambda first, stop: None, 100)) == 4


def test_checks_raise_once_the_team_is_dismissed():
    checks = []

    def fail():
        with team_of(2) as team:
            checks.extend(team(lambda item, check: check, range(2)))
            checks[0]()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(Interrupted):
        checks[0]()


def test_blocks_of_all_pairs_do_not_depend_on_threads(rng, monkeypatch):
    monkeypatch.setattr(module, "PARALLEL_PAIRS", 1)
    costs, u, v = rng.random(60 * 59 // 2), 0.2 + rng.random(60) / 2, rng.normal(size=60)
    whole = AllPairs(60)
    assert len(whole._blocks) == module.PARALLEL_BLOCKS + 1
    with team_of(3) as team:
        shared = AllPairs(60, team.in_parts)
        for mine, theirs in zip(
            vars(whole.evaluate(u, costs)).values(),
            vars(shared.evaluate(u, costs)).values(),
            strict=True,
        ):
            np.testing.assert_array_equal(mine, theirs)
        counts = whole.evaluate(u, costs).counts
        for share in (0.0, 1.0):  # passes over all pairs, and over the active ones
            monkeypatch.setattr(module, "FEW_ACTIVE", share)
            np.testing.assert_array_equal(
                whole.active_pairs(u, costs, counts)(v), shared.active_pairs(u, costs, counts)(v)
            )


@pytest.mark.parametrize("candidates", ["all", 8])
def test_a_fit_is_the_same_for_any_number_of_threads(candidates, rng, monkeypatch):
    monkeypatch.setattr(module, "PARALLEL_PAIRS", 1)
    monkeypatch.setattr(module, "PARALLEL_ENTRIES", 1)
    monkeypatch.setattr(parallel, "cpu_count", lambda: 8)
    monkeypatch.setattr(lanczos, "PARALLEL_PRODUCTS", 1)
    centers = 2.0 * rng.normal(size=(5, 6))
    y = rng.integers(5, size=700)
    views = [centers[y] + rng.normal(size=(700, 6)), centers[y, :3] + rng.normal(size=(700, 3))]
    one, two, five = (
        RMGL(5, candidates=candidates, n_jobs=n_jobs, random_state=0).fit(views)
        for n_jobs in (1, 2, 5)
    )
    for other in (two, five):
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-10)
        for mine, theirs in zip(one.layers_, other.layers_, strict=True):
            assert abs(mine.adjacency - theirs.adjacency).max() <= 1e-10


@pytest.mark.parametrize("candidates", ["all", 8])
def test_a_layer_is_the_same_for_any_number_of_threads(candidates, rng, monkeypatch):
    monkeypatch.setattr(module, "PARALLEL_PAIRS", 1)
    monkeypatch.setattr(module, "PARALLEL_ENTRIES", 1)
    monkeypatch.setattr(parallel, "cpu_count", lambda: 8)
    X = rng.normal(size=(300, 4))
    one, three = (learn_layer(X, 0.5, candidates=candidates, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.adjacency.toarray(), three.adjacency.toarray())


def test_seconds_by_stage_add_up_to_most_of_a_fit(rng, monkeypatch):
    """Measured with a clock that counts the work of this process alone: what else the machine does
    is of no matter.
    """
    views = [rng.normal(size=(800, 3))]
    RMGL(2, n_jobs=1, random_state=0).fit(views)  # compiled
    monkeypatch.setattr(progress, "perf_counter", process_time)
    began = process_time()
    model = RMGL(2, n_jobs=1, random_state=0).fit(views)
    whole = process_time() - began
    assert 0.5 * whole < sum(model.seconds_.values()) <= whole
    assert set(model.seconds_) == {"neighbors", "layers", "embedding", "clustering"}
    assert min(model.seconds_.values()) >= 0


def test_a_stopwatch_adds_up_stages_and_divides_shared_time(monkeypatch):
    monkeypatch.setattr(progress, "perf_counter", iter([0.0, 1.0, 10.0, 12.0, 20.0, 26.0]).__next__)
    clock = Stopwatch()
    for _ in range(2):
        with clock("a"):
            pass
    assert clock.seconds == {"a": 3.0}
    with clock.shared() as spent:
        spent += [{"a": 1.0, "b": 2.0}, {"a": 1.0}]
    assert clock.seconds == {"a": 6.0, "b": 3.0}
