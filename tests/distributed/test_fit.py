"""A fit on workers gives the result of a fit on one machine, whatever becomes of the workers."""

import asyncio
import os
import pickle
import signal
import threading
import time
from concurrent.futures import CancelledError
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL
from rmgl.distributed import workers as waiting
from rmgl.distributed.workers import NoWorkers, Workers
from rmgl.fitting.fitted import FittedModel
from tests.automatic.test_agreement import fragmented
from tests.distributed.conftest import N, cut_small
from tests.laws.test_certificates import check_claims
from tests.processes import HANGING

pytestmark = pytest.mark.usefixtures("small_blocks")
MODEL = RMGL(4, random_state=0, candidates=40)
"""With lists of neighbors: of few rows, all pairs would be taken, without a search."""


@pytest.fixture(scope="module")
def alone(views):
    """The fit on one machine."""
    return clone(MODEL).fit(views)


def as_stored(views):
    """The views as arrays that the workers compute."""
    da = pytest.importorskip("dask.array")
    return {name: da.from_array(X, chunks=(157, -1)) for name, X in views.items()}


@pytest.fixture(scope="module")
def stored(views):
    return as_stored(views)


def bits_of(model):
    parts = [
        model.labels_,
        model.embedding_,
        model.outlier_score_,
        *(layer.adjacency.data for layer in model.layers_),
    ]
    return [part.tobytes() for part in parts]


@pytest.fixture(scope="module")
def on_workers(local_workers, stored):
    """The fit on two workers. Rows are cut as in all tests here; the patches of single tests are
    not there yet.
    """
    from distributed import Client

    with pytest.MonkeyPatch.context() as patch, Client(local_workers) as client:
        cut_small(patch)
        return clone(MODEL).fit(stored, client=client)


def test_the_result_of_one_machine(alone, on_workers):
    """The same pairs are found, so that all else is the same to the last bit."""
    assert bits_of(on_workers) == bits_of(alone)
    for own, expected in zip(on_workers.layers_, alone.layers_, strict=True):
        assert own.exact
        assert own.candidates == expected.candidates
    assert str(on_workers.report_) == str(alone.report_)


@pytest.mark.extended
@pytest.mark.parametrize("tied", [False, True])
def test_the_order_of_rows_does_not_matter_and_claims_are_true(inside, views, tied):
    """Also where rounded rows have many neighbors at the same distance, and copies; claims are
    checked over all pairs.
    """
    data = {name: np.round(X[:, :3] / 2) if tied else X for name, X in views.items()}
    order, client = np.random.default_rng(0).permutation(len(views["view 0"])), inside(1)
    first, second = (
        clone(MODEL).fit(as_stored(rows), client=client)
        for rows in (data, {name: X[order] for name, X in data.items()})
    )
    for own, other in zip(first.layers_, second.layers_, strict=True):
        assert abs(own.adjacency[order][:, order] - other.adjacency).max() <= 1e-10
    assert adjusted_rand_score(first.labels_[order], second.labels_) == 1.0
    assert check_claims(first) == 3


@pytest.mark.extended
@pytest.mark.parametrize("n_workers", [1, 4])
def test_the_number_of_workers_does_not_matter(on_workers, inside, stored, n_workers):
    assert bits_of(clone(MODEL).fit(stored, client=inside(n_workers))) == bits_of(on_workers)


def running(client):
    """Processes that Dask starts again if they are killed. A worker may already answer while Dask
    still waits for its first message; if it is killed then, Dask gives it up.
    """

    def state(dask_worker):
        return dask_worker.process.status.name, dask_worker.pid

    states = client.run(state, nanny=True, on_error="ignore").values()
    return {pid for status, pid in states if status == "running"}


@pytest.mark.extended
def test_lost_workers_do_not_matter(on_workers, client, stored, monkeypatch):
    """One worker is killed while it searches, one while pairs within radii are searched for, one
    in a round of the alternation.
    """
    killed = {}

    def kill(when):
        if when not in killed:
            found = set()
            while len(found) < 2:  # one that was killed before has been started again
                found = running(client) - set(killed.values())
            killed[when] = found.pop()
            os.kill(killed[when], signal.SIGKILL)

    submit = Workers.submit

    def submit_and_kill(self, name, task, *arguments):
        future = submit(self, name, task, *arguments)
        if name == "rmgl-nearest-across-blocks":
            kill("search")
        if name.startswith("rmgl-within-radii"):
            kill("radii")
        return future

    def follow(row):
        if row["step"] == "embedding":
            kill("embedding")

    monkeypatch.setattr(Workers, "submit", submit_and_kill)
    model = clone(MODEL).fit(stored, client=client, callback=follow)
    assert list(killed) == ["search", "radii", "embedding"]
    assert bits_of(model) == bits_of(on_workers)


@pytest.mark.extended
def test_a_fit_resumes_from_its_checkpoint(
    on_workers, client, views, stored, tmp_path, monkeypatch
):
    class Stop(Exception):
        pass

    def stop(row):
        if row["step"] == "guidance":
            raise Stop

    folder = tmp_path / "steps"
    with pytest.raises(Stop):
        clone(MODEL).fit(stored, client=client, checkpoint=folder, callback=stop)
    assert bits_of(clone(MODEL).fit(stored, client=client, checkpoint=folder)) == bits_of(
        on_workers
    )
    submit, names = Workers.submit, set()

    def watched(self, name, *arguments):
        names.add(name)
        return submit(self, name, *arguments)

    monkeypatch.setattr(Workers, "submit", watched)
    assert bits_of(clone(MODEL).fit(stored, client=client, checkpoint=folder)) == bits_of(
        on_workers
    )
    # nothing was searched again
    assert not [name for name in names if name.startswith(("rmgl-nearest", "rmgl-within"))]
    changed = {**views, "view 1": views["view 1"] + 1e-9 * np.eye(N, 7)}
    with pytest.raises(ValueError, match="different data"):
        clone(MODEL).fit(as_stored(changed), client=client, checkpoint=folder)


@pytest.mark.extended
def test_no_workers_is_an_error_and_no_hang(inside, stored, monkeypatch):
    client = inside(1)
    monkeypatch.setattr(waiting, "PATIENCE", 1.0)
    submit = Workers.submit

    def submit_and_retire(self, name, task, *arguments):
        if name == "rmgl-nearest-across-blocks" and client.nthreads():
            client.cluster.scale(0)
        return submit(self, name, task, *arguments)

    monkeypatch.setattr(Workers, "submit", submit_and_retire)
    with pytest.raises(NoWorkers, match="no worker for 1 seconds"):
        clone(MODEL).fit(stored, client=client)


@pytest.mark.extended
def test_a_model_from_stored_views(on_workers, client, views, tmp_path):
    """Views in files and Dask arrays; the default client; a saved model; labels of new rows, chunk
    by chunk.
    """
    da = pytest.importorskip("dask.array")
    np.save(tmp_path / "first.npy", views["view 0"])
    stored = {
        "view 0": tmp_path / "first.npy",
        "view 1": da.from_array(views["view 1"], chunks=(157, 3)),
    }
    model = clone(MODEL).fit(stored)
    assert bits_of(model) == bits_of(on_workers)
    new = {name: X[:50] + 0.01 for name, X in views.items()}
    expected = on_workers.predict(new)
    model.save(tmp_path / "model.rmgl")
    np.testing.assert_array_equal(RMGL.load(tmp_path / "model.rmgl").predict(new), expected)
    chunked = model.predict({name: da.from_array(X, chunks=(20, 4)) for name, X in new.items()})
    assert chunked.chunks == ((20, 20, 10),)
    np.testing.assert_array_equal(chunked.compute(), expected)
    chunks = {name: da.from_array(X, chunks=(20, 4)) for name, X in new.items()}
    np.testing.assert_array_equal(
        model.score_samples(chunks).compute(), on_workers.score_samples(new)
    )
    np.testing.assert_array_equal(
        model.predict(chunks, unknown=0.9).compute(), on_workers.predict(new, unknown=0.9)
    )


def test_columns_of_new_rows_may_be_in_another_order(on_workers, views):
    """Chunks of Dask tables have the names of their columns."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    tables = {
        name: pd.DataFrame(X, columns=[f"c{at}" for at in range(X.shape[1])])
        for name, X in views.items()
    }
    model = clone(MODEL).set_params(alpha=1.0, beta=1.0).fit(tables)
    stored = {name: dd.from_pandas(X[:50], npartitions=2) for name, X in tables.items()}
    np.testing.assert_array_equal(
        model.predict(stored).compute(), model.predict({name: X[:50] for name, X in tables.items()})
    )
    wanted = model.predict(stored).compute()
    stored["view 1"] = stored["view 1"][[f"c{at}" for at in (1, 0, 2, 3, 4, 5, 6)]]
    np.testing.assert_array_equal(model.predict(stored).compute(), wanted)


def test_a_worker_arranges_the_fitted_rows_once(inside, alone, views, monkeypatch):
    """Whatever the number of chunks: the model is sent once, and keeps what it has arranged."""
    da = pytest.importorskip("dask.array")
    inside(1)  # in this process, so that calls can be counted
    placements, placement = [], FittedModel.placement

    def counted(self, scored=False):
        placements.append(scored)
        return placement(self, scored)

    monkeypatch.setattr(FittedModel, "placement", counted)
    new = {name: X[:60] + 0.01 for name, X in views.items()}
    chunks = {name: da.from_array(X, chunks=(5, -1)) for name, X in new.items()}
    found = alone.predict_proba(chunks).compute()
    assert placements == [False]
    np.testing.assert_allclose(found, alone.predict_proba(new), atol=1e-12)


def test_what_is_arranged_is_not_sent(alone):
    model = alone.fitted_.for_new_rows()
    assert model.placement() is model.placement() is not model.placement(scored=True)
    assert model.placement().distances is not None  # which has a lock
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels, model.labels)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_fit_that_is_stopped_leaves_no_tasks(inside, error):
    workers = Workers(inside(1))
    others = Workers(workers.client).submit("rmgl-of-another-fit", abs, -1)
    futures = []

    def work():
        with workers.until_stopped():
            futures.extend(workers.submit("rmgl-wait", time.sleep, 0.2) for _ in range(5))
            raise error

    with pytest.raises(error):
        work()
    # what was released is forgotten in the client's own thread, before this
    workers.client.sync(asyncio.sleep, 0)
    assert [future.key for future in futures if future.key in workers.client.futures] == []
    assert others.result() == 1


@pytest.mark.extended
def test_fragments(inside):
    """They leave the embedding, and have the labels of a fit on one machine."""
    views, _ = fragmented()
    model = RMGL(3, min_cluster_size=12, random_state=0, candidates=27)
    alone, found = clone(model).fit(views), clone(model).fit(as_stored(views), client=inside(1))
    assert found.fragments_.size
    np.testing.assert_array_equal(found.fragments_, alone.fragments_)
    np.testing.assert_array_equal(found.labels_, alone.labels_)


def test_a_client_that_is_not_the_default(inside, views, alone):
    """It computes Dask collections, too."""
    from distributed import Client

    with (
        Client(inside(1).scheduler.address, set_as_default=False) as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        used, get = [], Client.get
        patch.setattr(Client, "get", lambda self, *a, **k: used.append(self) or get(self, *a, **k))
        model = clone(MODEL).fit(as_stored(views), client=other)
    assert set(used) == {other}
    assert bits_of(model) == bits_of(alone)


class Frozen:
    """A client whose scheduler does not respond until it is thawed."""

    status, scheduler = "running", SimpleNamespace(ncores=None)

    def __init__(self):
        self.thawed = threading.Event()

    def sync(self, function, callback_timeout):
        raise TimeoutError(f"timed out after {callback_timeout} s")

    def gather(self, futures, direct):
        self.thawed.wait(HANGING)


def test_a_scheduler_that_is_frozen_or_gone(monkeypatch):
    monkeypatch.setattr(waiting, "POLL", 0.05)
    monkeypatch.setattr(waiting, "PATIENCE", 0.2)
    frozen = Frozen()
    with pytest.raises(NoWorkers, match="its scheduler does not respond"):
        Workers(frozen).gather([])
    frozen.thawed.set()
    monkeypatch.setattr(waiting, "PATIENCE", HANGING)  # the scheduler is gone, and not only slow
    gone = Frozen()

    def cancelled(futures, direct):
        raise CancelledError("cancelled for reason: scheduler-connection-lost")

    gone.gather = cancelled
    with pytest.raises(
        NoWorkers, match=r"the scheduler has shut down .*connection-lost.*with checkpoint="
    ):
        Workers(gone).gather([])
