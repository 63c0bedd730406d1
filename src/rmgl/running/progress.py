"""Progress bars for the rounds of Algorithm 1, the cells of an experiment and the tasks of a cluster, and a stopwatch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any


@contextmanager
def half_step_progress(max_iter: int, shown: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show a progress bar; yields a function that takes each new row of the history. Does nothing unless `shown`."""
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
        bar.total = bar.n  # the fit may end before max_iter: show a full bar
        bar.refresh()


@contextmanager
def cell_progress(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar; yields a function of the number of cells done, the number of all cells, and the name of the last one."""
    from tqdm.auto import tqdm

    with tqdm(unit="cell", desc=name) as bar:

        def advance(done: int, total: int, last: str) -> None:
            bar.total = total
            bar.set_postfix_str(last)
            bar.update(done - bar.n)

        yield advance


@contextmanager
def task_progress(name: str, total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; yields a function of the number of tasks done. Does nothing unless `shown`."""
    if not shown:
        yield lambda done: None
        return

    from tqdm.auto import tqdm

    with tqdm(total=total, unit="task", desc=name) as bar:
        yield lambda done: bar.update(done - bar.n) and None
        bar.update(total - bar.n)


class Stopwatch:
    """Wall-clock seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        began = perf_counter()
        yield
        self.add(stage, perf_counter() - began)

    @contextmanager
    def shared(self) -> Iterator[list[dict[str, float]]]:
        """Divide the time of the block among several stages.

        Append to the list a dict of the seconds that each worker spent on each stage; the time is divided in proportion to them.
        """
        spent: list[dict[str, float]] = []
        began = perf_counter()
        yield spent
        wall, work = perf_counter() - began, sum(sum(part.values()) for part in spent)
        for part in spent:
            for stage, seconds in part.items():
                self.add(stage, wall * seconds / work)

    def add(self, stage: str, seconds: float) -> None:
        """Add seconds to a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
