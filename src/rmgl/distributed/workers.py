"""Interface to Dask workers: named tasks, and waiting that never hangs.

Every task is a pure function of sent rows, results of other tasks and small arrays, and no task is
tied to a worker. If a worker is lost, Dask runs its tasks again on the others. Arrays are passed as
task arguments, which the scheduler keeps. They are not scattered, because scattered data would be
lost with a worker. Data that many tasks need are the result of one task: they are sent once, and
workers pass them on.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rmgl.extras import not_installed
from rmgl.running.progress import task_progress
from rmgl.running.threads import Check, no_check
from rmgl.version import __version__

logger = logging.getLogger(__name__)
POLL = 1.0
"""Seconds between checks of the workers while the client waits for results."""
PIECE_BYTES = 8 << 20
"""Bytes of an array that are sent at once. Dask warns about tasks larger than 10 MB."""
ANSWER = 10.0
"""Seconds within which a scheduler responds, unless it is frozen."""
PATIENCE = 30.0
"""Seconds without any worker before a fit fails. Lost workers may restart within this time."""
START_AGAIN = (
    "start workers, and fit again; with checkpoint=, the fit resumes from its finished searches"
)
NEEDS_DASK = not_installed(
    "a fit on Dask workers needs", "distributed", "'dask[array,dataframe]' distributed"
)


def current_client() -> Any:
    """Return the current client of this process. None if there is none."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


class Future(Protocol):
    """Result of a task, kept by the workers.

    It stands in for `distributed.Future`, because Dask is optional.
    """

    def done(self) -> bool: ...

    def release(self) -> None: ...


class NoWorkers(ConnectionError):
    """All workers, or their scheduler, are gone."""


@dataclass
class Workers:
    """The Dask workers of a client. Tasks have names, and waiting for them never hangs."""

    client: Any
    progress: bool = False
    """Whether to show a progress bar while many tasks run."""
    direct: bool | None = None
    """Whether results come directly from the workers instead of through the scheduler. None to use
    the client's setting.
    """
    _run: str = field(default_factory=lambda: f"0{uuid.uuid4().hex[:11]}")
    _tasks: Iterator[int] = field(default_factory=count)
    _futures: weakref.WeakSet[Future] = field(default_factory=weakref.WeakSet, repr=False)
    """Results that are still needed."""

    @classmethod
    def of(cls, client: Any, progress: bool = False) -> Workers:
        """Check that a client can be used, and log where its dashboard is."""
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError(NEEDS_DASK) from error
        if not isinstance(client, Client):
            raise TypeError(
                f"client is of type {type(client).__name__}, but a dask.distributed.Client was "
                "expected: use Client() for workers on this machine, or Client('tcp://host:8786') "
                "for the workers of a remote scheduler"
            )
        if client.asynchronous:
            raise ValueError(
                "the client is asynchronous, but fit waits for results: create it with "
                "Client(asynchronous=False)"
            )
        if client.status != "running":
            raise ValueError(
                f"the client is {client.status}, so nothing can be computed with it: create a new "
                "client with Client(address)"
            )
        workers = cls(client, progress)
        workers.check_versions()
        if all(map(is_here, workers.addresses())):
            workers.direct = True
        logger.info("Dask's dashboard: %s (%s)", client.dashboard_link, client)
        return workers

    def exist(self) -> bool:
        """Return whether the scheduler responds and has a worker."""
        try:
            if self.client.status != "running":
                return False
            ask = self.client.scheduler.ncores
            return len(self.client.sync(ask, callback_timeout=ANSWER)) > 0
        # errors of lost connections, including a TimeoutError
        except (OSError, RuntimeError, AttributeError):
            return False

    def addresses(self) -> list[str]:
        """Return the addresses of all workers."""
        return list(self.client.nthreads())

    def threads_and_limits(self) -> list[tuple[int, int]]:
        """Return the threads of each worker, and its memory limit in bytes (0: no limit)."""
        by_address: dict[str, tuple[int, int]] = self.attended(
            lambda: self.client.run_on_scheduler(threads_and_limits)
        )
        return [by_address[address] for address in sorted(by_address)]

    def check_versions(self) -> None:
        """Raise an error if a worker has a different package version: results could differ."""
        here = __version__
        try:
            (there,) = self.gather([self.submit("rmgl-version", installed_version)])
        # a RuntimeError if the scheduler cannot read the task
        except (ModuleNotFoundError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(
                f"a worker or the scheduler cannot import rmgl ({reason}): install rmgl {here} on "
                "all workers and on the scheduler"
            ) from error
        if there != here:
            raise ValueError(
                f"the workers have rmgl {there}, but this process has {here}: install the same "
                "version everywhere"
            )

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any) -> Future:
        """Run a function on any worker. Dask's dashboard groups tasks by name."""
        future: Future = self.client.submit(task, *arguments, key=self._key(name), pure=False)
        self._futures.add(future)
        return future

    def map(self, name: str, task: Callable[..., Any], *arguments: Sequence[Any]) -> list[Future]:
        """Map a function over arguments of equal length. The tasks are sent together."""
        keys = [self._key(name) for _ in arguments[0]]
        futures: list[Future] = self.client.map(task, *arguments, key=keys, pure=False)
        self._futures.update(futures)
        return futures

    def _key(self, name: str) -> str:
        return f"{name}-{self._run}-{next(self._tasks)}"

    def share(self, name: str, array: NDArray[Any]) -> list[Future]:
        """Send an array to the workers in pieces of rows, which `joined` concatenates."""
        step = max(1, PIECE_BYTES // max(1, array[:1].nbytes))
        return [
            self.submit(name, as_it_is, array[first : first + step])
            for first in range(0, max(1, len(array)), step)
        ]

    def gather(
        self, futures: Sequence[Future], name: str = "", check: Check = no_check
    ) -> list[Any]:
        """Wait for results. Raise the error of a task, or `NoWorkers` if there are no workers."""

        def gathered(futures: list[Future]) -> list[Any]:
            results: list[Any] = self.client.gather(futures, direct=self.direct)
            return results

        return cast(list[Any], self._finish(gathered, list(futures), name, check))

    def attended(self, work: Callable[[], Any]) -> Any:
        """Return the result of work that queries the workers itself. Raises as `gather` does."""
        return self._finish(lambda _: work(), [], "", lambda: None)

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Make the workers forget the remaining tasks if the block raises an error.

        Other references to their results may remain, such as those held by a thread that waits
        for them, or by the traceback of the error. An interruption counts as an error.
        """
        try:
            yield
        except BaseException:
            for future in list(self._futures):
                # canceling tasks that depend on one another can crash the scheduler
                future.release()
            raise

    def _finish(
        self, work: Callable[[list[Future]], Any], futures: list[Future], name: str, check: Check
    ) -> Any:
        """Run work(futures) in a thread, and monitor the workers until it ends."""
        waiting = Waiting(work, futures)
        with task_progress(name, len(futures), self.progress and bool(name)) as advance:
            last_seen = monotonic()
            while not waiting.done.wait(POLL):
                check()
                advance(sum(future.done() for future in futures))
                if self.exist():
                    last_seen = monotonic()
                elif monotonic() - last_seen > PATIENCE:
                    raise NoWorkers(
                        f"Dask has had no worker for {PATIENCE:.0f} seconds, or its scheduler does "
                        f"not respond (its client is {self.client.status}): {START_AGAIN}"
                    )
        return waiting.result()


class Waiting:
    """A thread that waits for results, because Dask has no way to stop waiting for them."""

    def __init__(self, work: Callable[[list[Future]], Any], futures: list[Future]) -> None:
        self.work, self.futures = work, futures
        self.done = threading.Event()
        self.results: Any = None
        self.error: BaseException | None = None
        threading.Thread(target=self._wait, name="rmgl-waiting", daemon=True).start()

    def _wait(self) -> None:
        try:
            self.results = self.work(self.futures)
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()

    def result(self) -> Any:
        """Return the results, or raise an error that says what to do about it."""
        from distributed.scheduler import KilledWorker

        if isinstance(self.error, KilledWorker):
            raise MemoryError(
                "several workers died in succession while running the same task, most likely "
                f"because it needs more memory than a worker has ({self.error}): give each worker "
                "more memory, or fewer threads"
            ) from self.error
        if isinstance(self.error, concurrent.futures.CancelledError | asyncio.CancelledError):
            reason = " ".join(str(self.error).split())
            raise NoWorkers(
                "the tasks were canceled, most likely because the scheduler has shut down "
                f"({reason}): {START_AGAIN}"
            ) from self.error
        if self.error is not None:
            raise self.error
        return self.results


def as_it_is(piece: NDArray[Any]) -> NDArray[Any]:
    """Return a piece of an array, as a result that workers can pass on and recompute."""
    return piece


def joined(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the array that was shared in pieces."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def is_here(address: str) -> bool:
    """Return whether a worker is on this machine, judging by its address."""
    host = address.rpartition(":")[0].rpartition("/")[2]
    return address.startswith("inproc://") or host in ("127.0.0.1", "localhost", "[::1]")


def installed_version() -> str:
    """Return the version of this package on a worker."""
    return __version__


def threads_and_limits(dask_scheduler: Any) -> dict[str, tuple[int, int]]:
    """Return threads and memory limits of all workers. Runs on the scheduler."""
    return {
        address: (int(worker.nthreads), int(worker.memory_limit or 0))
        for address, worker in dask_scheduler.workers.items()
    }
