"""A Dask cluster as the rest of this package sees it: named tasks, and results that are waited for without ever hanging.

Every task is a pure function of stored rows, of the results of other tasks and of small arrays, and none is tied to a worker. When a worker
is lost, Dask computes its tasks again on the others. Arrays are arguments of tasks, which the scheduler keeps, and are not scattered:
scattered data would be lost with a worker. An array that many tasks need is the result of a task (`Cluster.share`): it is sent once, and
workers pass it on.
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
from importlib.metadata import version
from itertools import count
from time import monotonic
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl.extras import not_installed
from rmgl.running.progress import task_progress
from rmgl.running.threads import Check, InParts, one_part

Future: TypeAlias = Any
"""A `distributed.Future`; the package is optional, so type checkers see no more than Any."""
logger = logging.getLogger(__name__)
POLL = 1.0
"""Seconds between two looks at the workers while results are waited for."""
PIECE_BYTES = 8 << 20
"""Bytes of a piece of an array that is sent to the workers; Dask warns of tasks of more than 10 MB."""
ANSWER = 10.0
"""Seconds in which a scheduler answers, unless it is frozen."""
PATIENCE = 30.0
"""Seconds that a cluster may be without workers: lost ones may be started again in this time."""
START_AGAIN = "start workers, and fit again; with checkpoint= the fit resumes from its finished searches"
NEEDS_DASK = not_installed("a Dask cluster needs", "distributed", "'dask[array,dataframe]' distributed")


class NoWorkers(ConnectionError):
    """All workers of the cluster, or its scheduler, are gone."""


@dataclass
class Cluster:
    """A client of a Dask cluster, with the names and the waiting that this package uses."""

    client: Any
    progress: bool = False
    """Whether to show a progress bar while many tasks run."""
    _run: str = field(default_factory=lambda: f"0{uuid.uuid4().hex[:11]}")
    in_parts: InParts = one_part
    """How the client shares its own work among its threads."""
    traffic: Traffic = field(default_factory=lambda: Traffic())
    """What the client has exchanged with the workers for the layers."""
    _tasks: Any = field(default_factory=count)
    _futures: Any = field(default_factory=weakref.WeakSet, repr=False)
    """The results that are still wanted."""

    @classmethod
    def of(cls, client: Any, progress: bool = False) -> Cluster:
        """Check that a client can be used, and log where its dashboard is."""
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError(NEEDS_DASK) from error
        if not isinstance(client, Client):
            raise TypeError(
                f"client is of type {type(client).__name__}, but a dask.distributed.Client was expected: use Client() for this machine, "
                "or Client('tcp://host:8786') for a cluster"
            )
        if client.asynchronous:
            raise ValueError("the client is asynchronous, but fit waits for results: create it with Client(asynchronous=False)")
        if client.status != "running":
            raise ValueError(f"the client is {client.status}, so nothing can be computed with it: create a new one with Client(address)")
        cluster = cls(client, progress)
        cluster.check_versions()
        logger.info("Dask's dashboard: %s (%s)", client.dashboard_link, client)
        return cluster

    @property
    def n_workers(self) -> int:
        return len(self.threads_by_worker())

    def has_workers(self) -> bool:
        """Whether the scheduler answers and knows a worker."""
        try:
            scheduler = self.client.scheduler
            return self.client.status == "running" and len(self.client.sync(scheduler.ncores, callback_timeout=ANSWER)) > 0
        except (OSError, RuntimeError, AttributeError):  # what lost connections raise, and a TimeoutError
            return False

    def threads_by_worker(self) -> dict[str, int]:
        """The number of threads of each worker."""
        found: dict[str, int] = self.client.nthreads()
        return found

    def workers(self) -> list[tuple[int, int]]:
        """The number of threads of each worker, and its memory limit in bytes (0: no limit)."""
        found: dict[str, tuple[int, int]] = self.attended(lambda: self.client.run_on_scheduler(threads_and_limits))
        return [found[address] for address in sorted(found)]

    def check_versions(self) -> None:
        """Raise an error unless a worker has this version of the package: results could differ."""
        own = version("rmgl")
        try:
            (found,) = self.gather([self.submit("rmgl-version", installed_version)])
        except (ModuleNotFoundError, RuntimeError) as error:  # the latter where the scheduler cannot read the task
            reason = " ".join(str(error).split())
            raise ValueError(
                f"a worker or the scheduler cannot import rmgl ({reason}): install rmgl {own} on all workers and where the scheduler runs"
            ) from error
        if found != own:
            raise ValueError(f"the workers have rmgl {found}, but this process has {own}: install the same version everywhere")

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any) -> Future:
        """Run a function of a module of this package on some worker. Tasks of the same name are shown together on Dask's dashboard."""
        future = self.client.submit(task, *arguments, key=f"{name}-{self._run}-{next(self._tasks)}", pure=False)
        self._futures.add(future)
        return future

    def map(self, name: str, task: Callable[..., Any], *arguments: Sequence[Any]) -> list[Future]:
        """Run a function for every place of the arguments, which are as long as one another; they are sent together."""
        keys = [f"{name}-{self._run}-{next(self._tasks)}" for _ in arguments[0]]
        futures: list[Future] = self.client.map(task, *arguments, key=keys, pure=False)
        self._futures.update(futures)
        return futures

    def share(self, name: str, array: NDArray[Any]) -> Shared:
        """Send an array to the workers, in pieces of rows, for any number of tasks."""
        step = max(1, PIECE_BYTES // max(1, array[:1].nbytes))
        bounds = (*range(0, len(array), step), len(array))
        pieces = tuple(self.submit(name, as_it_is, array[first : first + step]) for first in bounds[:-1])
        return Shared(pieces, bounds, array.nbytes)

    def in_strips(self, shared: Shared, most: int) -> tuple[tuple[Future, ...], tuple[int, ...]]:
        """The pieces of a shared array, joined to at most so many, and their bounds."""
        step = -(-len(shared.pieces) // most)
        if step <= 1:
            return shared.pieces, shared.bounds
        groups = [list(shared.pieces[first : first + step]) for first in range(0, len(shared.pieces), step)]
        return tuple(self.map("rmgl-join-pieces", joined, groups)), (*shared.bounds[:-1:step], shared.bounds[-1])

    def gather(self, futures: Sequence[Future], name: str = "", check: Check = lambda: None) -> list[Any]:
        """Wait for results. Raises `NoWorkers` if there is nobody left to compute them, and what a task raised."""
        results: list[Any] = self._finish(self.client.gather, list(futures), name, check)
        return results

    def wait(self, futures: Sequence[Future], name: str = "", check: Check = lambda: None) -> None:
        """Wait until results are there, and leave them with the workers."""
        self._finish(self._waited, list(futures), name, check)

    def _waited(self, futures: list[Future]) -> Any:
        import distributed

        dask: Any = distributed  # only parts of it have types
        with self.client.as_current():  # it need not be the default one
            return dask.wait(futures)

    def attended(self, work: Callable[[], Any]) -> Any:
        """The result of work that asks the cluster for something by itself. Raises `NoWorkers` as `gather` does."""
        return self._finish(lambda _: work(), [], "", lambda: None)

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Context in which an error or an interruption also makes the workers forget the tasks that they still have to run.

        Whatever else refers to their results, such as a thread that waits for them, or the error itself by the functions it passed through.
        """
        try:
            yield
        except BaseException:
            for future in list(self._futures):
                future.release()  # cancelling tasks that depend on one another can end the scheduler
            raise

    def _finish(self, work: Callable[[list[Future]], Any], futures: list[Future], name: str, check: Check) -> Any:
        waiting = Waiting(work, futures)
        with task_progress(name, len(waiting.futures), self.progress and bool(name)) as advance:
            last_seen = monotonic()
            while not waiting.done.wait(POLL):
                check()
                advance(sum(future.done() for future in waiting.futures))
                if self.has_workers():
                    last_seen = monotonic()
                elif monotonic() - last_seen > PATIENCE:
                    raise NoWorkers(
                        f"the Dask cluster has had no worker for {PATIENCE:.0f} seconds, or its scheduler does not answer (its client is "
                        f"{self.client.status}): {START_AGAIN}"
                    )
        return waiting.result()


@dataclass(frozen=True)
class Shared:
    """An array that the workers have, in pieces of rows."""

    pieces: tuple[Future, ...]
    bounds: tuple[int, ...]
    nbytes: int


@dataclass
class Traffic:
    """How often the client asked the workers for something, and the bytes that it sent and received; workers pass on what it sends."""

    requests: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """For every kind of request its number, bytes sent and bytes received."""
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def add(self, kind: str, sent: int, received: int) -> None:
        with self._lock:
            last = self.requests.get(kind, (0, 0, 0))
            self.requests[kind] = (last[0] + 1, last[1] + sent, last[2] + received)

    def __str__(self) -> str:
        return "; ".join(
            f"{kind}: {number} requests, {sent / 1e6:.1f} MB sent, {received / 1e6:.1f} MB received"
            for kind, (number, sent, received) in self.requests.items()
        )


class Waiting:
    """Results that are waited for in a thread, because Dask offers no way to give up waiting for them."""

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
        from distributed.scheduler import KilledWorker

        if isinstance(self.error, KilledWorker):
            raise MemoryError(
                f"a task ended several workers one after the other, most likely because it needs more memory than one has ({self.error}): "
                "give each worker more memory, or fewer threads"
            ) from self.error
        if isinstance(self.error, concurrent.futures.CancelledError | asyncio.CancelledError):
            reason = " ".join(str(self.error).split())
            raise NoWorkers(
                f"the tasks were cancelled, most likely because the scheduler has ended ({reason}): {START_AGAIN}"
            ) from self.error
        if self.error is not None:
            raise self.error
        return self.results


def as_it_is(piece: NDArray[Any]) -> NDArray[Any]:
    """A piece of an array, as a result that workers can pass on and compute again."""
    return piece


def joined(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The array that was shared in pieces."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def size_of(result: Any) -> int:
    """The bytes of a result that is an array, a number, or a tuple or list of them."""
    if isinstance(result, tuple | list):
        return sum(map(size_of, result))
    return int(getattr(result, "nbytes", 8))


def installed_version() -> str:
    return version("rmgl")


def threads_and_limits(dask_scheduler: Any) -> dict[str, tuple[int, int]]:
    """Threads and memory limits of all workers; runs on the scheduler."""
    return {address: (int(worker.nthreads), int(worker.memory_limit or 0)) for address, worker in dask_scheduler.workers.items()}
