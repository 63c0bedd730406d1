"""Two worker processes, which all tests of a file share, and rows that are cut into
several blocks.
"""

import pickle

import numpy as np
import pytest

from rmgl.distributed import workers as waiting
from rmgl.distributed.workers import Workers
from tests.processes import HANGING

distributed = pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)
N = 600


class AtOnce(Workers):
    """Takes the place of Dask workers: a task is computed when it is submitted."""

    def __init__(self):
        super().__init__(None)
        self.names, self.received = [], []

    def submit(self, name, task, *arguments):
        self.names.append(name)
        return task(*arguments)

    def map(self, name, task, *arguments):
        return [self.submit(name, task, *own) for own in zip(*arguments, strict=True)]

    def gather(self, futures, name="", check=lambda: None):
        self.received.append(len(pickle.dumps(list(futures))))
        return list(futures)

    def wait(self, futures, name="", check=lambda: None):
        pass


@pytest.fixture(scope="module", autouse=True)
def patience():
    """On a busy machine, workers may take long to start again, and schedulers to answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "PATIENCE", HANGING)
        patch.setattr(waiting, "ANSWER", HANGING)
        yield


@pytest.fixture(scope="module")
def local_workers():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as started:
        yield started


@pytest.fixture
def client(local_workers):
    with distributed.Client(local_workers) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def inside():
    """A function that makes a client of so many workers in this process."""
    made = []

    def make(n_workers):
        started = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            silence_logs=50,
        )
        made.append((started, distributed.Client(started)))
        return made[-1][1]

    yield make
    for started, client in made:
        client.close()
        started.close()


def cut_small(patch):
    """Several blocks, chunks, pieces of embeddings and blocks of candidate pairs in a few hundred
    rows.
    """
    from rmgl.distributed import blocks, pair_tasks, sources, workers

    patch.setattr(blocks.Tiling, "of", classmethod(lambda cls, n_rows: cls(64, 3)))
    patch.setattr(sources, "CHUNK_BYTES", 8 * 6 * 250)
    patch.setattr(pair_tasks, "LEAST_ROWS", 200)
    patch.setattr(workers, "PIECE_BYTES", 8 * 6 * 250)


@pytest.fixture
def small_blocks(monkeypatch):
    cut_small(monkeypatch)


def two_views():
    rng = np.random.default_rng(0)
    target = rng.integers(4, size=N)
    return {
        f"view {m}": 3 * rng.normal(size=(4, width))[target] + rng.normal(size=(N, width))
        for m, width in enumerate((5, 7))
    }


@pytest.fixture(scope="module")
def views():
    return two_views()
