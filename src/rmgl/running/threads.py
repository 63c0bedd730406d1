"""Threads and memory of one fit.

Threads work on several views at once or share the rows of one long loop. Ctrl-C stops them
immediately.

Inside a team, linear algebra libraries use one thread. Loops are divided into rows whose sums are
independent, or at places that do not depend on the number of threads, so results are identical for
any number of threads. Available memory is checked before a large array is allocated.
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
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import numpy as np
from joblib import cpu_count, effective_n_jobs
from scipy.linalg import blas
from threadpoolctl import ThreadpoolController

try:
    import resource
except ImportError:  # Windows has no such module
    resource = None  # type: ignore[assignment]

GIB = 1 << 30
MIB = 1 << 20
PROCESS = Path("/proc/self")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
UNLIMITED = 1 << 60
"""Version 1 control groups report a limit of this order if there is no limit."""
BUFFERS = 96 * MIB
"""Address space that OpenBLAS needs per thread: 32 MiB each for numpy and scipy, and a reserve."""
THREAD = 144 * MIB
"""Address space of two threads, one for views and one for rows: a stack and a heap each."""

Check = Callable[[], None]
"""A function that long computations call repeatedly. It raises an exception to stop the run."""
Searching = Callable[[Any], Any]
"""Function searching(rows) that returns a space of rows that Dask workers search."""
InParts = Callable[[Callable[[int, int], Any], int], list[Any]]
"""Function in_parts(work, n): list of work(first, stop) for consecutive parts of rows 0..n-1."""


class Executor(Protocol):
    """Runs the long loops and the searches of a fit."""

    @property
    def in_parts(self) -> InParts:
        """Function that shares the rows of long loops among threads of this process."""

    def searching(self, rows: Any) -> Any:
        """Return a space of dense or sparse rows that this executor searches."""


def no_check() -> None:
    """Never stop a run."""


def one_part(work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
    """Call work once for all rows, in this thread."""
    return [work(0, n_rows)]


class _Alone:
    """Executor that uses only the calling thread."""

    in_parts = staticmethod(one_part)

    def searching(self, rows: Any) -> Any:
        return rows


ALONE: Executor = _Alone()


def one_by_one(in_parts: InParts, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return the list of work(item). Each thread takes the next item when it has finished one."""
    results: list[Any] = [None] * len(items)
    waiting = iter(enumerate(items))
    lock = threading.Lock()

    def take_items(first: int, stop: int) -> None:
        while True:
            with lock:
                place, item = next(waiting, (-1, None))
            if place < 0:
                return
            try:
                results[place] = work(item)
            except BaseException:
                with lock:  # no thread begins another item
                    list(waiting)
                raise

    if items:
        in_parts(take_items, len(items))
    return results


@cache
def _blas() -> ThreadpoolController:
    """Return the thread pools of the linear algebra libraries that this package uses."""
    return ThreadpoolController().select(user_api="blas")


@lru_cache(maxsize=1)
def _openmp(n_modules: int) -> ThreadpoolController:
    """Return the thread pools of all OpenMP libraries, to which each new module may add."""
    return ThreadpoolController().select(user_api="openmp")


def number_of_workers(n_jobs: int | None) -> int:
    """Return the number of threads or processes for `n_jobs`, as in joblib.

    None means one, -1 all cores, -2 all cores but one. The result is at most the number of cores,
    and at most what a limit on the address space (ulimit -v) allows.
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

    BLAS has a single thread count for the whole process. Several Python threads may be in this
    context at once: the first to enter sets the count, and the last to leave restores it.
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

    Since version 3.8, threadpoolctl otherwise obeys only the first thread that set it.
    """
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_one_blas_thread = _OneBlasThread()


def single_threaded(user_api: str) -> AbstractContextManager[Any]:
    """Return a context in which "blas", or "openmp" in this thread, uses one thread."""
    return _one_blas_thread if user_api == "blas" else _openmp(len(sys.modules)).limit(limits=1)


class Interrupted(Exception):
    """Raised inside a worker when the main thread has stopped the run."""


class Team:
    """A team of `n_threads` threads.

    Work repeatedly calls the `check` it is given, which raises `Interrupted` when the run is
    stopped.
    """

    def __init__(self, n_threads: int, searching: Searching | None = None) -> None:
        self.n_threads = n_threads
        self._searching = searching
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._n_running = 0
        self._workers = ThreadPoolExecutor(n_threads, thread_name_prefix="rmgl")
        self._row_workers = ThreadPoolExecutor(n_threads, thread_name_prefix="rmgl-rows")

    def __call__(self, work: Callable[[Any, Check], Any], items: Sequence[Any]) -> list[Any]:
        """Return the list of work(item, check), with several items in parallel.

        While there are fewer items than threads, several threads share the rows of an item.
        """
        if min(self.n_threads, len(items)) <= 1:
            return [work(item, self._check) for item in items]

        def one(item: Any) -> Any:
            with self._lock:
                self._n_running += 1
            try:
                return work(item, self._check)
            finally:
                with self._lock:
                    self._n_running -= 1

        return list(self._workers.map(one, items))

    def in_parts(self, work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
        """Return the list of work(first, stop) for consecutive parts of rows, one per thread."""
        parts = min(self.n_threads // max(1, self._n_running), n_rows)
        if parts <= 1:
            return one_part(work, n_rows)
        bounds = [n_rows * part // parts for part in range(parts + 1)]
        return list(self._row_workers.map(work, bounds[:-1], bounds[1:]))

    def searching(self, rows: Any) -> Any:
        """Return a space of rows whose searches are shared by the threads or run elsewhere."""
        rows = rows.in_threads(self.in_parts)
        return rows if self._searching is None else self._searching(rows)

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
def team_of(n_threads: int, searching: Searching | None = None) -> Iterator[Team]:
    """Yield a team of threads that end with the block, even if it raises an exception."""
    with single_threaded("blas"):
        team = Team(n_threads, searching)
        try:
            yield team
        except BaseException:
            team.dismiss(interrupted=True)
            raise
        team.dismiss(interrupted=False)


def available_memory() -> int | None:
    """Return the bytes of memory that this process can still use (None: unknown)."""
    limits = (_system_memory(), _control_group_memory(), _address_space_beside_buffers())
    return min((limit for limit in limits if limit is not None), default=None)


def is_small(needed: int) -> bool:
    """Return whether this many bytes are at most a quarter of the available memory."""
    available = available_memory()
    return available is None or needed <= available / 4


def require_memory(needed: int, purpose: str, way_out: str = "use fewer rows (a sample)") -> None:
    """Raise a MemoryError if less than `needed` is available. `way_out` says how to use less."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{purpose} need at least {amount(needed)} of memory, but only {amount(available)} "
            f"is available: {way_out}, use a machine with more memory, or raise the memory limit "
            "of this process"
        )


def amount(size: int) -> str:
    """Return a number of bytes in GiB or MiB, for messages."""
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{max(size, 0) / MIB:.1f} MiB"


@cache
def take_buffers() -> None:
    """Allocate linear algebra buffers for one thread while there is enough address space.

    OpenBLAS ends the process, or retries forever, if it cannot allocate these buffers.
    """
    available = address_space()
    if available is not None and available < BUFFERS:
        raise MemoryError(
            f"linear algebra needs {amount(BUFFERS)} of address space, but the limit of this "
            f"process leaves {amount(available)}: raise the limit (ulimit -v, ulimit -d)"
        )
    ones = np.ones((4, 4))
    blas.dgemm(1.0, ones, ones @ ones)


def room_for_threads() -> int | None:
    """Return how many threads fit into half of the remaining address space (None: no limit)."""
    available = address_space()
    return None if available is None else max(1, available // 2 // (BUFFERS + THREAD))


def address_space() -> int | None:
    """Return the bytes of address space that the limits of the process leave (None: no limits)."""
    if resource is None:
        return None
    try:
        pages = [int(pages) for pages in (PROCESS / "statm").read_text().split()]
    except (OSError, ValueError):
        return None
    used = {resource.RLIMIT_AS: pages[0], resource.RLIMIT_DATA: pages[5]}
    limits = {kind: resource.getrlimit(kind)[0] for kind in used}
    left = [
        limit - used[kind] * resource.getpagesize()
        for kind, limit in limits.items()
        if limit != resource.RLIM_INFINITY
    ]
    return min(left, default=None)


def _address_space_beside_buffers() -> int | None:
    """Return the remaining address space, less buffers that other threads may still allocate.

    This thread has its buffers already, and half of the threads of a team wait while the other half
    works.
    """
    available = address_space()
    return None if available is None else available - (threading.active_count() - 1) * BUFFERS // 2


def _system_memory() -> int | None:
    """Return the available memory of the system."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:  # other Unix systems: the physical memory
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group_memory() -> int | None:
    """Return the memory that the limits of a container or batch job leave (None: no limits).

    The limits are those of the control groups of the process and of their parents.
    """
    left = []
    for group, (limit_file, used_file, cached) in _control_groups():
        try:
            limit = int((group / limit_file).read_text())
            if limit >= UNLIMITED:
                continue
            used = int((group / used_file).read_text())
            lines = (group / "memory.stat").read_text().splitlines()
            # the system frees cached files when memory is needed
            left.append(limit - used + int(dict(map(str.split, lines)).get(cached, 0)))
        except (OSError, ValueError):  # no such group, or "max": no limit
            continue
    return min(left, default=None)


def _control_groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yield the control groups of this process, with the names of their files.

    In a container, the group of the process may be the root.
    """
    try:
        lines = (PROCESS / "cgroup").read_text().splitlines()
    except OSError:
        lines = ["0::/"]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = PurePosixPath(path).relative_to("/")
        for group in (inside, *inside.parents):
            if not controllers:
                yield CONTROL_GROUPS / group, VERSION_2
                yield CONTROL_GROUPS / "unified" / group, VERSION_2
            elif "memory" in controllers.split(","):
                yield CONTROL_GROUPS / "memory" / group, VERSION_1
