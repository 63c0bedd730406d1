"""Every row of a file with row ids has one: a missing id is an error that names the file and the
row.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from rmgl.storage.edge_lists import read_edge_list
from rmgl.storage.readers import read_views
from tests.commands import run

TABLES = {
    "a.csv": lambda table, path: table.to_csv(path, index=False),
    "a.tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "a.xlsx": lambda table, path: table.to_excel(path, index=False),
    "a.parquet": pd.DataFrame.to_parquet,
    "a.feather": pd.DataFrame.to_feather,
    "a.arrow": pd.DataFrame.to_feather,
}
KINDS = {
    "text": ["p", None, "q"],
    "pandas text": pd.array(["p", None, "q"], dtype="string"),
    "category": pd.Categorical(["p", None, "q"]),
    "number": [1.0, None, 2.0],
    "whole number": pd.array([1, None, 2], dtype="Int64"),
    "date": pd.to_datetime(["2024-01-01", None, "2024-01-02"]),
    "blank": ["p", " ", "q"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLES)
def test_a_missing_id_is_refused_with_its_row(name, kind, tmp_path, capsys):
    TABLES[name](pd.DataFrame({"x": [1.5, 2.5, 3.5], "patient": KINDS[kind]}), tmp_path / name)
    assert run("cluster", tmp_path / name, "--id", "patient", "-k", 2, "-o", tmp_path / "out") == 2
    line = "row 1" if name in ("a.parquet", "a.feather", "a.arrow") else "line 3"
    found = capsys.readouterr().err
    assert f"{name}: {line}, column 'patient' has no id" in found
    assert "give every row its own id, or remove the row" in found
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("mark", ["NA", "<NA>", "nan", "null", "?", " NA "])
def test_a_mark_of_missing_values_is_no_id_in_text(mark, tmp_path):
    (tmp_path / "a.csv").write_text(f'"patient\nid",x\np,1\n{mark},2\nq,3\n')
    with pytest.raises(ValueError, match=r"a\.csv: line 4, column 'patient\\nid' has no id"):
        read_views([tmp_path / "a.csv"], "patient\nid")
    (tmp_path / "edges.csv").write_text(f"source,target\np,q\nq,{mark}\n")
    with pytest.raises(
        ValueError,
        match=r"edges\.csv: line 3 contains 'q' and '.*', but an edge needs two ids: fill them in",
    ):
        read_edge_list(tmp_path / "edges.csv")


def test_a_missing_label_in_the_index_of_a_table_is_refused(tmp_path):
    pd.DataFrame(
        {"x": [1.5, 2.5, 3.5]}, index=pd.Index(["p", None, "q"], name="patient")
    ).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet: row 1, column 'patient' has no id"):
        read_views([tmp_path / "a.parquet"], "patient")


def test_ids_that_are_words_for_nothing_are_kept_where_a_file_knows_what_is_missing(tmp_path):
    pd.DataFrame({"x": [1.5, 2.5, 3.5], "patient": ["NA", "nan", "None"]}).to_parquet(
        tmp_path / "a.parquet"
    )
    assert read_views([tmp_path / "a.parquet"], "patient").index.tolist() == ["NA", "nan", "None"]
    (tmp_path / "a.csv").write_text("patient,x\nnone,1\n-,2\nq,3\n")
    assert read_views([tmp_path / "a.csv"], "patient").index.tolist() == ["none", "-", "q"]


def test_a_missing_name_beside_a_matrix_is_refused(tmp_path):
    io.mmwrite(tmp_path / "x.mtx", sparse.coo_array(np.eye(3)))
    (tmp_path / "x_barcodes.tsv").write_text("a\t1\n\t2\nc\t3\n")
    with pytest.raises(ValueError, match=r"x\.mtx: x_barcodes\.tsv, name 2 has no id"):
        read_views([tmp_path / "x.mtx"])


@pytest.mark.filterwarnings("ignore")
def test_a_missing_observation_is_refused(tmp_path):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    adata = anndata.AnnData(
        np.eye(3), obs=pd.DataFrame(index=np.array(["a", " ", "c"], dtype=object))
    )
    adata.write_h5ad(tmp_path / "x.h5ad")
    with pytest.raises(ValueError, match=r"x\.h5ad: observation 1 \(obs_names\) has no id"):
        read_views([tmp_path / "x.h5ad"])
    mudata.MuData({"rna": adata}).write(tmp_path / "x.h5mu")
    with pytest.raises(ValueError, match=r"x\.h5mu: observation 1 \(obs_names\) has no id"):
        read_views([tmp_path / "x.h5mu"])
