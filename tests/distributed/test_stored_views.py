"""Stored views on workers, the plan of a fit, clients that cannot be used, and the command."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL, Network
from rmgl.__main__ import main
from rmgl.distributed.plan import Plan
from rmgl.distributed.prepare import planned
from rmgl.distributed.workers import Workers, is_here
from rmgl.views.views import Views

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture(scope="module")
def inside_client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as started,
        Client(started) as client,
    ):
        yield client


def bad_inputs():
    X = np.random.default_rng(0).normal(size=(60, 3))
    infinite = X.copy()
    infinite[31, 1] = np.inf
    yield "different rows", {"a": X, "b": X[:50]}, "view 'b' has 50 rows but view 'a' has 60"
    yield "not finite", {"a": infinite}, "view 'a'.*infin"
    yield "objects", {"a": np.full((60, 3), "x", dtype=object)}, "view 'a'"
    yield "constant", {"a": np.ones((60, 2))}, "view 'a' is constant.*all of its 60 rows"
    yield "no views", {}, "no views were given"


@pytest.mark.parametrize(
    ("views", "message"),
    [(views, message) for _, views, message in bad_inputs()],
    ids=[name for name, _, _ in bad_inputs()],
)
def test_bad_views(inside_client, views, message):
    with pytest.raises((ValueError, TypeError), match=message):
        RMGL(2).fit(views, client=inside_client)


def test_a_missing_row_in_storage_is_missing_from_the_view(inside_client):
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(700, 3))
    row = X.copy()
    row[647] = np.nan
    there = RMGL(2, random_state=0).fit(
        {"a": X, "b": da.from_array(row, chunks=(90, 3))}, client=inside_client
    )
    here = RMGL(2, random_state=0).fit({"a": X, "b": row})
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert 647 not in there.layers_[1].nodes


def test_rows_are_sent_in_small_pieces(inside_client):
    X = np.random.default_rng(0).normal(size=(1700, 6)).astype(np.float32)
    workers = Workers(inside_client)
    pieces = workers.gather(workers.share("rmgl-send-rows", X))
    assert [len(piece) for piece in pieces] == [250] * 6 + [200]
    np.testing.assert_array_equal(np.concatenate(pieces), X)


def test_results_come_straight_from_workers_of_this_machine(inside_client):
    assert Workers.of(inside_client).direct
    assert all(map(is_here, ("inproc://10.0.0.7/1/2", "tcp://127.0.0.1:123", "tls://[::1]:5")))
    assert not is_here("tcp://10.0.0.7:123")


def test_clients_that_cannot_be_used(inside):
    X = np.random.default_rng(0).normal(size=(60, 3))
    closed = inside(1)
    closed.close()
    with pytest.raises(ValueError, match="the client is closed"):
        RMGL(2).fit([X], client=closed)
    with pytest.raises(TypeError, match="client is of type str"):
        RMGL(2).fit([X], client="tcp://host:8786")


WIDE = Plan(1_000_000, (16, 32), 54, 12, (1, 1), (4 << 30, 4 << 30), (1e8, 1e8, 1e8))


def test_the_plan(monkeypatch):
    monkeypatch.setattr("rmgl.distributed.plan.rows_of_block", lambda n_rows: 65_536)
    assert (WIDE.n_blocks, WIDE.n_tasks) == (16, 3 * 136)
    assert WIDE.minutes == pytest.approx(3 * 5e11 / 1e8 / 2 / 60)
    # rows of 96 columns three times, 4 layers of 12 edges a row, and 54 listed neighbors
    assert WIDE.bytes_of_client == 10**6 * (24 * 96 + 40 * 12 * 4 + 100 * 54)
    text = str(WIDE)
    assert "16 blocks of 65,536 rows" in text
    assert "client memory: 9.0 GiB, 9.6 kB per row; scheduler memory: 366.2 MiB" in text
    assert "search: about 125.0 minutes on 2 threads" in text
    assert "worker 1: 1 thread(s), needs" in text


def test_too_little_memory(monkeypatch):
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: 16 << 30)
    WIDE.check()
    many = replace(WIDE, threads=(1, 64))
    with pytest.raises(
        MemoryError, match=r"worker 1 needs .* for 1,000,000 rows of 48 columns.*fewer threads"
    ):
        many.check()
    replace(many, limits=(0, 0)).check()
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: 4 << 30)
    WIDE.check_workers()
    with pytest.raises(
        MemoryError, match=r"pairs and layers of 1,000,000 rows on the client need at least 9\.0"
    ):
        WIDE.check()


def test_plans_of_views(inside_client, tmp_path):
    da = pytest.importorskip("dask.array")
    X = np.ones((500, 2))
    np.save(tmp_path / "rows.npy", X)
    given = {"memory": X, "file": tmp_path / "rows.npy", "dask": da.ones((500, 4), chunks=(90, 2))}
    plan = planned(given, inside_client, 12)
    assert (plan.n_rows, plan.widths, plan.length) == (500, (2, 2, 4), 54)
    assert plan.minutes > 0
    assert planned([X], inside_client, 12, np.int64(40)).length == 40
    with pytest.raises(ValueError, match=r"the views have \[500, 50\] rows"):
        planned([X, X[:50]], inside_client, 12)
    links = Network(np.ones((500, 500)) - np.eye(500))
    words = sparse.random_array((500, 4000), density=0.01, format="csr", rng=0)
    # 40 entries of a row, each with an index; there is nothing to search in a network
    assert planned(Views.of([words, links]), inside_client, 12).widths == (80,)
    with pytest.raises(ValueError, match="no view has rows"):
        planned(Views.of([links]), inside_client, 12)


def test_a_fit_logs_its_plan_and_a_long_one_how_long_the_search_takes(
    inside_client, views, monkeypatch, caplog
):
    caplog.set_level("INFO", logger="rmgl")
    model = RMGL(4, random_state=0, max_seconds=0.1)
    with pytest.warns(UserWarning, match="max_seconds"):
        model.fit(views, client=inside_client)
    assert "worker 0:" in caplog.text
    assert "minutes" not in caplog.text
    monkeypatch.setattr("rmgl.distributed.prepare.LONG", 600)
    with pytest.warns(UserWarning, match="max_seconds"):
        model.fit(views, client=inside_client)
    assert "search: about" in caplog.text


@pytest.mark.extended
def test_the_command_on_workers(tmp_path, views, capsys):
    zarr = pytest.importorskip("zarr")
    for name, X in views.items():
        np.save(tmp_path / f"{name}.npy", X)
        zarr.save_array(str(tmp_path / f"{name}.zarr"), X)
    inputs = [str(tmp_path / f"{name}.npy") for name in views]
    command = ["cluster", *inputs, "-k", "4", "-o", str(tmp_path / "out")]
    for options in (["--plan"], ["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"]):
        with pytest.raises(SystemExit, match="2"):
            main([*command, *options])
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--workers", "1", "--plan"])
    shown = capsys.readouterr()
    assert "worker 0:" in shown.out
    assert shown.out.endswith("the workers and this machine have enough memory\n")
    assert "Dask's dashboard: http://" in shown.err
    assert not (tmp_path / "out").exists()
    in_folders = [path.replace(".npy", ".zarr") for path in inputs]
    for place, given in enumerate((inputs, in_folders)):
        out = tmp_path / f"out {place}"
        with pytest.raises(SystemExit, match="0"):
            main(["cluster", *given, "-k", "4", "-o", str(out), "--workers", "1", "--no-plots"])
        assert "1700 rows, 2 views, 4 clusters" in capsys.readouterr().out
        assert len((out / "labels.csv").read_text().splitlines()) == 1701
        assert (out / "features.csv").exists()
