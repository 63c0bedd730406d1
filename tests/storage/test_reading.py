"""Files as people have them: decimal commas, encodings, compression, Excel, 10x folders, AnnData."""

import gzip
import zipfile

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io, sparse

from rmgl.storage.readers import read_views
from rmgl.storage.text_format import Notation, find_notation
from tests.commands import run

X = np.array([[1.5, 1234.25], [-2.0, 0.125], [0.5, 98765.0]])


def numbers_of(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return read_views([path]).matrices[0]


TEXTS = {
    "points": "a,b\n1.5,1234.25\n-2,0.125\n0.5,98765\n",
    "no names": "1.5,1234.25\n-2,0.125\n0.5,98765\n",
    "quotes": '"a","b, c"\n"1.5","1234.25"\n-2,"0.125"\n"0.5",98765\n',
    "windows": "a,b\r\n1.5,1234.25\r\n-2,0.125\r\n0.5,98765\r\n\r\n",
    "thousands": 'a,b\n1.5,"1,234.25"\n-2,0.125\n0.5,"98,765"\n',
    "decimal commas": "a;b\n1,5;1234,25\n-2;0,125\n0,5;98765\n",
    "german": "a;b\n1,5;1.234,25\n-2;0,125\n0,5;98.765\n",
    "german, no names": "1,5;1.234,25\n-2;0,125\n0,5;98.765\n",
    "french": "a;b\n1,5;1\u202f234,25\n-2;0,125\n0,5;98\u00a0765\n",
    "swiss": "a;b\n1.5;1'234.25\n-2;0.125\n0.5;98'765\n",
    "tabs in a csv": "a\tb\n1.5\t1234.25\n-2\t0.125\n0.5\t98765\n",
    "bars": "a|b\n1.5|1234.25\n-2|0.125\n0.5|98765\n",
    "spaces": "a, b\n 1.5, 1234.25\n-2 ,0.125\n0.5,98765 \n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_numbers_in_any_notation(name, tmp_path):
    np.testing.assert_array_equal(numbers_of(tmp_path / "a.csv", TEXTS[name]), X)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding, tmp_path, caplog):
    caplog.set_level("INFO", "rmgl")
    (tmp_path / "a.csv").write_bytes("größe,gewicht\n1.5,2\n3,4\n".encode(encoding))
    assert read_views([tmp_path / "a.csv"])[0].columns == ("größe", "gewicht")
    assert ("a.csv: text in Windows-1252 separated by commas" in caplog.text) == (
        encoding == "cp1252"
    )


def test_compressed_files_have_the_name_of_what_they_hold(tmp_path):
    text = TEXTS["points"]
    (tmp_path / "gene.csv.gz").write_bytes(gzip.compress(text.encode()))
    with zipfile.ZipFile(tmp_path / "protein.csv.zip", "w") as archive:
        archive.writestr("any.csv", text)
    pd.read_csv(tmp_path / "gene.csv.gz").to_csv(tmp_path / "lipid.tsv.xz", sep="\t", index=False)
    views = read_views(
        [tmp_path / "gene.csv.gz", tmp_path / "protein.csv.zip", tmp_path / "lipid.tsv.xz"]
    )
    assert views.names == ("gene", "protein", "lipid")
    for matrix in views.matrices:
        np.testing.assert_array_equal(matrix, X)
    with zipfile.ZipFile(tmp_path / "two.csv.zip", "w") as archive:
        archive.writestr("a.csv", text)
        archive.writestr("b.csv", text)
    with pytest.raises(
        ValueError, match=r"two.csv.zip: the archive contains 2 files: it must contain one"
    ):
        read_views([tmp_path / "two.csv.zip"])


def test_long_files_are_read_to_the_last_digit(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20_000, 3))
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    np.testing.assert_array_equal(numbers_of(tmp_path / "a.csv", text), rows)


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=5))
def test_a_notation_reads_what_was_written_in_it(values):
    plain = [f"{value:,.3f}" for value in values]
    german = [cell.translate(str.maketrans(",.", ".,")) for cell in plain]
    expected = [float(cell.replace(",", "")) for cell in plain]
    for cells, comma in ((plain, False), (german, True)):
        notation = find_notation(cells, decimal_comma=comma)
        assert [notation.number(cell) for cell in cells] == expected
    assert Notation().number("1_000") is None


def test_missing_cells_texts_and_truth_values_of_a_table(tmp_path):
    lines = [
        "age,sex,ok,treatment,when",
        "30,F,True,none,2024-01-01",
        ",M,False,drug,",
        "50,NA,,drug,2024-02-01",
        "-,F,True,none,2024-03-01",
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    views = read_views([tmp_path / "a.csv"])
    kinds = {column.name: column.kind for column in views[0].encoding.columns}
    assert kinds == {
        "age": "number",
        "sex": "category",
        "ok": "Boolean",
        "treatment": "category",
        "when": "date",
    }
    levels = {column.name: column.levels for column in views[0].encoding.columns}
    assert levels["treatment"] == ("drug", "none")
    assert views[0].table_gaps().tolist() == [
        [False] * 5,
        [True, False, False, False, True],
        [False, True, True, False, False],
        [True, False, False, False, False],
    ]
    assert views[0].n_gaps == 5


def test_a_mistake_in_a_column_of_numbers_is_named(tmp_path):
    (tmp_path / "a.csv").write_text('id,"x\ny",sex\na,1,F\nb,2,M\nc,oops,F\nd,4,M\n')
    with pytest.raises(
        ValueError,
        match=r"a.csv: line 5, column 2 contains 'oops', but most",
    ):
        read_views([tmp_path / "a.csv"], "id")


def test_tables_are_aligned_by_their_ids(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,sex\np,1,F\nq,2,M\nr,3,M\ns,4,F\n")
    (tmp_path / "b.csv").write_text("id,y\ns,4\nq,2\nt,7\n")
    views = read_views([tmp_path / "a.csv", tmp_path / "b.csv"], "id", "outer")
    assert views.index.tolist() == ["p", "q", "r", "s", "t"]
    assert views.n_missing == (1, 2)
    np.testing.assert_array_equal(views.matrices[0][:, 0], [1, 2, 3, 4, 0])
    np.testing.assert_array_equal(views.matrices[1][:, 0], [0, 2, 0, 4, 7])


def test_excel(tmp_path):
    table = pd.DataFrame(
        {"id": ["007", "p", "q", "r"], "x": [1.5, None, 3, 4], "sex": ["F", "M", None, "F"]}
    )
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        table.to_excel(book, sheet_name="data", index=False)
        table.to_excel(book, sheet_name="other", index=False)
    views = read_views([tmp_path / "a.xlsx"], "id")
    assert views.index.tolist() == ["007", "p", "q", "r"]
    assert views[0].columns[:3] == ("x", "sex = F", "sex = M")
    assert views[0].n_gaps == 2
    table.assign(x=[1, "two", 3, 4]).to_excel(tmp_path / "b.xlsx", index=False)
    with pytest.raises(
        ValueError, match=r"b.xlsx: line 3, column 2 contains 'two', but most cells"
    ):
        read_views([tmp_path / "b.xlsx"], "id")


@pytest.mark.parametrize("compressed", [False, True])
def test_a_folder_of_10x_genomics(compressed, tmp_path):
    counts = sparse.random_array((5, 7), density=0.5, rng=np.random.default_rng(0), format="csr")
    folder = tmp_path / "filtered"
    folder.mkdir()
    io.mmwrite(folder / "matrix.mtx", counts.T)  # one row for each feature
    (folder / "barcodes.tsv").write_text("".join(f"cell-{i}\n" for i in range(5)))
    (folder / "features.tsv").write_text(
        "".join(f"ENSG{i}\tgene {i}\tGene Expression\n" for i in range(7))
    )
    for path in list(folder.iterdir()) if compressed else ():
        with gzip.open(f"{path}.gz", "wb") as file:
            file.write(path.read_bytes())
        path.unlink()
    views = read_views([folder])
    assert views.names == ("filtered",)
    assert views.index.tolist() == [f"cell-{i}" for i in range(5)]
    assert views[0].columns == tuple(f"ENSG{i}" for i in range(7))
    np.testing.assert_allclose(views.matrices[0].toarray(), counts.toarray(), rtol=1e-12)
    other = tmp_path / "other.mtx"
    io.mmwrite(other, counts[::-1])
    (tmp_path / "other_barcodes.tsv").write_text("".join(f"cell-{i}\n" for i in range(4, -1, -1)))
    both = read_views([folder, other])
    np.testing.assert_allclose(both.matrices[1].toarray(), counts.toarray(), rtol=1e-12)
    some = tmp_path / "some.mtx"
    io.mmwrite(some, counts[:3])
    (tmp_path / "some.rows.txt").write_text("cell-0\ncell-1\ncell-2\n")
    missing = read_views([folder, some], how="outer")
    assert missing.n_missing == (0, 2)
    (tmp_path / "some.rows.txt").write_text("cell-0\n")
    with pytest.raises(
        ValueError,
        match=r"some.mtx: it has 3 rows and 7 columns, but the files beside it list 1 entities",
    ):
        read_views([some])


def test_declared_sizes_are_checked_before_memory_is_taken(tmp_path):
    (tmp_path / "a.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 "
        "1000000000000000\n1 1 1.0\n"
    )
    with pytest.raises(MemoryError, match=r"a.mtx: its entries need at least"):
        read_views([tmp_path / "a.mtx"])


def test_anndata_files_and_tables_with_ids(tmp_path):
    adata = AnnData(
        X.copy(), obs=pd.DataFrame(index=["p", "q", "r"]), var=pd.DataFrame(index=["g", "h"])
    )
    adata.write_h5ad(tmp_path / "rna.h5ad")
    (tmp_path / "b.csv").write_text("cell,y\nr,3\np,1\nq,2\n")
    views = read_views([tmp_path / "rna.h5ad", tmp_path / "b.csv"], "cell")
    assert views.index.tolist() == ["p", "q", "r"]
    assert views[0].columns == ("g", "h")
    np.testing.assert_array_equal(views.matrices[1][:, 0], [1, 2, 3])
    (tmp_path / "c.csv").write_text("y\n3\n1\n2\n")
    with pytest.raises(
        ValueError,
        match=r"view 'rna' has row ids, but view 'c' has none: name its column of row ids with --id",
    ):
        read_views([tmp_path / "rna.h5ad", tmp_path / "c.csv"])


def test_inspect_says_what_files_are_taken_for(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "patient": [f"P{i}" for i in range(20)],
            "age": rng.normal(50, 9, 20).round(1),
            "sex": ["F", "M"] * 10,
            "site": "Ulm",
        }
    )
    table.loc[3, "age"] = None
    table.to_csv(tmp_path / "clinical.csv", index=False, sep=";", decimal=",")
    np.savez(
        tmp_path / "all.npz", counts=rng.poisson(0.1, (20, 120)), other=rng.normal(size=(20, 2))
    )
    assert run("inspect", tmp_path / "clinical.csv", tmp_path / "all.npz") == 0
    out = capsys.readouterr().out
    for part in (
        "clinical.csv: text separated by semicolons, numbers with decimal commas",
        "view 'clinical'",
        "20 rows, no row ids",
        "1 numeric column: age",
        "sex: category (text with 2 distinct values: F, M; distance 0 if equal, else 1)",
        "site: left out (constant: 'Ulm' in all rows)",
        "missing: 1 of 40 cells (2.5%), in 1 row\n",
        "scale: minmax (numeric columns: no square-root transform, because",
        "note: column 'patient' looks like row ids or free text: if it identifies the rows, use --id patient",
        "view 'counts'",
        "scale: hellinger (no negative entries, ",
    ):
        assert part in out
    assert run("inspect", tmp_path / "clinical.csv", "--id", "patient") == 0
    out = capsys.readouterr().out
    assert "row ids P0, P1, P2, ..." in out
    assert "note" not in out
    square = np.kron(np.eye(4), np.ones((3, 3))) - np.eye(12)
    np.savetxt(
        tmp_path / "links.csv",
        square,
        delimiter=",",
        fmt="%d",
        header=",".join(f"p{i}" for i in range(12)),
        comments="",
    )
    (tmp_path / "empty_row.csv").write_text("id,x,y\na,1,2\nb,,\nc,3,5\n")
    assert (
        run("inspect", tmp_path / "links.csv")
        == run("inspect", tmp_path / "empty_row.csv", "--id", "id")
        == 0
    )
    out = capsys.readouterr().out
    assert (
        "note: looks like a network (square, symmetric, mostly zeros): if it is one, pass "
        "its edge list with --network"
    ) in out
    assert "missing: 1 row has no value, so its entity is treated as missing from this view" in out
    (tmp_path / "ids.csv").write_text("id\na\nb\n")
    assert run("inspect", tmp_path / "ids.csv", "--id", "id") == 0
    assert "note: all columns are row ids or free text" in capsys.readouterr().out
    assert run("inspect", tmp_path / "none.csv") == 2
