"""Messages to the user: progress bars, the time taken by each stage, and warnings."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import Protocol

SHARES = {
    "reading": 3,
    "scaling": 2,
    "neighbors": 32,
    "number of clusters": 10,
    "layers": 12,
    "embedding": 8,
    "clusters": 3,
    "quick refits": 12,
    "writing": 3,
    "page": 15,
}
"""Stages of a run in order, with the rough share of the total time that each one takes."""
BAR_FORMAT = "{desc:18s} {percentage:3.0f}% |{bar}| {elapsed} elapsed, about {remaining} left"
TICK = 0.5
"""Seconds between updates of the bar's clock, even within a stage."""


class Stage(Protocol):
    """Function stage(name, part): the run is in this stage, and a fraction `part` of it is done."""

    def __call__(self, name: str, part: float = 0.0, /) -> None: ...


class Bar:
    """Progress bar on standard error with the stage of a run, the time spent and the time left."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self.bar = tqdm(total=sum(SHARES.values()), bar_format=BAR_FORMAT, smoothing=0)
        self.begins = dict(zip(SHARES, accumulate(SHARES.values(), initial=0), strict=False))
        self.over = threading.Event()
        self.ticking = threading.Thread(target=self._tick, name="rmgl-progress", daemon=True)
        self.ticking.start()

    def __call__(self, name: str, part: float = 0.0) -> None:
        """Show a stage. The bar never moves back, although workers may finish in any order."""
        self.bar.set_description_str(name, refresh=False)
        self.bar.update(max(0.0, self.begins[name] + part * SHARES[name] - self.bar.n))
        self.bar.refresh()

    def _tick(self) -> None:
        while not self.over.wait(TICK):
            self.bar.refresh()

    def close(self, finished: bool) -> None:
        """Stop the clock. A finished run ends with a full bar."""
        self.over.set()
        self.ticking.join()
        if finished:
            self.bar.set_description_str("done", refresh=False)
            self.bar.update(self.bar.total - self.bar.n)
        self.bar.close()


_open_bar: Bar | None = None


@contextmanager
def stages(shown: bool) -> Iterator[Stage]:
    """Show a progress bar in this block, if `shown`. Yields a function for reporting stages.

    Nested blocks use the same bar: a command shows one bar for reading, fitting and writing.
    """
    global _open_bar
    if _open_bar is not None or not shown:
        yield _open_bar or (lambda name, part=0.0: None)
        return
    finished, _open_bar = False, Bar()
    try:
        yield _open_bar
        finished = True
    finally:
        bar, _open_bar = _open_bar, None
        bar.close(finished)


@contextmanager
def cell_progress(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar for the cells of an experiment.

    Yields a function that takes the number of cells done, the total number of cells, and the name
    of the last one.
    """
    from tqdm.auto import tqdm

    with tqdm(unit="cell", desc=name) as bar:

        def advance(done: int, total: int, last: str) -> None:
            bar.total = total
            bar.set_postfix_str(last)
            bar.update(done - bar.n)

        yield advance


@contextmanager
def task_progress(name: str, total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar, if `shown`. Yields a function that takes the number of tasks done."""
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
        """Add the time taken by the block to a stage."""
        began = perf_counter()
        yield
        self.add(stage, perf_counter() - began)

    @contextmanager
    def shared(self) -> Iterator[list[dict[str, float]]]:
        """Divide the time taken by the block among several stages.

        For each worker, append to the list a dict of how many seconds it spent on each stage. The
        time is divided in proportion to these seconds.
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


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that is neither in this package nor in scikit-learn.

    Scikit-learn's methods call `fit`, so their lines do not help users.
    """
    import sklearn

    files = (Path(__file__).parent, Path(sklearn.__file__))
    folders = tuple(f"{file.parent}{os.sep}" for file in files)
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(folders):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
