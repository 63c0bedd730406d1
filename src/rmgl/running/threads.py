"""Threads for one fit: views side by side, or the rows of one long loop; stopped at once by Ctrl-C.

Inside a team linear algebra libraries use one thread, and loops over rows are cut where each row is its own sum or at places that do
not depend on the number of threads, so that the same numbers come out for any number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from numbers import Integral
from typing import Any

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

from rmgl.running.memory import room_for_threads, take_buffers

Check = Callable[[], None]
InParts = Callable[[Callable[[int, int], Any], int], list[Any]]
"""in_parts(work, n): the list of work(first, stop) for parts of the rows 0..n-1, in their order."""


def one_part(work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
    """All rows at once, in this thread."""
    return [work(0, n_rows)]


@cache
def _controller(user_api: str) -> ThreadpoolController:
    """The thread pools of the "blas" or "openmp" libraries in this process; looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api=user_api)


def number_of_workers(n_jobs: int | None) -> int:
    """The threads or processes that `n_jobs` asks for, as joblib counts them: None for one, -1 for all cores, -2 for all but one.

    More than there are cores would wait for one another, and are not used; nor are more than a limit on the address space (ulimit -v)
    has room for.
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs={n_jobs!r} must be a whole number other than 0, or None: use 1 for one thread and -1 for all cores")
    most = (cpu_count(), room_for_threads())
    return min(effective_n_jobs(n_jobs), *(number for number in most if number is not None))


class _OneBlasThread:
    """The block in which BLAS uses one thread. It has one number of threads for the whole process.

    Blocks of several Python threads overlap in any order: the first one to be entered sets the number, the last one to be left restores
    what was before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limit: Any = None
        if hasattr(os, "register_at_fork"):  # a child must not find the lock held by a thread that it does not have
            release = self._lock.release
            os.register_at_fork(before=self._lock.acquire, after_in_parent=release, after_in_child=release)

    def __enter__(self) -> None:
        take_buffers()
        with self._lock:
            if self._n_inside == 0:
                _let_any_thread_decide()
                self._limit = _controller("blas").limit(limits=1)
            self._n_inside += 1

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                _let_any_thread_decide()
                self._limit.restore_original_limits()
                _let_any_thread_decide()


def _let_any_thread_decide() -> None:
    """From version 3.8 on threadpoolctl obeys one thread alone, the first that asked, and ignores the others."""
    for library in _controller("blas").lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_one_blas_thread = _OneBlasThread()


def single_threaded(user_api: str) -> AbstractContextManager[Any]:
    """Keep "blas" or "openmp" to one thread in a block. OpenMP has a number of threads for each thread that uses it."""
    return _one_blas_thread if user_api == "blas" else _controller(user_api).limit(limits=1)


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

    def in_parts(self, work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
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
