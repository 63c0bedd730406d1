"""Survival of the clusters: Kaplan-Meier curves, median survival, and the log-rank test.

Every entity has a time, and an indicator of whether the event occurred at that time. If it did not,
the entity is censored: it was observed without the event until that time. At a time with d events
among n entities at risk, the Kaplan-Meier curve of a cluster falls by the share d / n. The
confidence band uses Greenwood's variance on the scale log(-log S). The confidence limits of the
median are the times at which the limits of the band fall to one half (Brookmeyer and Crowley,
1982).

The log-rank test compares the number of events O_k of every cluster with the number expected if all
clusters had the same risk at all times,

    E_k  = sum_j d_j n_kj / n_j
    V_kl = sum_j d_j (n_j - d_j) / (n_j - 1) (n_kj / n_j) (1{k=l} - n_lj / n_j)
    chi2 = (O - E)' V^+ (O - E)

where the sums are over the times j with events. The statistic has one degree of freedom fewer than
the number of clusters at risk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Vector = NDArray[np.float64]
Counts = NDArray[np.intp]
CONFIDENCE = 0.95
"""Level of confidence bands and intervals."""
TIMES_AT_ONCE = 65_536
"""Number of event times that the log-rank test sums at once, to limit memory."""


@dataclass(frozen=True)
class SurvivalCurve:
    """Survival of one cluster.

    Examples
    --------
    >>> import numpy as np
    >>> times, events = np.array([2.0, 3.0, 3.0, 5.0, 8.0]), np.array([1, 1, 0, 1, 0], dtype=bool)
    >>> curve = curve_of(0, times, events)
    >>> curve.times.tolist(), curve.survival.round(2).tolist(), curve.median
    ([2.0, 3.0, 5.0, 8.0], [0.8, 0.6, 0.3, 0.3], 5.0)
    """

    cluster: int
    n: int
    """Number of entities with values in both survival columns."""
    n_events: int
    times: Vector
    """Distinct times in increasing order."""
    survival: Vector
    """Share of entities without an event up to and including each time (Kaplan-Meier)."""
    lower: Vector
    """Lower limit of the 95% confidence band at each time."""
    upper: Vector
    """Upper limit of the 95% confidence band at each time."""
    at_risk: Counts
    """Number of entities at risk just before each time."""
    censored: Vector
    """Times at which entities were censored."""
    median: float
    """Median survival: the first time at which at most half survive. Infinite if not reached."""
    median_lower: float
    """Lower limit of the median's 95% confidence interval. Like the upper limit, it is infinite if
    not reached.
    """
    median_upper: float

    def n_at_risk(self, times: Vector) -> Counts:
        """Return the number of entities at risk just before the given times."""
        place = np.searchsorted(self.times, times, side="left")
        return np.append(self.at_risk, 0)[place].astype(np.intp)

    def corners(self) -> dict[str, Vector]:
        """Return the corners of the step curve and its band, from time 0: `time`, `survival`,
        `lower` and `upper`.
        """
        shares = {"survival": self.survival, "lower": self.lower, "upper": self.upper}
        steps = {name: np.repeat(np.append(1.0, of), 2)[:-1] for name, of in shares.items()}
        return {"time": np.repeat(np.append(0.0, self.times), 2)[1:], **steps}

    def survival_at(self, times: Vector) -> Vector:
        """Return the share of entities without an event up to and including the given times.

        Examples
        --------
        >>> import numpy as np
        >>> curve = curve_of(0, np.array([2.0, 3.0, 5.0, 8.0]), np.array([True, True, False, True]))
        >>> curve.survival_at(np.array([1.0, 3.0])).tolist()
        [1.0, 0.5]
        """
        place = np.searchsorted(self.times, times, side="right")
        return np.append(1.0, self.survival)[place]

    def thinned(self, most: int) -> SurvivalCurve:
        """Return the curve at no more than `most` of its times, evenly spaced."""
        if self.times.size <= most:
            return self
        kept = np.unique(np.linspace(0, self.times.size - 1, most).astype(np.intp))
        names = ("times", "survival", "lower", "upper", "at_risk")
        marks = self.censored[:: -(-self.censored.size // most)] if self.censored.size else None
        parts: dict[str, Any] = {name: getattr(self, name)[kept] for name in names}
        return replace(self, **parts, censored=self.censored if marks is None else marks)


@dataclass(frozen=True)
class Survival:
    """Survival of all clusters, and the numbers behind their comparison."""

    time: str
    """Name of the column of times."""
    event: str
    """Name of the column of events."""
    curves: tuple[SurvivalCurve, ...]
    """One curve for each cluster with values in both survival columns."""
    expected: Vector
    """Expected number of events of each curve's cluster if all clusters had the same risk."""

    def __str__(self) -> str:
        """Return one line of text per cluster."""
        lines = [
            f"{'cluster':>7s} {'entities':>8s} {'events':>7s} {'expected':>8s}  "
            "median survival (95% interval)"
        ]
        for curve, expected in zip(self.curves, self.expected, strict=True):
            lines.append(
                f"{curve.cluster:7d} {curve.n:8,d} {curve.n_events:7,d} {expected:8.1f}  "
                f"{median_text(curve)}"
            )
        return "\n".join(lines)


def median_text(curve: SurvivalCurve) -> str:
    """Return the median survival and its confidence interval as text, including limits that are not
    reached.

    Examples
    --------
    >>> import numpy as np
    >>> alive = curve_of(0, np.array([1.0, 2.0, 3.0]), np.zeros(3, dtype=bool))
    >>> median_text(alive)
    'not reached'
    """
    if not np.isfinite(curve.median):
        low = curve.median_lower
        return "not reached" + (f" (above {low:.4g})" if np.isfinite(low) else "")
    end = f"{curve.median_upper:.4g}" if np.isfinite(curve.median_upper) else "not reached"
    return f"{curve.median:.4g} ({curve.median_lower:.4g} to {end})"


def survival_of(
    names: tuple[str, str],
    times: Vector,
    events: NDArray[np.bool_],
    labels: NDArray[np.intp],
) -> Survival:
    """Return the curves of all clusters that have a time."""
    clusters = np.unique(labels)
    curves = tuple(
        curve_of(int(cluster), times[labels == cluster], events[labels == cluster])
        for cluster in clusters
    )
    expected = np.zeros(clusters.size)
    if events.any():
        expected = _compared(times, events, labels, clusters)[1]
    return Survival(*names, curves, expected)


def curve_of(cluster: int, times: Vector, events: NDArray[np.bool_]) -> SurvivalCurve:
    """Return the Kaplan-Meier curve of one cluster, with its confidence band and its median."""
    from scipy.stats import CensoredData, ecdf

    found = ecdf(CensoredData(uncensored=times[events], right=times[~events])).sf
    known, survival = np.asarray(found.quantiles), np.asarray(found.probabilities)
    at_risk = times.size - np.searchsorted(np.sort(times), known, side="left")
    happened = np.diff(np.searchsorted(np.sort(times[events]), known, side="right"), prepend=0)
    lower, upper = _band(survival, at_risk, happened)
    median, *limits = (_first_below_half(known, of) for of in (survival, lower, upper))
    return SurvivalCurve(
        cluster,
        int(times.size),
        int(events.sum()),
        known,
        survival,
        lower,
        upper,
        at_risk,
        np.sort(times[~events]),
        median,
        *limits,
    )


def _band(survival: Vector, at_risk: Counts, happened: Counts) -> tuple[Vector, Vector]:
    """Return the confidence band of a survival curve.

    Before the first event, survival is one with certainty. Where no entity survives, the variance
    is undefined: the lower limit is zero, and the upper limit keeps its last value.
    """
    lower, upper = (survival >= 1).astype(np.float64), np.ones(survival.size)
    inner = np.flatnonzero((survival > 0) & (survival < 1))
    if inner.size:
        left = np.maximum(at_risk - happened, 1)  # zero only at the end, where no entity survives
        variance = np.cumsum(happened / (at_risk * left))[inner]
        exponent = ndtri(0.5 + CONFIDENCE / 2) * np.sqrt(variance) / np.log(survival[inner])
        lower[inner] = survival[inner] ** np.exp(-exponent)
        upper[inner] = survival[inner] ** np.exp(exponent)
        upper[inner[-1] + 1 :] = upper[inner[-1]]
    return lower, upper


def _first_below_half(times: Vector, survival: Vector) -> float:
    """Return the first time at which a curve is at most one half. Infinite if there is none."""
    below = np.flatnonzero(survival <= 0.5 + 1e-12)  # allow for rounding, as in 0.7 * 5/7
    return float(times[below[0]]) if below.size else float("inf")


@dataclass(frozen=True)
class LogRank:
    """Result of the log-rank test."""

    statistic: float
    df: int
    p_value: float


def log_rank(times: Vector, events: NDArray[np.bool_], labels: NDArray[np.intp]) -> LogRank | None:
    """Compare the survival of clusters. Returns None if there is nothing to compare.

    There is nothing to compare if there are no events, if only one cluster is at risk at the first
    event, or if all entities at risk have their event at the same time.

    Examples
    --------
    >>> import numpy as np
    >>> times = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> found = log_rank(times, np.ones(6, dtype=bool), np.array([0, 0, 0, 1, 1, 1]))
    >>> round(found.statistic, 2), found.df
    (5.05, 1)
    """
    from scipy.stats import chi2

    clusters = np.unique(labels)
    if not events.any():
        return None
    observed, expected, variance = _compared(times, events, labels, clusters)
    there = np.flatnonzero(expected > 0)[1:]  # the differences of all clusters sum to zero
    if not there.size or not np.any(variance):
        return None
    difference = (observed - expected)[there]
    statistic = float(difference @ np.linalg.pinv(variance[np.ix_(there, there)]) @ difference)
    return LogRank(statistic, int(there.size), float(chi2.sf(statistic, there.size)))


def _compared(
    times: Vector, events: NDArray[np.bool_], labels: NDArray[np.intp], clusters: Counts
) -> tuple[Vector, Vector, NDArray[np.float64]]:
    """Return the events of each cluster, the expected events, and the covariance of their
    differences.
    """
    moments = np.unique(times[events])
    own = [labels == cluster for cluster in clusters]
    all_times = [np.sort(times[mask]) for mask in own]
    event_times = [np.sort(times[mask & events]) for mask in own]
    observed = np.array([some.size for some in event_times], dtype=np.float64)
    expected, variance = np.zeros(len(own)), np.zeros((len(own), len(own)))
    for start in range(0, moments.size, TIMES_AT_ONCE):
        at = moments[start : start + TIMES_AT_ONCE]
        risk = np.array([some.size - np.searchsorted(some, at, side="left") for some in all_times])
        happened = sum(
            np.searchsorted(some, at, side="right") - np.searchsorted(some, at, side="left")
            for some in event_times
        )
        total = risk.sum(axis=0)
        share = risk / total
        expected += share @ happened
        factor = happened * (total - happened) / np.maximum(total - 1, 1)
        # avoid @, whose threads wait for one another on a busy machine
        products = np.einsum("kt,t,lt->kl", share, factor, share)
        variance += np.diag(share @ factor) - products
    return observed, expected, variance
