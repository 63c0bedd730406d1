"""Two worker processes, which all tests of a file share, and rows in several blocks."""

import numpy as np
import pytest

from rmgl.distributed import workers as waiting
from rmgl.distributed.workers import Workers
from tests.processes import HANGING

distributed = pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)
N = 1700


class AtOnce(Workers):
    """Takes the place of Dask workers: a task is computed when it is submitted."""

    def __init__(self):
        super().__init__(None)
        self.names = []

    def submit(self, name, task, *arguments):
        self.names.append(name)
        return task(*arguments)

    def map(self, name, task, *arguments):
        return [self.submit(name, task, *own) for own in zip(*arguments, strict=True)]

    def gather(self, futures, name="", check=lambda: None):
        return list(futures)


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
        client.wait_for_workers(2, timeout=HANGING)
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
    """Blocks of one tile, and rows that are sent in several pieces."""
    from rmgl.distributed import blocks, workers

    patch.setattr(blocks, "rows_of_block", lambda n_rows: 512)
    patch.setattr(workers, "PIECE_BYTES", 4 * 6 * 250)


@pytest.fixture
def small_blocks(monkeypatch):
    cut_small(monkeypatch)


@pytest.fixture
def small_tiles(monkeypatch):
    """A function that sets the rows of a tile, and the tiles of a block."""
    from rmgl.distributed import blocks
    from rmgl.edges import bounds, nearest, tiles, within

    def cut(tile, block_tiles):
        for module in (bounds, nearest, tiles, within, blocks):
            monkeypatch.setattr(module, "TILE", tile)
        monkeypatch.setattr(blocks, "rows_of_block", lambda n_rows: tile * block_tiles)

    return cut


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
