"""Views that workers read from storage: what they hold, what is refused, and what the client never
holds.
"""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.__main__ import main
from rmgl.distributed.blocks import Tiling
from rmgl.distributed.plan import Plan
from rmgl.distributed.prepare import planned, prepared
from rmgl.distributed.remote_views import named_views, on_workers
from rmgl.distributed.rows import DistributedRows
from rmgl.distributed.sources import NeedsRows
from rmgl.distributed.workers import Workers
from rmgl.views.features import EMPTY_COLUMNS
from rmgl.views.views import Views

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture
def stored(tmp_path, views):
    """One view in every kind of storage."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd, zarr = pytest.importorskip("pandas"), pytest.importorskip("zarr")
    X = np.abs(views["view 0"])
    frame = pd.DataFrame(X, columns=list("abcde"))
    np.save(tmp_path / "rows.npy", X)
    zarr.save_array(str(tmp_path / "rows.zarr"), X)
    (tmp_path / "parquet").mkdir()
    frame[:400].to_parquet(tmp_path / "parquet" / "0.parquet")
    frame[400:].to_parquet(tmp_path / "parquet" / "1.parquet")
    kinds = {
        "array": X,
        "table": frame,
        "single precision": X.astype(np.float32),
        "npy": tmp_path / "rows.npy",
        "npy by name": str(tmp_path / "rows.npy"),
        "zarr folder": tmp_path / "rows.zarr",
        "zarr": zarr.open_array(str(tmp_path / "rows.zarr"), mode="r"),
        "dask array": da.from_array(X, chunks=(110, 2)),
        "dask table": dd.from_pandas(frame, npartitions=3),
        "parquet": tmp_path / "parquet",
    }
    return X, kinds


def test_all_kinds_of_storage_hold_the_same_rows(client, stored):
    X, kinds = stored
    views = on_workers(named_views(kinds), Workers(client), None)
    for name, matrix in zip(views.names, views.matrices, strict=True):
        expected = X.astype(np.float32) if name == "single precision" else X
        np.testing.assert_array_equal(matrix.rows(np.arange(len(X))), expected, err_msg=name)
    assert views[1].columns == tuple("abcde")


@pytest.mark.parametrize(
    "scale", ["auto", "minmax", "root", "hellinger", "unit", "standard", "none"]
)
def test_scaled_as_on_one_machine(inside_client, views, scale):
    given = {
        "skewed": np.abs(views["view 0"]) ** 4,
        "flat": np.column_stack([np.abs(views["view 1"]), np.ones(600)]),
    }
    local = Views.of(given)
    with prepared(given, inside_client, scale, n_neighbors=12) as found:
        assert found.scales == local.choose_scales(scale)
        for own, expected in zip(found.views.matrices, local.scaled(scale).matrices, strict=True):
            np.testing.assert_allclose(
                own.rows(np.argsort(found.canonical.order)), expected, rtol=1e-12, atol=1e-12
            )


def test_row_labels_are_compared_and_kept_as_on_one_machine(inside_client, views):
    pd = pytest.importorskip("pandas")
    labels = [f"row {row}" for row in range(600)]
    tables = {name: pd.DataFrame(X, index=labels) for name, X in views.items()}
    with prepared(tables, inside_client, "auto", n_neighbors=12) as found:
        assert found.views.index.tolist() == found.kept().index.tolist() == labels
    tables["view 1"] = tables["view 1"][::-1]
    for read in (
        lambda: Views.of(tables),
        lambda: planned(tables, inside_client, 12),
        lambda: prepared(tables, inside_client, "auto", n_neighbors=12).__enter__(),
    ):
        with pytest.raises(
            ValueError,
            match="row 0 of view 'view 1' is labeled 'row 599' but 'row 0' in view 'view 0'",
        ):
            read()


def test_tables_of_other_libraries(inside_client, views):
    pl = pytest.importorskip("polars")
    tables = {
        name: pl.DataFrame(X, schema=[f"column {at}" for at in range(X.shape[1])])
        for name, X in views.items()
    }
    with prepared(tables, inside_client, "auto", n_neighbors=12) as found:
        assert [view.columns for view in found.views] == [view.columns for view in Views.of(tables)]


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_rows_of_zeros_that_count_as_missing_are_prepared_here(inside_client, rng, share):
    """Not where they are nearly all rows of a view."""
    full, part = np.abs(rng.normal(size=(2, 600, EMPTY_COLUMNS))) + 0.1
    part[: int(600 * share)] = 0
    given = {"full": full, "part": part}
    taken = any(view.n_empty for view in Views.of(given).without_empty_rows())
    assert taken == (share == 0.5)
    if taken:
        with pytest.raises(NeedsRows, match="view 'part' has 300 rows of zeros"):
            prepared(given, inside_client, "auto", n_neighbors=12).__enter__()
    else:
        with prepared(given, inside_client, "auto", n_neighbors=12) as found:
            assert found.views.n_rows == 600


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
    yield "constant", {"a": np.ones((60, 2))}, "view 'a' is constant.*all its 60 rows"
    yield "no views", {}, "no views were given"


@pytest.mark.parametrize(
    ("views", "message"),
    [(views, message) for _, views, message in bad_inputs()],
    ids=[name for name, _, _ in bad_inputs()],
)
def test_bad_views(inside_client, views, message):
    with pytest.raises((ValueError, TypeError), match=message):
        RMGL(2).fit(views, client=inside_client)


def plain_views():
    X = np.random.default_rng(0).normal(size=(700, 3))
    row, cell = X.copy(), X.copy()
    row[647], cell[650, 2] = np.nan, np.nan
    return X, row, cell


@pytest.mark.parametrize("stored", [False, True])
def test_what_workers_cannot_prepare(inside_client, stored):
    da = pytest.importorskip("dask.array")
    # two chunks, whatever those of the Dask array are
    X, row, cell = plain_views()
    cases = [({"a": X, "b": row}, "missing"), ({"a": cell}, "missing")]
    if stored:
        cases = [
            ({name: da.from_array(view, chunks=(90, 3)) for name, view in views.items()}, message)
            for views, message in cases
        ]
        cases.append(({"a": da.from_array(X.astype(object), chunks=(90, 3))}, "type object"))
    else:
        cases.append(({"a": sparse.csr_array(X)}, "sparse"))
    for views, message in cases:
        with pytest.raises(NeedsRows, match=message):
            prepared(views, inside_client, "auto", n_neighbors=12).__enter__()


def test_a_missing_row_in_storage_is_missing_from_the_view(inside_client):
    da = pytest.importorskip("dask.array")
    X, row, _ = plain_views()
    there = RMGL(2, random_state=0).fit(
        {"a": X, "b": da.from_array(row, chunks=(90, 3))}, client=inside_client
    )
    here = RMGL(2, random_state=0).fit({"a": X, "b": row})
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert 647 not in there.layers_[1].nodes


def test_bad_files(inside_client, tmp_path):
    X, _, _ = plain_views()
    np.save(tmp_path / "flat.npy", X[0])
    for path, message in (
        (tmp_path / "flat.npy", "rows and columns"),
        (tmp_path / "none.npy", "is not known"),
    ):
        with pytest.raises(ValueError, match=message):
            RMGL(2).fit([path], client=inside_client)


def bad_stored(folder):
    """What storage may hold that is no view: a name, the view, and what the error says."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd, zarr, dask = (
        pytest.importorskip("pandas"),
        pytest.importorskip("zarr"),
        pytest.importorskip("dask"),
    )
    table = pd.DataFrame({"size": np.arange(60.0), "flag": np.arange(60) % 2 == 0})
    zarr.open_group(str(folder / "empty.zarr"), mode="w")
    (folder / "broken.zarr").mkdir()
    (folder / "parquet").mkdir()
    np.save(folder / "thin.npy", np.ones((60, 0)))
    yield da.ones((60, 0), chunks=(9, 1)), "view 'a' has no columns, but needs at least one"
    yield folder / "thin.npy", "view 'a' has no columns"
    yield dask.delayed(np.ones((60, 2))), "view 'a' is a dask.delayed object.*from_delayed"
    yield dd.from_pandas(table, npartitions=2)["size"], "view 'a' is a Dask Series with 1 dimension"
    yield (
        folder / "parquet",
        "view 'a': .*parquet cannot be read as a Parquet file or a folder of them: No files",
    )
    yield folder / "empty.zarr", "view 'a' is a zarr group without 2-D arrays"
    yield folder / "broken.zarr", "view 'a': .* neither a zarr array nor a group"


def test_bad_storage(inside_client, tmp_path):
    for view, message in bad_stored(tmp_path):
        with pytest.raises(ValueError, match=message):
            RMGL(2).fit({"a": view}, client=inside_client)


def test_a_zarr_group_holds_views(inside_client, tmp_path, views):
    """By its path or itself, alone or beside other views."""
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "both.zarr"), mode="w")
    for name, X in (
        ("right", views["view 1"]),
        ("left", views["view 0"]),
        ("note", np.arange(3.0)),
    ):
        group[name] = X
    for given in (group, tmp_path / "both.zarr", {"both": tmp_path / "both.zarr"}):
        found = on_workers(named_views(given), Workers(inside_client), None)
        assert found.names == ("left", "right")
        np.testing.assert_array_equal(found.matrices[1].rows(np.arange(600)), views["view 1"])
    assert [name for name, _ in named_views({"both": group, "x": views["view 0"]})] == [
        "both_left",
        "both_right",
        "x",
    ]


def test_chunks_of_dask_arrays_do_not_matter(inside_client, views):
    """They may be small or empty, and rows are cut as everywhere else."""
    da = pytest.importorskip("dask.array")
    X = views["view 0"]
    chunked = {
        "whole": da.from_array(X, chunks=-1),
        "small": da.from_array(X, chunks=((0, *[6] * 50, 0, 0, 300), (2, 3))),
    }
    found = on_workers(named_views({"memory": X, **chunked}), Workers(inside_client), None)
    assert {matrix.bounds for matrix in found.matrices} == {(0, 300, 600)}
    for matrix in found.matrices:
        np.testing.assert_array_equal(matrix.rows(np.arange(600)), X)


def test_a_client_that_is_not_the_default(inside_client, views):
    """Lengths of tables are computed with it, and results are waited for."""
    from distributed import Client

    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = dd.from_pandas(pd.DataFrame(views["view 0"], columns=list("abcde")), npartitions=2)
    with (
        Client(inside_client.scheduler.address, set_as_default=False) as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        workers = Workers(other)
        used, get = [], Client.get
        patch.setattr(
            Client,
            "get",
            lambda self, *arguments, **options: (
                used.append(self) or get(self, *arguments, **options)
            ),
        )
        (matrix,) = on_workers([("a", table)], workers, None).matrices
        assert set(used) == {other}
        workers.wait(matrix.chunks)
        assert all(chunk.done() for chunk in matrix.chunks)


def test_rows_in_memory_are_sent_in_small_pieces(inside_client, views):
    names, share = [], Workers.share
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rmgl.distributed.workers.PIECE_BYTES", 8 * 5 * 100)
        patch.setattr(
            Workers,
            "share",
            lambda self, name, array: names.append(len(array)) or share(self, name, array),
        )
        (matrix,) = on_workers([("a", views["view 0"])], Workers(inside_client), None).matrices
    assert (names, matrix.bounds) == ([300, 300], (0, 300, 600))
    np.testing.assert_array_equal(matrix.rows(np.arange(600)), views["view 0"])


@pytest.mark.parametrize("candidates", ["all", 59, np.int64(59), True, 0])
def test_candidates_that_workers_cannot_keep(inside_client, candidates):
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(NeedsRows, match=r"too few for lists|neither 'auto' nor a number"):
        prepared([X], inside_client, "auto", n_neighbors=12, candidates=candidates).__enter__()


def test_few_rows_are_noticed_before_they_are_read(inside_client, monkeypatch):
    """Local scaling takes 30 neighbors, whatever number was asked for."""
    monkeypatch.setattr(Workers, "map", None)
    for n_rows in (25, 30, 31):
        X = np.random.default_rng(0).normal(size=(n_rows, 3))
        with pytest.raises(NeedsRows, match=f"{n_rows} rows are too few for lists of 30 neighbors"):
            prepared([X], inside_client, "auto", n_neighbors=12, candidates=20).__enter__()


def test_clients_that_cannot_be_used(inside):
    X = np.random.default_rng(0).normal(size=(60, 3))
    closed = inside(1)
    closed.close()
    with pytest.raises(ValueError, match="the client is closed"):
        RMGL(2).fit([X], client=closed)
    with pytest.raises(TypeError, match="client is of type str"):
        RMGL(2).fit([X], client="tcp://host:8786")


def test_the_client_never_holds_a_view(client, tmp_path):
    """Rows are read, checked, and sorted into blocks: the memory of the client stays far below the
    size of the view.
    """
    size = (60_000, 60)
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=size).astype(np.float32))
    tracemalloc.start()
    try:
        (matrix,) = on_workers(
            [("a", tmp_path / "rows.npy")], Workers(client), None, chunk_rows=10_000
        ).matrices
        rows = DistributedRows(matrix, Tiling(512, 32))
        assert len(rows.order) == size[0]
        assert tracemalloc.get_traced_memory()[1] < 8 * size[0] * size[1] / 2
    finally:
        tracemalloc.stop()


def test_the_plan_and_workers_that_are_too_few(inside_client, monkeypatch, caplog):
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: None)
    wide = Plan(
        100_000, (16, 32), 30, 12, Tiling(512, 13), (1, 1), (2 << 30, 2 << 30), (1e8, 1e8, 1e8)
    )
    assert (wide.n_blocks, wide.n_tasks) == (16, 3 * 136)
    assert (wide.n_pair_blocks, wide.tasks_of_embedding(20)) == (5, 2 + 2 + 5 * 6)
    assert (
        replace(wide, n_rows=10**7, tiling=Tiling(512, 77)).tasks_of_embedding(20)
        == 191 + 16 + 256 * 34
    )
    assert wide.minutes == pytest.approx(3 * 5e9 / 1e8 / 2 / 60)
    wide.check()
    text = str(wide)
    assert "16 blocks of about 6,250 rows" in text
    assert "worker 1: 1 thread(s), needs" in text
    small = replace(wide, n_rows=10**7, tiling=Tiling(512, 128))
    with pytest.raises(
        MemoryError,
        match=r"each of the 2 workers needs .* GiB for 10,000,000 rows .* (\d+) workers like these would do",
    ) as refused:
        small.check()
    enough = int(str(refused.value).split(": ")[1].split()[0])
    replace(small, threads=(1,) * enough, limits=(2 << 30,) * enough).check()
    with pytest.raises(MemoryError, match="fewer threads"):
        replace(small, threads=(64, 64)).check()
    replace(small, limits=(0, 0)).check()
    assert planned([np.ones((50, 2))], inside_client, 20).minutes > 0
    assert planned([np.ones((500, 2))], inside_client, 12, np.int64(40)).length == 40
    # the larger worker has too many threads
    uneven = replace(wide, threads=(1, 200), limits=(1 << 30, 2 << 30))
    with pytest.raises(MemoryError, match="fewer threads"):
        uneven.check()
    caplog.clear()
    caplog.set_level("WARNING", logger="rmgl")  # whatever a command in the same process has set
    wide.check()
    assert "to disk" not in caplog.text
    replace(wide, length=54, limits=(1 << 30, 1 << 30)).check()
    assert "they will write some to disk" in caplog.text
    assert replace(wide, length=54).bytes_of_client == wide.bytes_of_client == 40 * 100_000 * 12 * 4
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: 100 << 20)
    with pytest.raises(
        MemoryError,
        match=r"the layers of 100,000 rows, which the client keeps, need at least 183\.1 MiB",
    ):
        wide.check()


def test_a_long_fit_logs_how_long_the_search_takes(inside_client, views, monkeypatch, caplog):
    caplog.set_level("INFO", logger="rmgl")
    with prepared(views, inside_client, "auto", n_neighbors=12):
        assert "worker 0:" in caplog.text
        assert "minutes" not in caplog.text
    monkeypatch.setattr("rmgl.distributed.prepare.LONG", 600)
    with prepared(views, inside_client, "auto", n_neighbors=12):
        assert "search: about" in caplog.text


@pytest.mark.extended
def test_the_command_on_workers(tmp_path, views, capsys):
    for name, X in views.items():
        np.save(tmp_path / f"{name}.npy", X)
    inputs = [str(tmp_path / f"{name}.npy") for name in views]
    command = ["cluster", *inputs, "-k", "4", "-o", str(tmp_path / "out")]
    for options in (["--plan"], ["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"]):
        with pytest.raises(SystemExit, match="2"):
            main([*command, *options])
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--workers", "1", "--plan"])
    shown = capsys.readouterr()
    assert "worker 0:" in shown.out
    assert shown.out.endswith("the workers have enough memory\n")
    assert "Dask's dashboard: http://" in shown.err
    assert not (tmp_path / "out").exists()
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--workers", "1", "--no-plots"])
    assert "600 rows, 2 views, 4 clusters" in capsys.readouterr().out
    assert len((tmp_path / "out" / "labels.csv").read_text().splitlines()) == 601
