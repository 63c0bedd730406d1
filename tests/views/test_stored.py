"""Views in storage: what is read, in which form, and what is refused."""

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.views.check_view import has_stored
from rmgl.views.stored import named_views, read_stored, shape_of

X = np.abs(np.random.default_rng(0).normal(size=(600, 5)))


@pytest.fixture
def stored(tmp_path):
    """The same rows in every kind of storage."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd, zarr = pytest.importorskip("pandas"), pytest.importorskip("zarr")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abcde"))
    np.save(tmp_path / "rows.npy", X)
    zarr.save_array(str(tmp_path / "rows.zarr"), X)
    (tmp_path / "parquet").mkdir()
    frame[:400].to_parquet(tmp_path / "parquet" / "0.parquet")
    frame[400:].to_parquet(tmp_path / "parquet" / "1.parquet")
    return {
        "array": X,
        "table": frame,
        "npy": tmp_path / "rows.npy",
        "npy by name": str(tmp_path / "rows.npy"),
        "zarr folder": tmp_path / "rows.zarr",
        "zarr": zarr.open_array(str(tmp_path / "rows.zarr"), mode="r"),
        "dask array": da.from_array(X, chunks=(110, 2)),
        "unknown chunks": dd.from_pandas(frame, npartitions=3).to_dask_array(),
        "dask table": dd.from_pandas(frame, npartitions=3),
        "parquet": tmp_path / "parquet",
        "parquet file": tmp_path / "parquet" / "0.parquet",
    }


def test_all_kinds_of_storage_hold_the_same_rows(stored):
    shapes = {name: shape_of(name, view) for name, view in named_views(stored)}
    for name, view in read_stored(stored).items():
        expected = X[:400] if name == "parquet file" else X
        np.testing.assert_array_equal(np.asarray(view), expected, err_msg=name)
        assert shapes[name] == expected.shape
        named = "table" in name or "parquet" in name
        assert list(getattr(view, "columns", [])) == (list("abcde") if named else [])


def test_what_is_in_memory_is_not_touched(stored):
    assert not has_stored({"a": X})
    assert read_stored([X, X])[1] is X
    assert read_stored({"a": X, "b": stored["npy"]})["a"] is X
    np.testing.assert_array_equal(read_stored(stored["npy"]), X)
    assert list(read_stored([stored["npy"], stored["zarr"]])) == ["view_0", "view_1"]


def test_labels_of_rows_are_kept_where_they_are_wanted():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    labels = [f"row {row}" for row in range(60)]
    table = dd.from_pandas(pd.DataFrame(X[:60], index=labels), npartitions=2, sort=False)
    assert read_stored({"a": table}, labeled=True)["a"].index.tolist() == labels
    assert read_stored({"a": table})["a"].index.tolist() == list(range(60))


def test_stored_views_are_fitted_without_workers(stored):
    """The result is that of the rows in memory."""
    model = RMGL(2, random_state=0)
    here = model.fit({"a": X, "b": X[:, :2]}).labels_
    in_files = model.fit({"a": stored["zarr folder"], "b": stored["dask array"][:, :2]}).labels_
    np.testing.assert_array_equal(in_files, here)


def test_a_zarr_group_holds_views(tmp_path):
    """By its path or itself, alone or beside other views."""
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "both.zarr"), mode="w")
    for name, rows in (("right", X[:, 1:]), ("left", X), ("note", np.arange(3.0))):
        group[name] = rows
    for given in (group, tmp_path / "both.zarr", {"both": tmp_path / "both.zarr"}):
        found = read_stored(given)
        assert list(found) == ["left", "right"]
        np.testing.assert_array_equal(found["right"], X[:, 1:])
    names = [name for name, _ in named_views({"both": group, "x": X})]
    assert names == ["both_left", "both_right", "x"]


def bad_stored(folder):
    """What storage may hold that is no view: the view, and what the error says."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd, zarr, dask = (
        pytest.importorskip("pandas"),
        pytest.importorskip("zarr"),
        pytest.importorskip("dask"),
    )
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"size": np.arange(60.0), "flag": np.arange(60) % 2 == 0})
    zarr.open_group(str(folder / "empty.zarr"), mode="w")
    (folder / "broken.zarr").mkdir()
    (folder / "parquet").mkdir()
    (folder / "text.parquet").write_text("a,b\n1,2\n")
    np.save(folder / "thin.npy", np.ones((60, 0)))
    np.save(folder / "flat.npy", np.ones(60))
    np.save(folder / "text.npy", np.full((60, 2), "a"))
    yield da.ones((60, 0), chunks=(9, 1)), "view 'a' has no columns, but at least one is required"
    yield folder / "thin.npy", "view 'a' has no columns"
    yield folder / "flat.npy", "a two-dimensional array of numbers was expected"
    yield folder / "text.npy", "a two-dimensional array of numbers was expected"
    yield folder / "none.npy", "no such file or folder"
    yield dask.delayed(np.ones((60, 2))), "view 'a' is a dask.delayed object.*from_delayed"
    yield dd.from_pandas(table, npartitions=2)["size"], "view 'a' is a Dask Series with 1 dimension"
    yield folder / "parquet", "view 'a': .*parquet has 0 rows and 0 columns"
    yield folder / "text.parquet", "cannot read .*text.parquet as Parquet"
    yield folder / "empty.zarr", "view 'a' is a zarr group that contains no 2-D arrays"
    yield folder / "broken.zarr", "view 'a': .* neither a zarr array nor a zarr group"


def test_bad_storage(tmp_path):
    for view, message in bad_stored(tmp_path):
        with pytest.raises(ValueError, match=message):
            RMGL(2).fit({"a": view})


def test_paths_may_be_text(tmp_path):
    np.save(tmp_path / "a.npy", X)
    found = read_stored({"a": str(tmp_path / "a.npy"), "b": X})
    np.testing.assert_array_equal(found["a"], X)


def test_a_group_of_one_array_keeps_its_name(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.open_group(str(tmp_path / "g.zarr"), mode="w").create_array("rna", data=X)
    assert list(read_stored(tmp_path / "g.zarr")) == ["rna"]
    with pytest.raises(ValueError, match="view names must differ"):
        read_stored({"g": tmp_path / "g.zarr", "g_rna": X, "other": X})


def test_no_view_is_read_that_does_not_fit_into_memory(tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array")
    np.save(tmp_path / "a.npy", X)
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: 1000)
    for view in (tmp_path / "a.npy", da.from_array(X)):
        with pytest.raises(MemoryError, match="view 'view_0': its numbers need at least"):
            read_stored(view)


def test_files_that_are_missing_or_damaged_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"view 'a': .*nope.npy: no such file or folder"):
        read_stored({"a": tmp_path / "nope.npy"})
    (tmp_path / "bad.npy").write_bytes(b"12345")
    with pytest.raises(ValueError, match=r"view 'a': .*bad.npy: "):
        read_stored({"a": tmp_path / "bad.npy"})


def test_new_rows_may_be_stored(tmp_path):
    left, right = X + 5 * (np.arange(600) % 2)[:, None], X[:, :3]
    model = RMGL(2, random_state=0).fit({"a": left, "b": right})
    np.save(tmp_path / "a.npy", left[:20])
    new = {"a": tmp_path / "a.npy", "b": right[:20]}
    np.testing.assert_array_equal(model.predict(new), model.labels_[:20])
    np.save(tmp_path / "all.npy", left)
    explained = model.explain({"a": tmp_path / "all.npy", "b": right})
    assert str(explained) == str(model.explain({"a": left, "b": right}))
