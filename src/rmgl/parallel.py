"""Work on views side by side in threads, or one after the other; stopped at once by Ctrl-C.

Inside a runner linear algebra libraries use one thread, so that sums are taken in the same order, and the same numbers
come out, for any number of threads here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

Check = Callable[[], None]
Runner = Callable[[Callable[[Any, Check], Any], Sequence[Any]], list[Any]]
"""run(work, items): the list of work(item, check). Work calls check() now and then; it raises when the run is over."""


class Interrupted(Exception):
    """Raised inside a worker when the main thread has given up."""


@contextmanager
def thread_runner(n_threads: int) -> Iterator[Runner]:
    """A runner on `n_threads` threads that are gone when the block is left, for whatever reason."""
    with threadpool_limits(limits=1, user_api="blas"):
        if n_threads == 1:
            yield lambda work, items: [work(item, lambda: None) for item in items]
        else:
            with _executor_runner(n_threads) as run:
                yield run


@contextmanager
def _executor_runner(n_threads: int) -> Iterator[Runner]:
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Interrupted

    executor = ThreadPoolExecutor(n_threads, thread_name_prefix="rmgl")
    try:
        yield lambda work, items: list(executor.map(lambda item: work(item, check), items))
    except BaseException:
        stop.set()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
