"""Threads for one fit: views side by side, or the rows of one long loop; stopped at once by Ctrl-C.

Inside a team linear algebra libraries use one thread, and loops over rows are cut where each row is its own sum or at places that do
not depend on the number of threads, so that the same numbers come out for any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

Check = Callable[[], None]
Rows = Callable[[Callable[[int, int], Any], int], list[Any]]
"""rows(work, n): the list of work(first, stop) for parts of the rows 0..n-1, in their order."""


def one_part(work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
    """All rows at once, in this thread."""
    return [work(0, n_rows)]


@cache
def _controller() -> ThreadpoolController:
    """The thread pools of the libraries in this process; looking for them takes milliseconds."""
    return ThreadpoolController()


def single_threaded(user_api: str) -> AbstractContextManager[Any]:
    """Keep "blas" or "openmp" to one thread in a block."""
    return _controller().limit(limits=1, user_api=user_api)


class Interrupted(Exception):
    """Raised inside a worker when the main thread has given up."""


class Team:
    """`n_threads` threads. Work calls the `check` it is given now and then; it raises when the run is over."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._stop = threading.Event()
        self._local = threading.local()
        self._workers = ThreadPoolExecutor(n_threads, thread_name_prefix="rmgl")
        self._row_workers = ThreadPoolExecutor(n_threads, thread_name_prefix="rmgl-rows")

    def __call__(self, work: Callable[[Any, Check], Any], items: Sequence[Any]) -> list[Any]:
        """The list of work(item, check), several items side by side; threads that are left over help with the rows of each."""
        side_by_side = min(self.n_threads, len(items))
        if side_by_side <= 1:
            return [work(item, self._check) for item in items]

        def one(item: Any) -> Any:
            self._local.share = self.n_threads // side_by_side
            return work(item, self._check)

        return list(self._workers.map(one, items))

    def rows(self, work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
        """The list of work(first, stop) for as many parts of the rows as there are threads for them."""
        parts = min(getattr(self._local, "share", self.n_threads), n_rows)
        if parts <= 1:
            return one_part(work, n_rows)
        bounds = [n_rows * part // parts for part in range(parts + 1)]
        return list(self._row_workers.map(work, bounds[:-1], bounds[1:]))

    def _check(self) -> None:
        if self._stop.is_set():
            raise Interrupted

    def dismiss(self, interrupted: bool) -> None:
        if interrupted:
            self._stop.set()
        for workers in (self._workers, self._row_workers):
            workers.shutdown(wait=True, cancel_futures=True)


@contextmanager
def team_of(n_threads: int) -> Iterator[Team]:
    """A team whose threads are gone when the block is left, for whatever reason."""
    with single_threaded("blas"):
        team = Team(n_threads)
        try:
            yield team
        except BaseException:
            team.dismiss(interrupted=True)
            raise
        team.dismiss(interrupted=False)
