"""Threads of one fit, for several views at once or for the rows of one long loop.

Ctrl-C stops them at once.

Inside a team, linear algebra libraries use one thread. Loops are divided into rows whose sums are
independent, or at places that do not depend on the number of threads, so results are identical for
any number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache, lru_cache
from numbers import Integral
from typing import Any

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

from rmgl.running.memory import room_for_threads, take_buffers

Check = Callable[[], None]
"""A function that long computations call repeatedly; it raises an exception to stop the run."""
InParts = Callable[[Callable[[int, int], Any], int], list[Any]]
"""in_parts(work, n): the list of work(first, stop) for consecutive parts of the rows 0..n-1."""


def no_check() -> None:
    """The check that never stops a run."""


def one_part(work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
    """Call work once for all rows, in this thread."""
    return [work(0, n_rows)]


@cache
def _blas() -> ThreadpoolController:
    """The thread pools of the linear algebra libraries that this package uses."""
    return ThreadpoolController().select(user_api="blas")


@lru_cache(maxsize=1)
def _openmp(n_modules: int) -> ThreadpoolController:
    """The thread pools of all OpenMP libraries; a new module may bring one more.

    Finding them takes milliseconds, so they are kept while the number of modules stays.
    """
    return ThreadpoolController().select(user_api="openmp")


def number_of_workers(n_jobs: int | None) -> int:
    """The number of threads or processes for `n_jobs`, as in joblib.

    None means one, -1 all cores, -2 all cores but one. It is at most the number of cores, and at
    most what a limit on the address space (ulimit -v) allows.
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be an integer other than 0, or None: use 1 for one "
            "thread and -1 for all cores"
        )
    most = (cpu_count(), room_for_threads())
    return int(min(effective_n_jobs(n_jobs), *(number for number in most if number is not None)))


class _OneBlasThread:
    """A context in which BLAS uses one thread.

    BLAS has one number of threads for the whole process. Several Python threads may be in this
    context at once: the first to enter sets the number, and the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limit: Any = None
        # a forked child must not inherit a lock held by another thread
        if hasattr(os, "register_at_fork"):
            release = self._lock.release
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=release, after_in_child=release
            )

    def __enter__(self) -> None:
        take_buffers()
        with self._lock:
            if self._n_inside == 0:
                _release_control()
                self._limit = _blas().limit(limits=1)
            self._n_inside += 1

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                _release_control()
                self._limit.restore_original_limits()
                _release_control()


def _release_control() -> None:
    """Let any thread set the limit.

    From version 3.8 on, threadpoolctl otherwise obeys only the first thread that set it.
    """
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_one_blas_thread = _OneBlasThread()


def single_threaded(user_api: str) -> AbstractContextManager[Any]:
    """A context in which "blas" or "openmp" uses one thread.

    OpenMP keeps a separate number for each thread that uses it.
    """
    return _one_blas_thread if user_api == "blas" else _openmp(len(sys.modules)).limit(limits=1)


class Interrupted(Exception):
    """Raised inside a worker when the main thread has stopped the run."""


class Team:
    """A team of `n_threads` threads.

    Work repeatedly calls the `check` it is given, which raises `Interrupted` when the run is
    stopped.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._stop = threading.Event()
        self._local = threading.local()
        self._workers = ThreadPoolExecutor(n_threads, thread_name_prefix="rmgl")
        self._row_workers = ThreadPoolExecutor(n_threads, thread_name_prefix="rmgl-rows")

    def __call__(self, work: Callable[[Any, Check], Any], items: Sequence[Any]) -> list[Any]:
        """The list of work(item, check), with several items in parallel.

        The remaining threads share the rows of each item.
        """
        n_parallel = min(self.n_threads, len(items))
        if n_parallel <= 1:
            return [work(item, self._check) for item in items]

        def one(item: Any) -> Any:
            self._local.share = self.n_threads // n_parallel
            return work(item, self._check)

        return list(self._workers.map(one, items))

    def in_parts(self, work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
        """The list of work(first, stop) for consecutive parts of the rows, one for each thread."""
        parts = min(getattr(self._local, "share", self.n_threads), n_rows)
        if parts <= 1:
            return one_part(work, n_rows)
        bounds = [n_rows * part // parts for part in range(parts + 1)]
        return list(self._row_workers.map(work, bounds[:-1], bounds[1:]))

    def _check(self) -> None:
        """Raise `Interrupted` if the run is stopped."""
        if self._stop.is_set():
            raise Interrupted

    def dismiss(self, interrupted: bool) -> None:
        """End all threads; if `interrupted`, stop their work."""
        if interrupted:
            self._stop.set()
        for workers in (self._workers, self._row_workers):
            workers.shutdown(wait=True, cancel_futures=True)


@contextmanager
def team_of(n_threads: int) -> Iterator[Team]:
    """A team of threads that end with the block, even if it raises an exception."""
    with single_threaded("blas"):
        team = Team(n_threads)
        try:
            yield team
        except BaseException:
            team.dismiss(interrupted=True)
            raise
        team.dismiss(interrupted=False)
