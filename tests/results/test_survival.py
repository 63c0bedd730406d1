"""Survival curves and the log-rank test equal those of lifelines and of slow, obvious versions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from rmgl.results import survival
from rmgl.results.survival import curve_of, log_rank, median_text, survival_of

DRAWS = [(seed, digits, share) for seed in range(4) for digits in (0, 3) for share in (0.3, 0.8)]


def draw(seed, digits, share, n=80, n_clusters=4):
    """Times (rounded ones have ties), events and clusters with different risks."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, n)
    times = rng.exponential(10 / (1 + labels)).round(digits)
    return times, rng.random(n) < share, labels


def slow_survival(times, events, at):
    """The product over all event times up to `at` of the share that survives each, exactly."""
    share = Fraction(1)
    for time in sorted(set(times[events])):
        if time <= at:
            n = int((times >= time).sum())
            share *= Fraction(n - int((times[events] == time).sum()), n)
    return share


def slow_log_rank(times, events, labels):
    """Observed minus expected events and their covariance, one event time after the other."""
    clusters = sorted(set(labels))
    difference, variance = np.zeros(len(clusters)), np.zeros((len(clusters), len(clusters)))
    for time in sorted(set(times[events])):
        risk = np.array([sum((labels == k) & (times >= time)) for k in clusters])
        died = np.array([sum((labels == k) & (times == time) & events) for k in clusters])
        n, d = risk.sum(), died.sum()
        difference += died - d * risk / n
        if n > 1:
            share = risk / n
            factor = d * (n - d) / (n - 1)
            variance += factor * (np.diag(share) - np.outer(share, share))
    return difference[1:] @ np.linalg.solve(variance[1:, 1:], difference[1:])


@pytest.mark.parametrize(("seed", "digits", "share"), DRAWS)
def test_curves_are_those_of_lifelines(seed, digits, share):
    lifelines = pytest.importorskip("lifelines")
    times, events, labels = draw(seed, digits, share)
    for cluster in range(4):
        own = labels == cluster
        curve = curve_of(cluster, times[own], events[own])
        fitted = lifelines.KaplanMeierFitter().fit(times[own], events[own])
        np.testing.assert_allclose(curve.survival, fitted.predict(curve.times), atol=1e-12)
        if not np.isclose(curve.survival, 0.5, rtol=0, atol=1e-12).any():
            # where exactly half survive, the rounding of lifelines may hide it
            assert curve.median == fitted.median_survival_time_
        band = fitted.confidence_interval_.loc[curve.times].to_numpy()
        # where nobody survives the variance is not defined: lifelines lets the upper limit be 0
        left = curve.survival > 0
        np.testing.assert_allclose(curve.lower[left], band[left, 0], atol=1e-12)
        np.testing.assert_allclose(curve.upper[left], band[left, 1], atol=1e-12)
        limits = lifelines.utils.median_survival_times(fitted.confidence_interval_).to_numpy()[0]
        assert curve.median_lower == limits[0]
        if left.all() or limits[1] < curve.times[-1]:
            assert curve.median_upper == limits[1]
        else:
            assert curve.median_upper == np.inf
        table = fitted.event_table.loc[curve.times]
        assert curve.at_risk.tolist() == table["at_risk"].tolist()


@pytest.mark.parametrize(("seed", "digits", "share"), DRAWS)
def test_curves_and_the_test_are_those_of_the_definitions(seed, digits, share):
    times, events, labels = draw(seed, digits, share)
    curve = curve_of(0, times, events)
    at = np.append(curve.times, curve.times + 0.01)
    wanted = [slow_survival(times, events, moment) for moment in at]
    np.testing.assert_allclose(curve.survival_at(at), np.array(wanted, float), atol=1e-12)
    for own in (slice(None), labels == 0, labels == 1):
        median = next(
            (
                time
                for time in sorted(times[own])
                if slow_survival(times[own], events[own], time) <= Fraction(1, 2)
            ),
            np.inf,
        )
        assert curve_of(0, times[own], events[own]).median == median
    assert curve.n_at_risk(at).tolist() == [sum(times >= moment) for moment in at]
    found = log_rank(times, events, labels)
    assert found.statistic == pytest.approx(slow_log_rank(times, events, labels), rel=1e-9)
    assert found.df == 3
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 3))


@pytest.mark.parametrize(("seed", "digits", "share"), DRAWS)
def test_the_log_rank_test_is_that_of_lifelines_and_scipy(seed, digits, share, monkeypatch):
    times, events, labels = draw(seed, digits, share)
    found = log_rank(times, events, labels)
    two = labels < 2
    of_two = log_rank(times[two], events[two], labels[two])
    first, second = (
        stats.CensoredData(
            uncensored=times[(labels == k) & events], right=times[(labels == k) & ~events]
        )
        for k in (0, 1)
    )
    assert of_two.statistic == pytest.approx(stats.logrank(first, second).statistic ** 2)
    monkeypatch.setattr(survival, "TIMES_AT_ONCE", 3)
    assert log_rank(times, events, labels).statistic == pytest.approx(found.statistic)
    statistics = pytest.importorskip("lifelines.statistics")
    theirs = statistics.multivariate_logrank_test(times, labels, events)
    assert found.statistic == pytest.approx(theirs.test_statistic, rel=1e-9)
    assert found.p_value == pytest.approx(theirs.p_value, rel=1e-6)


def test_only_the_order_of_times_matters_to_the_test():
    times, events, labels = draw(0, 1, 0.7)
    found = log_rank(times, events, labels)
    assert log_rank(np.exp(times / 5), events, labels).statistic == pytest.approx(found.statistic)
    renamed = np.array([7, 2, 5, 0])[labels]
    assert log_rank(times, events, renamed).statistic == pytest.approx(found.statistic)


def test_expected_events_sum_to_those_that_happened():
    times, events, labels = draw(1, 0, 0.6)
    found = survival_of(("months", "died"), times, events, labels)
    assert found.expected.sum() == pytest.approx(events.sum())
    assert [curve.n_events for curve in found.curves] == [
        int(events[labels == k].sum()) for k in range(4)
    ]
    assert len(str(found).splitlines()) == 5


@pytest.mark.parametrize(
    ("times", "events", "labels"),
    [
        pytest.param([1, 2, 3, 4], [0, 0, 0, 0], [0, 0, 1, 1], id="no event"),
        pytest.param([1, 2, 3, 4], [1, 1, 1, 1], [0, 0, 0, 0], id="one cluster"),
        pytest.param([3, 3, 3, 3], [1, 1, 1, 1], [0, 0, 1, 1], id="all at once"),
        pytest.param([1, 1, 3, 4], [0, 0, 1, 1], [0, 0, 1, 1], id="one cluster at risk"),
    ],
)
def test_nothing_to_compare(times, events, labels):
    assert log_rank(np.array(times, float), np.array(events, bool), np.array(labels)) is None


def test_a_cluster_that_left_before_the_first_event_takes_no_degree_of_freedom():
    times, events, labels = draw(2, 3, 0.8)
    with_third = (
        np.append(times, [0.0, 0.0]),
        np.append(events, [False, False]),
        np.append(labels, [4, 4]),
    )
    events[times == 0] = False
    assert times[events].min() > 0
    found, alone = log_rank(*with_third), log_rank(times, events, labels)
    assert (found.df, found.statistic) == (alone.df, pytest.approx(alone.statistic))


def test_a_median_that_is_not_reached_is_said():
    times = np.arange(1.0, 21.0)
    none = curve_of(0, times, np.zeros(20, dtype=bool))
    assert none.median == np.inf
    assert median_text(none) == "not reached"
    assert (none.survival == 1).all()
    assert (none.lower == 1).all()
    few = curve_of(0, times, np.arange(20) % 4 == 0)
    assert few.median == np.inf
    assert median_text(few) == f"not reached (above {few.median_lower:.4g})"
    every = curve_of(0, times, np.ones(20, dtype=bool))
    assert every.median == 10  # half of 20 are left after the tenth event
    assert every.survival[-1] == 0
    assert every.median_lower < 10 < every.median_upper < np.inf


def test_the_band_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        times, end = rng.exponential(1.0, 60), rng.uniform(0.5, 3.0, 60)
        curve = curve_of(0, np.minimum(times, end), times <= end)
        at = np.searchsorted(curve.times, 0.7, side="right") - 1
        inside += curve.lower[at] <= np.exp(-0.7) <= curve.upper[at]
    assert 0.95 * 300 - 4 * np.sqrt(300 * 0.05 * 0.95) <= inside


def test_a_thinned_curve_keeps_its_ends_and_its_median():
    times, events, _ = draw(3, 3, 0.7, n=2000)
    curve = curve_of(0, times, events)
    thin = curve.thinned(100)
    assert thin.times.size == 100
    assert (thin.times[0], thin.times[-1]) == (curve.times[0], curve.times[-1])
    np.testing.assert_array_equal(thin.survival, curve.survival_at(thin.times))
    assert (thin.median, thin.n) == (curve.median, curve.n)
    assert thin.censored.size <= 100
    assert curve.thinned(5000) is curve


def test_corners_are_steps_from_one_at_time_zero():
    corners = curve_of(0, np.array([2.0, 3.0]), np.array([True, True])).corners()
    assert corners["time"].tolist() == [0, 2, 2, 3, 3]
    assert corners["survival"].tolist() == [1, 1, 0.5, 0.5, 0]
