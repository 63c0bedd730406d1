"""A Dask cluster as the rest of this package sees it: named tasks, and results that are waited for without ever hanging.

Every task is a pure function of stored rows, of the results of other tasks and of small arrays, and none is tied to a worker. When a worker
is lost, Dask computes its tasks again on the others. Small arrays are arguments of tasks, which the scheduler keeps, and are not scattered:
scattered data would be lost with a worker.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import count
from time import monotonic
from typing import Any, TypeAlias

from rmgl.running.progress import task_progress
from rmgl.running.threads import Check

Future: TypeAlias = Any
"""A `distributed.Future`; the package is optional, so type checkers see no more than Any."""
logger = logging.getLogger(__name__)
POLL = 1.0
"""Seconds between two looks at the workers while results are waited for."""
PATIENCE = 30.0
"""Seconds that a cluster may be without workers: lost ones may be started again in this time."""
EXTRA = "the package distributed is needed to use a Dask cluster: pip install 'rmgl[dask]'"


class NoWorkers(ConnectionError):
    """All workers of the cluster, or its scheduler, are gone."""


@dataclass
class Cluster:
    """A client of a Dask cluster, with the names and the waiting that this package uses."""

    client: Any
    progress: bool = False
    """Whether to show a progress bar while many tasks run."""
    _run: str = field(default_factory=lambda: f"0{uuid.uuid4().hex[:11]}")
    _tasks: Any = field(default_factory=count)

    @classmethod
    def of(cls, client: Any, progress: bool = False) -> Cluster:
        """Check that a client can be used, and log where its dashboard is."""
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError(EXTRA) from error
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
        logger.info("%s, dashboard %s", client, client.dashboard_link)
        return cluster

    @property
    def n_workers(self) -> int:
        return len(self.threads_by_worker())

    def has_workers(self) -> bool:
        """Whether the scheduler answers and knows a worker."""
        try:
            return self.client.status == "running" and self.n_workers > 0
        except (OSError, RuntimeError, AttributeError):  # what lost connections raise
            return False

    def threads_by_worker(self) -> dict[str, int]:
        """The number of threads of each worker."""
        found: dict[str, int] = self.client.nthreads()
        return found

    def memory_limits(self) -> list[int]:
        """The memory limit of each worker, in bytes (0: no limit)."""
        limits: dict[str, int] = self.client.run_on_scheduler(limits_of_workers)
        return [limits[name] for name in sorted(limits)]

    def check_versions(self) -> None:
        """Raise an error unless a worker has this version of the package: results could differ."""
        own = version("rmgl")
        try:
            (found,) = self.gather([self.submit("rmgl-version", installed_version)])
        except ModuleNotFoundError as error:
            raise ValueError(f"a worker cannot import rmgl ({error}): install rmgl {own} on all workers") from error
        if found != own:
            raise ValueError(f"the workers have rmgl {found}, but this process has {own}: install the same version everywhere")

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any) -> Future:
        """Run a function of a module of this package on some worker. Tasks of the same name are shown together on Dask's dashboard."""
        return self.client.submit(task, *arguments, key=f"{name}-{self._run}-{next(self._tasks)}", pure=False)

    def gather(self, futures: Sequence[Future], name: str = "", check: Check = lambda: None) -> list[Any]:
        """Wait for results. Raises `NoWorkers` if there is nobody left to compute them, and what a task raised."""
        waiting = Waiting(self.client, list(futures))
        with task_progress(name, len(waiting.futures), self.progress and bool(name)) as advance:
            last_seen = monotonic()
            while not waiting.done.wait(POLL):
                check()
                advance(sum(future.done() for future in waiting.futures))
                if self.has_workers():
                    last_seen = monotonic()
                elif monotonic() - last_seen > PATIENCE:
                    raise NoWorkers(
                        f"the Dask cluster has had no worker for {PATIENCE:.0f} seconds (its client is {self.client.status}): start "
                        "workers, and fit again; with checkpoint= the fit resumes from its finished steps"
                    )
        return waiting.result()


class Waiting:
    """Results that are waited for in a thread, because Dask offers no way to give up waiting for them."""

    def __init__(self, client: Any, futures: list[Future]) -> None:
        self.client, self.futures = client, futures
        self.done = threading.Event()
        self.results: list[Any] = []
        self.error: BaseException | None = None
        threading.Thread(target=self._wait, name="rmgl-waiting", daemon=True).start()

    def _wait(self) -> None:
        try:
            self.results = self.client.gather(self.futures)
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()

    def result(self) -> list[Any]:
        from distributed.scheduler import KilledWorker

        if isinstance(self.error, KilledWorker):
            raise MemoryError(
                f"a task ended several workers one after the other, most likely because it needs more memory than one has ({self.error}): "
                "give each worker more memory, or fewer threads"
            ) from self.error
        if self.error is not None:
            raise self.error
        return self.results


def installed_version() -> str:
    return version("rmgl")


def limits_of_workers(dask_scheduler: Any) -> dict[str, int]:
    """The memory limits of all workers; runs on the scheduler."""
    return {address: int(worker.memory_limit or 0) for address, worker in dask_scheduler.workers.items()}
