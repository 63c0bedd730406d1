"""The number of clusters, chosen from the common graph alone.

For every K, the graph is cut into K parts by spectral clustering. The score of K is *modularity*
times the square of the *silhouette*:

    modularity  sum_c  (weight inside c) / (all weight)  -  (degrees in c / all degrees)^2
    silhouette  mean of (b - a) / max(a, b), where a is the distance of a row of the embedding from
                the center of its own part, and b its distance from the nearest other center

All K with at least three quarters of the highest score are considered indistinguishable from the
best one. They form its *range*, unless the eigengap of the best K is 0.9 or more; in that case, the
range is that K alone. *Stability* is measured for the range, and for peaks of the score on either
side of it:

    stability   mean adjusted Rand index with the parts found on random subsets that contain four
                fifths of the nodes

The chosen K is the best one, or a smaller K in its range where the score has a peak and the product
of score and stability is larger. K goes up to 30, and then up to 60 and 120 as long as the largest
K tried is in the range. To add a rule, write a function and add it to `NUMBER_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from rmgl.archive.records import record
from rmgl.automatic.cuts import Cuts, Going, always, is_peak
from rmgl.automatic.weighing import Weighing
from rmgl.checks import Unsound, sound_indices, sound_numbers
from rmgl.embedding.common_graph import Graph
from rmgl.frames import as_html
from rmgl.matrix import Floats, Indices
from rmgl.rules import find_rule, ranged
from rmgl.running.checkpoint import Checkpoint

BESIDE = 2
"""Maximum number of resolutions shown on each side of the chosen one."""
MOST_RESAMPLED = 10
"""Maximum number of values of K in the range to measure stability for (those that score best)."""

NumberRule = Callable[[Graph, np.random.RandomState], "NumberOfClusters"]
"""rule(graph, random_state) -> the number of clusters, with the evidence for it."""


@dataclass(frozen=True)
class Counting:
    """Parameters and rule for choosing the number of clusters."""

    number: str | NumberRule = "silhouette"
    """Rule for choosing the number of clusters if n_clusters="auto": "silhouette" (modularity times
    the square of the silhouette), or rule(graph, random_state) -> NumberOfClusters."""
    ranges: tuple[tuple[int, int], ...] = ((30, 1), (60, 2), (120, 4))
    """Numbers to try. Each pair (largest, step) extends them up to `largest` in steps of `step`."""
    rows_per_cluster: float = ranged(6.0, 1.0, 1e9)
    """Minimum mean cluster size. Entities missing from a view are placed after the fit only if at
    least this many entities per cluster are in all views."""
    draws: int = ranged(4, 1, 1000)
    """Number of random subsets of four fifths of the entities on which stability is measured."""
    stable: float = ranged(0.8, 0.0, 1.0)
    """Minimum stability for a resolution to be shown. The confidence in the chosen number can be
    high only if its stability and its silhouette are at least this value."""
    clear: float = ranged(0.75, 0.0, 1.0)
    """Minimum score, relative to the best score, at which a number of clusters is considered
    indistinguishable from the chosen one."""
    apart: float = ranged(0.9, 0.0, 1.0)
    """Minimum eigengap of the best number at which its range contains no other number."""

    def choose_number(
        self,
        graph: Graph,
        random_state: np.random.RandomState,
        checkpoint: Checkpoint | None = None,
        going: Going = always,
    ) -> NumberOfClusters:
        """Choose the number of clusters in a graph. Built-in rules store eigenvectors in a
        checkpoint. If `going` returns False, they stop with the best number so far.
        """
        rule: Callable[..., Any] = find_rule("number", self.number, NUMBER_RULES)
        built_in = (checkpoint, self, going) if isinstance(self.number, str) else ()
        number = rule(graph, random_state, *built_in)
        if not isinstance(number, NumberOfClusters):
            raise ValueError(
                "policy: the rule for the number of clusters returned an object of "
                f"type {type(number).__name__}, but must return a NumberOfClusters"
            )
        number.check(graph.shape[0])
        return number


@record
@dataclass(frozen=True)
class NumberOfClusters:
    """Number of clusters, with the evidence for it."""

    chosen: int
    candidates: Indices
    modularity: Floats
    eigengap: Floats
    """(next eigenvalue - last one used) / next eigenvalue of the normalized Laplacian."""
    stability: Floats
    """Stability of each candidate. NaN if it was not measured."""
    resolutions: Indices | None = None
    """Numbers for which the graph has stable parts, and the chosen number."""
    parts: Indices | None = None
    """Labels of the graph's parts, with one row per resolution. None if unknown."""
    stable: float = Counting.stable
    """Minimum stability at which a resolution counts as recovered."""
    clear: float = Counting.clear
    """Minimum score, relative to the best score, of a number in the range."""
    apart: float = Counting.apart
    """Minimum eigengap of the best number at which its range contains no other number."""
    silhouette: Floats | None = None
    """Mean silhouette of the embedding rows. None in evidence from earlier versions."""

    former_fields: ClassVar[tuple[str, ...]] = ("very_stable",)
    """Fields that files from earlier versions may contain. They are ignored."""

    def at_least(self, least: int) -> NumberOfClusters:
        """Choose the best number that is at least `least`, and drop the parts of the graph."""
        if self.chosen >= least:
            return self
        enough = self.candidates >= least
        if enough.any():
            chosen = int(self.candidates[enough][self.score[enough].argmax()])
            return replace(self, chosen=chosen, resolutions=None, parts=None)
        more = {"candidates": least, "modularity": 0.0, "eigengap": 0.0, "stability": np.nan}
        if self.silhouette is not None:
            more["silhouette"] = 0.0
        longer: dict[str, Any] = {
            name: np.append(getattr(self, name), value) for name, value in more.items()
        }
        return replace(self, chosen=least, resolutions=None, parts=None, **longer)

    def in_order(self, order: Indices) -> NumberOfClusters:
        """Return the evidence with the nodes in another order."""
        return self if self.parts is None else replace(self, parts=self.parts[:, order])

    def check(self, n_nodes: int) -> None:
        """Raise an error if evidence from a file cannot belong to a graph with this many nodes."""
        sound_indices("the candidate numbers of clusters", self.candidates, n_nodes + 1)
        names = ("modularity", "eigengap", "stability", "silhouette")
        known = [name for name in names if getattr(self, name) is not None]
        for name in known:
            values = getattr(self, name)
            sound_numbers(
                f"the {name} of the candidates", np.nan_to_num(values), self.candidates.shape
            )
        if self.chosen not in self.candidates or self.chosen < 1:
            raise Unsound(f"the chosen number of clusters, {self.chosen}, is not a candidate")
        if (self.resolutions is None) != (self.parts is None):
            raise Unsound("there are resolutions without parts, or parts without resolutions")
        if self.resolutions is not None and self.parts is not None:
            self._check_parts(self.resolutions, self.parts, n_nodes)

    def _check_parts(self, resolutions: Indices, parts: Indices, n_nodes: int) -> None:
        """Raise an error if parts from a file do not match the resolutions."""
        known = np.isin(resolutions, self.candidates).all() and self.chosen in resolutions
        complete = parts.ndim == 2 and parts.shape[:1] == resolutions.shape
        if not known or not complete or (np.diff(resolutions) <= 0).any():
            raise Unsound(
                "the resolutions are not among the candidates, or their parts are missing"
            )
        for k, labels in zip(resolutions, parts, strict=True):
            sound_indices("the parts of a resolution", labels, int(k))
        if parts.shape[1] != n_nodes:
            raise Unsound(f"the parts have {parts.shape[1]} nodes instead of {n_nodes}")

    @property
    def score(self) -> Floats:
        """Modularity times silhouette squared.

        Evidence from earlier versions or from other rules may have no silhouette. The score is then
        modularity times stability squared or, without stability, modularity alone.
        """
        good = self.silhouette
        if good is None:
            good = np.where(np.isnan(self.stability), 1.0, self.stability)
        score: Floats = self.modularity * np.maximum(good, 0.0) ** 2
        return score

    @property
    def rivals(self) -> list[int]:
        """Return every K whose score is close to the best score. If the graph almost splits into K
        components at the best K, return only that K.
        """
        score, best = self.score, int(self.score.argmax())
        if self.eigengap[best] >= self.apart:
            return [int(self.candidates[best])]
        near = score >= self.clear * score[best]
        near[best] = True  # even if no score is positive
        return [int(k) for k in self.candidates[near]]

    @property
    def range(self) -> tuple[int, int]:
        """Smallest and largest K that are indistinguishable from the chosen one."""
        numbers = [self.chosen, *self.rivals]
        return min(numbers), max(numbers)

    @property
    def confidence(self) -> str:
        """Confidence in the chosen number: "high" or "low".

        It is high if the range is narrow (within one, or within a fifth, of the chosen number),
        there are many nodes, and the parts are recovered on subsets of the nodes and well separated
        in the embedding. Two halves of a single cloud are often recovered, but not well separated.
        """
        least, most = self.range
        near = max(self.chosen - least, most - self.chosen) <= max(1.0, 0.2 * self.chosen)
        many = self.parts is None or self.parts.shape[1] >= Weighing.few_entities
        at, good = self._at(self.chosen), self.silhouette
        is_apart = good is None or bool(good[at] >= self.stable)
        is_high = near and many and is_apart and self._is_stable(self.chosen)
        return "high" if is_high else "low"

    @property
    def reason(self) -> str:
        at, (least, most) = self._at(self.chosen), self.range
        good = "" if self.silhouette is None else f", silhouette {self.silhouette[at]:.2f}"
        known = f"{self.stability[at]:.2f}" if np.isfinite(self.stability[at]) else "not measured"
        near = "or" if most - least == 1 else "to"
        others = (
            "No other number fits nearly as well"
            if least == most
            else f"{least} {near} {most} clusters fit about equally well"
        )
        return (
            f"chosen from the candidates {self.candidates[0]} to {self.candidates[-1]} (modularity "
            f"{self.modularity[at]:.3f}{good}, stability {known}). {others}. "
            f"Confidence: {self.confidence}"
        )

    @property
    def table(self) -> list[dict[str, object]]:
        """Resolutions: K, score, modularity, silhouette, stability, eigengap, and a sentence."""
        shown = [self.chosen] if self.resolutions is None else self.resolutions.tolist()
        return [self._row(k) | {"sentence": self._sentence(k)} for k in shown]

    def _row(self, k: int) -> dict[str, object]:
        """Return the scores for one number of clusters. Unknown scores are None."""
        names = ("score", "modularity", "silhouette", "stability", "eigengap")
        at, columns = self._at(k), [getattr(self, name) for name in names]
        values = [np.nan if column is None else float(column[at]) for column in columns]
        scores = [value if np.isfinite(value) else None for value in values]
        return {"n_clusters": k, **dict(zip(names, scores, strict=True))}

    def _sentence(self, k: int) -> str:
        again = f"{'' if self._is_stable(k) else 'not reliably '}recovered when a fifth of the "
        again += "entities are left out"
        if np.isnan(self.stability[self._at(k)]):
            again = "stability not tested"
        beside = "chosen" if k == self.chosen else "coarser" if k < self.chosen else "finer"
        return f"{k} clusters ({beside}): {again}"

    def _is_stable(self, k: int) -> bool:
        return bool(self.stability[self._at(k)] >= self.stable)

    def _at(self, k: int | np.intp) -> int:
        return int(np.flatnonzero(self.candidates == k)[0])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each number of clusters tried."""
        import pandas as pd

        rows = [self._row(k) for k in self.candidates.tolist()]
        return pd.DataFrame(rows).assign(chosen=self.candidates == self.chosen)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the number, the reason for it, and the numbers tried."""
        return as_html(self.to_frame(), f"{self.chosen} clusters, {self.reason}")

    def as_dict(self) -> dict[str, object]:
        return {
            "chosen": self.chosen,
            "range": list(self.range),
            "confidence": self.confidence,
            "resolutions": self.table,
            "candidates": [self._row(k) for k in self.candidates.tolist()],
        }


def by_silhouette(
    graph: Graph,
    random_state: np.random.RandomState,
    checkpoint: Checkpoint | None = None,
    numbers: Counting | None = None,
    going: Going = always,
) -> NumberOfClusters:
    """Choose the number of clusters with the highest score. A checkpoint stores eigenvectors. If
    `going` returns False, the best number so far is chosen, and its stability is unknown.
    """
    numbers = Counting() if numbers is None else numbers
    n = graph.shape[0]
    if n < 3:
        raise ValueError(
            f"n_clusters='auto' requires at least 3 rows, but the views have {n}: pass a number"
        )
    cuts = Cuts(sparse.csr_array(graph), random_state, checkpoint)
    find_cuts(cuts, numbers, going)
    number = evidence_of(cuts, numbers)
    cuts.find_stability(worth_resampling(number), numbers.draws, going)
    number = coarser_if_as_good(evidence_of(cuts, numbers))
    shown = sorted([number.chosen, *_stable_beside(number)])
    parts = np.array([cuts.parts[k] for k in shown], dtype=np.intp)
    return replace(number, resolutions=np.array(shown, dtype=np.intp), parts=parts)


NUMBER_RULES: dict[str, NumberRule] = {"silhouette": by_silhouette}


def find_cuts(cuts: Cuts, numbers: Counting, going: Going) -> None:
    """Cut the graph into 2, 3, ... parts, and then into the numbers of parts around the best one
    that larger steps skipped.

    Larger numbers are tried as long as the largest one so far is about as good as the best one.
    """
    largest = max(2, int(cuts.graph.shape[0] // numbers.rows_per_cluster))
    for last, step in numbers.ranges:
        first = cuts.numbers[-1] + step if cuts.parts else 2
        more = range(first, min(last, largest) + 1, step)
        if not more or (cuts.parts and not going(0.5)):
            break
        cuts.find_vectors(more[-1] + 1)
        cuts.add_all(more, going)
        number = evidence_of(cuts, numbers)
        if number.range[1] < number.candidates[-1]:
            break
    cuts.add_all(_left_out(cuts, numbers), going)


def _left_out(cuts: Cuts, numbers: Counting) -> list[int]:
    """Return the untried numbers between the best one and the tried numbers nearest to it."""
    tried, best = cuts.numbers, evidence_of(cuts, numbers).chosen
    at = tried.index(best)
    beside = tried[max(0, at - 1) : at + 2]
    return [k for k in range(beside[0], beside[-1] + 1) if k not in cuts.parts]


def evidence_of(cuts: Cuts, numbers: Counting) -> NumberOfClusters:
    """Return the evidence from the cuts so far, and choose the number with the highest score."""
    tried = cuts.numbers
    number = NumberOfClusters(
        tried[0],
        np.array(tried, dtype=np.intp),
        np.array([cuts.modularity[k] for k in tried]),
        np.array([cuts.eigengap(k) for k in tried]),
        np.array([cuts.stability.get(k, np.nan) for k in tried]),
        stable=numbers.stable,
        clear=numbers.clear,
        apart=numbers.apart,
        silhouette=np.array([cuts.silhouette[k] for k in tried]),
    )
    return replace(number, chosen=tried[int(number.score.argmax())])


def worth_resampling(number: NumberOfClusters) -> list[int]:
    """Return the best numbers in the range, and the best peaks on each side of the chosen one."""
    candidates, score = number.candidates, number.score
    ranked = [int(candidates[at]) for at in np.argsort(-score, kind="stable")]
    rivals = [k for k in ranked if k in number.rivals]
    peaks = [k for k in ranked if is_peak(score, number._at(k))]
    coarser = [k for k in peaks if k < number.chosen]
    finer = [k for k in peaks if k > number.chosen]
    return sorted({*rivals[:MOST_RESAMPLED], *coarser[:BESIDE], *finer[:BESIDE]})


def coarser_if_as_good(number: NumberOfClusters) -> NumberOfClusters:
    """Among the best number and the coarser peaks of the score in its range, choose the number with
    the largest product of score and stability.
    """
    best, score = number.chosen, number.score
    values = {
        k: float((score * number.stability)[number._at(k)])
        for k in number.rivals
        if k == best or (k < best and is_peak(score, number._at(k)))
    }
    known = {k: value for k, value in values.items() if np.isfinite(value)}
    return replace(number, chosen=max(known, key=lambda k: known[k], default=best))


def _stable_beside(number: NumberOfClusters) -> list[int]:
    """Return the most stable resolutions that are coarser or finer than the chosen one and are
    peaks among the measured stabilities.
    """
    measured = np.flatnonzero(np.isfinite(number.stability))
    candidates, stability = number.candidates[measured], number.stability[measured]
    ranked = np.argsort(-stability, kind="stable")
    peaks = [
        int(candidates[at])
        for at in ranked
        if stability[at] >= number.stable and is_peak(stability, at)
    ]
    coarser = [k for k in peaks if k < number.chosen]
    finer = [k for k in peaks if k > number.chosen]
    return [*coarser[:BESIDE], *finer[:BESIDE]]
