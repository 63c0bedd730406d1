"""Progress bars: over the rounds of Algorithm 1, and over the cells of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any


@contextmanager
def half_step_progress(max_iter: int, shown: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that takes each new row of the history and moves the bar (or does nothing)."""
    if not shown:
        yield lambda row: None
        return

    from tqdm.auto import tqdm

    with tqdm(total=max_iter, unit="round", desc="RMGL") as bar:

        def advance(row: dict[str, Any]) -> None:
            bar.set_postfix_str(f"{row['step']}, objective {row['objective']:.6g}")
            if row["step"] == "embedding":
                bar.update()

        yield advance
        bar.total = bar.n  # done before max_iter: the bar ends full
        bar.refresh()


@contextmanager
def cell_progress(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """A function that takes how many cells are done, how many there are, and the last one's name."""
    from tqdm.auto import tqdm

    with tqdm(unit="cell", desc=name) as bar:

        def advance(done: int, total: int, last: str) -> None:
            bar.total = total
            bar.set_postfix_str(last)
            bar.update(done - bar.n)

        yield advance


class Stopwatch:
    """Wall-clock seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = perf_counter()
        yield
        self.add(stage, perf_counter() - began)

    @contextmanager
    def shared(self) -> Iterator[list[dict[str, float]]]:
        """One stretch of time of several stages: append what each worker spent on them; it is divided in that proportion."""
        spent: list[dict[str, float]] = []
        began = perf_counter()
        yield spent
        wall, work = perf_counter() - began, sum(sum(part.values()) for part in spent)
        for part in spent:
            for stage, seconds in part.items():
                self.add(stage, wall * seconds / work)

    def add(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
