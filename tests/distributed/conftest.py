"""A cluster of two worker processes, which all tests of a file share, and rows that are cut into several blocks."""

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="needs a Dask cluster: pip install 'rmgl[dask]'")
N = 600


@pytest.fixture(scope="module")
def local_cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50) as cluster:
        yield cluster


@pytest.fixture
def client(local_cluster):
    with distributed.Client(local_cluster) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def inside():
    """A function that makes a client of so many workers in this process."""
    made = []

    def make(n_workers):
        cluster = distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        )
        made.append((cluster, distributed.Client(cluster)))
        return made[-1][1]

    yield make
    for cluster, client in made:
        client.close()
        cluster.close()


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks and chunks in a few hundred rows."""
    from rmgl.distributed import rows, sources

    monkeypatch.setattr(rows.Tiling, "of", classmethod(lambda cls, n_rows: cls(64, 3)))
    monkeypatch.setattr(sources, "CHUNK_BYTES", 8 * 6 * 250)


def two_views():
    rng = np.random.default_rng(0)
    target = rng.integers(4, size=N)
    return {f"view {m}": 3 * rng.normal(size=(4, width))[target] + rng.normal(size=(N, width)) for m, width in enumerate((5, 7))}


@pytest.fixture(scope="module")
def views():
    return two_views()
