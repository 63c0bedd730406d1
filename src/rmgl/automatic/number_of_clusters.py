"""How many clusters there are, from the common graph alone.

For every K the graph is cut spectrally into K parts. The score of K is *modularity* times the
square of *stability*:

    modularity  sum_c  (weight inside c) / (all weight)  -  (degrees in c / all degrees)^2
    stability   mean adjusted Rand index with parts found anew on random four fifths of the nodes

and the K of the largest score is chosen. K goes up to 30, and to 60 and 120 where the normalized
Laplacian still has eigenvalues below a quarter there. A new rule is one function here: add it to
`NUMBER_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl.archive.records import record
from rmgl.automatic.weighing import Weighing
from rmgl.checks import Unsound, sound_indices, sound_numbers
from rmgl.embedding.common_graph import Graph
from rmgl.embedding.eigenvectors import smallest_eigenvectors
from rmgl.embedding.resampling import cut, four_fifths, parts_of
from rmgl.rules import find_rule, ranged
from rmgl.running.checkpoint import Checkpoint

DRAW_TOL = 1e-4
"""Relative residual of the eigenvectors of resampled graphs."""
BESIDE = 2
"""Most resolutions that are shown on each side of the chosen one."""

NumberRule = Callable[[Graph, np.random.RandomState], "NumberOfClusters"]
"""rule(graph, random_state) -> the number of clusters of the common graph, with its evidence."""


@dataclass(frozen=True)
class Counting:
    """The numbers and the rule that choose the number of clusters."""

    number: str | NumberRule = "stability"
    """How the number of clusters is chosen where it is not given: by "stability" and modularity, or
    rule(graph, random_state) -> NumberOfClusters."""
    ranges: tuple[tuple[int, int], ...] = ((30, 1), (60, 2), (120, 4))
    """Numbers that are tried: up to the first number of each pair, in steps of the second."""
    full_spectrum: float = ranged(0.25, 0.0, 2.0)
    """Eigenvalue of the normalized Laplacian above which no further clusters are looked for."""
    rows_per_cluster: float = ranged(6.0, 1.0, 1e9)
    """Least mean size of a cluster."""
    draws: int = ranged(4, 1, 1000)
    """Random parts of the entities on which stability is measured."""
    stable: float = ranged(0.8, 0.0, 1.0)
    """Stability from which a resolution is shown beside the chosen one."""
    very_stable: float = ranged(0.9, 0.0, 1.0)
    """Stability from which the number of clusters may be certain."""
    clear: float = ranged(0.9, 0.0, 1.0)
    """Share of the best score above which another number, more than one and more than a fifth away,
    makes the choice uncertain."""

    def choose_number(
        self,
        graph: Graph,
        random_state: np.random.RandomState,
        checkpoint: Checkpoint | None = None,
    ) -> NumberOfClusters:
        """The number of clusters of a graph. Built-in rules keep eigenvectors in a checkpoint."""
        rule: Callable[..., Any] = find_rule("number", self.number, NUMBER_RULES)
        built_in = (checkpoint, self) if isinstance(self.number, str) else ()
        number = rule(graph, random_state, *built_in)
        if not isinstance(number, NumberOfClusters):
            raise ValueError(
                "policy: the rule for the number of clusters returned a "
                f"{type(number).__name__}, but must return a NumberOfClusters"
            )
        number.check(graph.shape[0])
        return number


@record
@dataclass(frozen=True)
class NumberOfClusters:
    """K and the evidence for it."""

    chosen: int
    candidates: NDArray[np.intp]
    modularity: NDArray[np.float64]
    eigengap: NDArray[np.float64]
    """(next eigenvalue - last one used) / next eigenvalue, of the normalized Laplacian."""
    stability: NDArray[np.float64]
    """NaN where it was not measured."""
    resolutions: NDArray[np.intp] | None = None
    """The numbers at which the graph falls into stable parts, and the chosen one."""
    parts: NDArray[np.intp] | None = None
    """The parts of the graph for each of these numbers, one row of labels for each (None: unknown).
    """
    stable: float = Counting.stable
    """Stability from which a resolution counts as mostly found again."""
    very_stable: float = Counting.very_stable
    """Stability from which a resolution counts as found again."""
    clear: float = Counting.clear
    """Share of the best score from which another number is a rival."""

    def at_least(self, least: int) -> NumberOfClusters:
        """The best number from `least` on, which known labels need; its parts are not known."""
        if self.chosen >= least:
            return self
        enough = self.candidates >= least
        if enough.any():
            chosen = int(self.candidates[enough][self.score[enough].argmax()])
            return replace(self, chosen=chosen, resolutions=None, parts=None)
        more = {"candidates": least, "modularity": 0.0, "eigengap": 0.0, "stability": np.nan}
        longer: dict[str, Any] = {
            name: np.append(getattr(self, name), value) for name, value in more.items()
        }
        return replace(self, chosen=least, resolutions=None, parts=None, **longer)

    def in_order(self, order: NDArray[np.intp]) -> NumberOfClusters:
        """The evidence about nodes in another order."""
        return self if self.parts is None else replace(self, parts=self.parts[:, order])

    def check(self, n_nodes: int) -> None:
        """Refuse evidence from a file that cannot be about so many nodes."""
        sound_indices("the candidate numbers of clusters", self.candidates, n_nodes + 1)
        for name in ("modularity", "eigengap", "stability"):
            values = getattr(self, name)
            sound_numbers(
                f"the {name} of numbers of clusters", np.nan_to_num(values), self.candidates.shape
            )
        if self.chosen not in self.candidates or self.chosen < 1:
            raise Unsound(f"{self.chosen} clusters were chosen, which is not among the candidates")
        if (self.resolutions is None) != (self.parts is None):
            raise Unsound("resolutions without their parts, or parts without their resolutions")
        if self.resolutions is not None and self.parts is not None:
            self._check_parts(self.resolutions, self.parts, n_nodes)

    def _check_parts(
        self, resolutions: NDArray[np.intp], parts: NDArray[np.intp], n_nodes: int
    ) -> None:
        """Refuse parts from a file that are not those of the resolutions."""
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
    def score(self) -> NDArray[np.float64]:
        """Modularity times stability squared; modularity alone where stability was not measured."""
        stability = np.where(np.isnan(self.stability), 1.0, np.maximum(self.stability, 0.0))
        score: NDArray[np.float64] = self.modularity * stability**2
        return score

    @property
    def rivals(self) -> list[int]:
        """The K whose score is within a tenth of the best."""
        return [int(k) for k in self.candidates[self.score >= self.clear * self.score.max()]]

    @property
    def confidence(self) -> str:
        """The word "high" or "low".

        High if the parts are found again on some of the nodes, no other number does nearly as well,
        and nodes are many.
        """
        at = self._at(self.chosen)
        elsewhere = np.abs(self.candidates - self.chosen) > max(1.0, 0.2 * self.chosen)
        clear = not elsewhere.any() or self.score[elsewhere].max() < self.clear * self.score[at]
        many = self.parts is None or self.parts.shape[1] >= Weighing.few_entities
        return "high" if clear and many and self.stability[at] >= self.very_stable else "low"

    @property
    def reason(self) -> str:
        at = self._at(self.chosen)
        return (
            f"chosen: modularity {self.modularity[at]:.3f} and stability "
            f"{self.stability[at]:.2f}, the best of {self.candidates[0]} to "
            f"{self.candidates[-1]}; confidence {self.confidence}"
        )

    @property
    def table(self) -> list[dict[str, object]]:
        """The resolutions: K, stability, modularity, eigengap, and a plain sentence."""
        return [
            {
                "n_clusters": int(k),
                "stability": float(self.stability[self._at(k)]),
                "modularity": float(self.modularity[self._at(k)]),
                "eigengap": float(self.eigengap[self._at(k)]),
                "sentence": self._sentence(int(k)),
            }
            for k in ([self.chosen] if self.resolutions is None else self.resolutions)
        ]

    def _sentence(self, k: int) -> str:
        stability, found = self.stability[self._at(k)], "are hardly found again"
        if stability >= self.very_stable:
            found = "are found again"
        elif stability >= self.stable:
            found = "are mostly found again"
        beside = "chosen" if k == self.chosen else "coarser" if k < self.chosen else "finer"
        return f"{k} clusters ({beside}) {found} on four fifths of the entities"

    def _at(self, k: int | np.intp) -> int:
        return int(np.flatnonzero(self.candidates == k)[0])

    def as_dict(self) -> dict[str, object]:
        rows = zip(
            self.candidates.tolist(), self.modularity, self.eigengap, self.stability, strict=True
        )
        names = ("n_clusters", "modularity", "eigengap", "stability")
        return {
            "chosen": self.chosen,
            "confidence": self.confidence,
            "resolutions": self.table,
            "candidates": [dict(zip(names, row, strict=True)) for row in rows],
        }


def by_stability(
    graph: Graph,
    random_state: np.random.RandomState,
    checkpoint: Checkpoint | None = None,
    numbers: Counting | None = None,
) -> NumberOfClusters:
    """The number of clusters with the largest score. A checkpoint keeps eigenvectors."""
    numbers = Counting() if numbers is None else numbers
    graph = sparse.csr_array(graph)
    n = graph.shape[0]
    if n < 3:
        raise ValueError(
            f"n_clusters='auto' needs at least 3 rows, but the views have {n}: give n_clusters"
        )
    most = max(2, int(n // numbers.rows_per_cluster))
    draws = [four_fifths(np.arange(n), random_state) for _ in range(numbers.draws)]
    candidates, values, stability = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    parts: list[NDArray[np.intp]] = []
    for largest, step in numbers.ranges:
        first = candidates[-1] + step if candidates.size else 2
        more = np.arange(first, min(largest, most) + 1, step)
        if not more.size:
            break
        n_vectors = min(int(more[-1]) + 1, n)
        spectrum = smallest_eigenvectors(graph, n_vectors, normalized=True, checkpoint=checkpoint)
        values = np.append(spectrum.values, 2.0)
        cuts = [cut(spectrum.vectors, int(k), random_state) for k in more]
        measured = _stability(graph, more, cuts, draws, random_state, checkpoint)
        stability = np.append(stability, measured)
        candidates, parts = np.append(candidates, more), [*parts, *cuts]
        if values[candidates[-1]] > numbers.full_spectrum:
            break
    modularities = np.array([modularity(graph, labels) for labels in parts])
    after = np.maximum(values[candidates], np.finfo(float).tiny)
    gaps = (values[candidates] - values[candidates - 1]) / after
    number = NumberOfClusters(
        int(candidates[0]),
        candidates,
        modularities,
        gaps,
        stability,
        stable=numbers.stable,
        very_stable=numbers.very_stable,
        clear=numbers.clear,
    )
    best = int(number.score.argmax())
    shown = sorted([best, *_stable_beside(best, stability, candidates, numbers.stable)])
    shown_parts = np.array([parts[at] for at in shown], dtype=np.intp)
    return replace(
        number, chosen=int(candidates[best]), resolutions=candidates[shown], parts=shown_parts
    )


NUMBER_RULES: dict[str, NumberRule] = {"stability": by_stability}


def _stable_beside(
    best: int, stability: NDArray[np.float64], candidates: NDArray[np.intp], least: float
) -> list[int]:
    """The most stable resolutions, peaks of stability, that are coarser and finer than the best."""
    ranked = np.argsort(-stability)
    peaks = [at for at in ranked if stability[at] >= least and _is_peak(stability, at)]
    coarser = [at for at in peaks if candidates[at] < candidates[best]]
    finer = [at for at in peaks if candidates[at] > candidates[best]]
    return [*coarser[:BESIDE], *finer[:BESIDE]]


def _is_peak(values: NDArray[np.float64], at: int) -> bool:
    """Whether a value is at least as large as those beside it."""
    return bool(values[at] >= values[max(0, at - 1) : at + 2].max())


def modularity(graph: sparse.csr_array, labels: NDArray[np.intp]) -> float:
    """Weight inside clusters beyond what their degrees would give by chance, as a share of all
    weight.
    """
    shares = np.bincount(labels, weights=graph.sum(axis=1)) / graph.sum()
    return share_inside(graph, labels) - float(shares @ shares)


def share_inside(graph: sparse.csr_array, labels: NDArray[np.intp]) -> float:
    """The share of all edge weight that lies inside clusters."""
    entries = graph.tocoo()
    return float(
        entries.data[labels[entries.row] == labels[entries.col]].sum() / entries.data.sum()
    )


def _stability(
    graph: sparse.csr_array,
    numbers: NDArray[np.intp],
    parts: list[NDArray[np.intp]],
    draws: list[NDArray[np.intp]],
    random_state: np.random.RandomState,
    checkpoint: Checkpoint | None,
) -> NDArray[np.float64]:
    """The mean agreement of parts with those of the graph of some of the nodes."""
    agreement = np.zeros((len(draws), numbers.size))
    for draw, nodes in enumerate(draws):
        again = parts_of(
            graph,
            nodes,
            numbers.tolist(),
            random_state,
            tol=DRAW_TOL,
            normalized=True,
            checkpoint=checkpoint,
        )
        pairs = zip(parts, again, strict=True)
        agreement[draw] = [adjusted_rand_score(first[nodes], second) for first, second in pairs]
    means: NDArray[np.float64] = agreement.mean(axis=0)
    return means
