"""Parquet and Feather files: what they hold is read as pandas would, and no file takes more memory
than there is.
"""

import numpy as np
import pandas as pd
import pytest

from rmgl.storage.column_files import block_sizes, read_feather, read_parquet
from rmgl.storage.readers import read_views

pa = pytest.importorskip("pyarrow")
parquet, feather = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.feather")
LONG = ["x" * 10_000, "y" * 10_000]
AVAILABLE = "rmgl.running.threads.available_memory"


def repeated(n_rows):
    """A table with two long texts, each of which is stored once."""
    texts = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(n_rows, dtype=np.int32) % 2), pa.array(LONG)
    )
    return pa.table({"text": texts, "x": np.arange(n_rows) % 7.0})


@pytest.fixture
def peak():
    """A function that says how many bytes Arrow has taken at most."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    yield lambda: pool.max_memory()
    pa.set_memory_pool(before)


def test_a_small_file_of_half_a_gigabyte_of_text_is_read_without_copies(tmp_path, peak):
    parquet.write_table(repeated(50_000), tmp_path / "a.parquet", store_schema=False)
    assert (tmp_path / "a.parquet").stat().st_size < 200_000
    assert parquet.read_schema(tmp_path / "a.parquet").types[0] == pa.string()
    views = read_views([tmp_path / "a.parquet"])
    assert peak() < 20_000_000
    column = views[0].encoding.columns[0]
    assert (column.kind, column.levels) == ("category", tuple(LONG))
    np.testing.assert_array_equal(views.matrices[0][:, 0], 1 - np.arange(50_000) % 2)


def test_texts_that_name_their_size_are_refused_before_they_are_read(tmp_path, monkeypatch):
    table = pa.table({"text": LONG * 1000})
    parquet.write_table(table, tmp_path / "a.parquet", use_dictionary=False, compression="zstd")
    feather.write_feather(table, tmp_path / "a.feather", compression="zstd")
    monkeypatch.setattr(AVAILABLE, lambda: 15_000_000)
    monkeypatch.setattr(
        parquet.ParquetFile, "read", lambda *a, **k: pytest.fail("memory was taken")
    )
    monkeypatch.setattr(pd, "read_feather", lambda *a, **k: pytest.fail("memory was taken"))
    for name in ("a.parquet", "a.feather"):
        assert (tmp_path / name).stat().st_size < 100_000
        with pytest.raises(
            MemoryError,
            match=rf"{name}: its columns need at least 19\.\d MiB of memory, but only 14\.3 MiB is available",
        ):
            read_views([tmp_path / name])


def test_texts_that_do_not_name_their_size_are_refused_while_they_are_read(tmp_path, monkeypatch):
    options = {
        "use_dictionary": False,
        "compression": "zstd",
        "column_encoding": {"text": "DELTA_BYTE_ARRAY", "x": "PLAIN"},
    }
    table = pa.table({"text": [LONG[0]] * 20_000, "x": np.arange(20_000.0)})
    parquet.write_table(table, tmp_path / "a.parquet", **options)
    assert parquet.read_metadata(tmp_path / "a.parquet").row_group(0).total_byte_size < 1_000_000
    assert read_parquet(tmp_path / "a.parquet").to_dict("list") == table.to_pydict()
    monkeypatch.setattr(AVAILABLE, lambda: 15_000_000)
    with pytest.raises(
        MemoryError, match=r"a\.parquet: the strings of column 'text' need at least 78\.\d MiB"
    ):
        read_views([tmp_path / "a.parquet"])


def test_cells_of_a_fixed_number_of_bytes_are_counted(tmp_path, monkeypatch):
    wide = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(3000, dtype=np.int32)), pa.array([bytes(10_000)], pa.binary(10_000))
    )
    parquet.write_table(pa.table({"wide": wide}), tmp_path / "a.parquet", store_schema=False)
    monkeypatch.setattr(AVAILABLE, lambda: 15_000_000)
    with pytest.raises(MemoryError, match=r"a\.parquet: its columns need at least 28\.6 MiB"):
        read_views([tmp_path / "a.parquet"])


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_the_size_of_a_feather_file_is_that_of_its_table(tmp_path, compression):
    rng = np.random.default_rng(0)
    columns = {
        "x": rng.normal(size=50_000),
        "text": ["some text"] * 50_000,
        "code": pa.array(["a", "b"] * 25_000).dictionary_encode(),
    }
    table = pa.table(columns)
    feather.write_feather(table, tmp_path / "a.feather", compression=compression, chunksize=20_000)
    sizes = list(block_sizes(tmp_path / "a.feather"))
    assert len(sizes) == 4  # the values of the category, and three blocks of rows
    assert sum(sizes) == pytest.approx(table.nbytes, rel=0.01)
    feather.write_feather(
        pa.table({"none": pa.nulls(50_000)}), tmp_path / "b.feather", compression=compression
    )
    assert sum(block_sizes(tmp_path / "b.feather")) == 8 * 50_000


def test_a_feather_file_of_polars(tmp_path):
    polars = pytest.importorskip("polars")
    polars.DataFrame({"x": [1.5, 2.5], "s": ["a", "b"]}).write_ipc(
        tmp_path / "a.arrow", compression="zstd"
    )
    assert read_feather(tmp_path / "a.arrow").to_dict("list") == {"x": [1.5, 2.5], "s": ["a", "b"]}


KINDS = pd.DataFrame(
    {
        "text": ["b", None, "a", "b"],
        "text.of pandas": pd.array(["b", None, "a", "b"], dtype="string"),
        "bytes": [b"b", None, b"a", b"b"],
        "number": [1.5, None, 2.5, 3.5],
        "whole": pd.array([1, None, 2, 3], dtype="Int64"),
        "truth": [True, False, True, True],
        "category": pd.Categorical(["b", None, "a", "b"]),
        "ordered": pd.Categorical(["b", None, "a", "b"], ["b", "a"], ordered=True),
        "date": pd.to_datetime(["2024-01-01", None, "2024-01-02", "2024-01-03"]),
        "period": pd.period_range("2024-01", periods=4, freq="M"),
        "all missing": [None, None, None, None],
    }
)


@pytest.mark.parametrize(
    "index",
    [
        None,
        pd.Index(list("abcd"), name="id"),
        pd.MultiIndex.from_product([["p", "q"], [1, 2]], names=["id", "n"]),
    ],
)
@pytest.mark.parametrize("options", [{}, {"row_group_size": 2}, {"use_dictionary": False}])
def test_a_table_is_read_as_it_was_written(tmp_path, index, options):
    table = KINDS if index is None else KINDS.set_index(index)
    table.to_parquet(tmp_path / "a.parquet", **options)
    found = read_parquet(tmp_path / "a.parquet")
    assert found.columns.tolist() == table.columns.tolist()
    assert list(map(str, found.index.tolist())) == list(map(str, table.index.tolist()))
    for name in table:
        assert found[name].isna().tolist() == table[name].isna().tolist()
        assert found[name].dropna().tolist() == table[name].dropna().tolist()
    assert [str(found[name].dtype) for name in ("category", "ordered", "period", "whole")] == [
        "category",
        "category",
        "period[M]",
        "Int64",
    ]
    assert found["ordered"].cat.categories.tolist() == ["b", "a"]
    assert {found[name].dtype for name in ("text", "text.of pandas", "bytes")} == {np.dtype(object)}


def test_tables_of_others_numbered_columns_and_no_rows(tmp_path):
    parquet.write_table(pa.table({"x": [1.5, 2.5], "s": ["a", "b"]}), tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").to_dict("list") == {
        "x": [1.5, 2.5],
        "s": ["a", "b"],
    }
    pd.DataFrame({0: ["a", "b"], 1: [1.5, 2.5]}).to_parquet(tmp_path / "b.parquet")
    numbered = read_parquet(tmp_path / "b.parquet")
    assert (numbered[0].tolist(), numbered[0].dtype, numbered[1].tolist()) == (
        ["a", "b"],
        np.dtype(object),
        [1.5, 2.5],
    )
    KINDS[:0].to_parquet(tmp_path / "c.parquet")
    assert read_parquet(tmp_path / "c.parquet").shape == (0, KINDS.shape[1])


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_columns_that_no_view_can_have_are_named(tmp_path, name):
    write = {"a.parquet": parquet.write_table, "a.feather": feather.write_feather}[name]
    write(pa.table({"x": [1.5, 2.5], "steps": [[1], [2, 3]]}), tmp_path / name)
    with pytest.raises(
        ValueError,
        match=rf"{name}: column 'steps' has values of type list<.*>, but each cell must contain a single value: convert",
    ):
        read_views([tmp_path / name])
    if name == "a.parquet":  # Feather files cannot be written so
        write(pa.table([pa.array([1.5]), pa.array(["a"])], names=["x", "x"]), tmp_path / name)
        with pytest.raises(
            ValueError, match=rf"{name}: column 'x' occurs more than once: rename one of them"
        ):
            read_views([tmp_path / name])


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_a_file_that_is_cut_off_is_refused(tmp_path, name):
    write = {"a.parquet": parquet.write_table, "a.feather": feather.write_feather}[name]
    write(repeated(1000), tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for size in (0, 3, 7, 20, len(whole) // 2, len(whole) - 1):
        (tmp_path / name).write_bytes(whole[:size])
        with pytest.raises(ValueError, match=rf"{name}: "):
            read_views([tmp_path / name])
