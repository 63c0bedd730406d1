"""Row labels travel from the files of a user into models, graphs, warnings and predictions."""

import csv
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from rmgl import RMGL
from tests.commands import run
from tests.conftest import planted_views

IDS = [f"é {row:02d}" for row in range(36)]


def write_table(path, ids, X):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["ID", *(f"f{c}" for c in range(X.shape[1]))])
        writer.writerows([name, *row] for name, row in zip(ids, X.tolist(), strict=True))
    return path


def read_table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def labeled():
    views, target = planted_views(sizes=(12, 12, 12), columns=(3, 4))
    return list(views.values()), target


@pytest.fixture(scope="module")
def folder(labeled, tmp_path_factory):
    """Two tables with ids in different orders, clustered by the command line."""
    folder = tmp_path_factory.mktemp("labeled")
    (first, second), _ = labeled
    order = np.random.default_rng(3).permutation(36)
    tables = (
        write_table(folder / "a.csv", IDS, first),
        write_table(folder / "b.csv", [IDS[row] for row in order], second[order]),
    )
    options = ("-k", 3, "-o", folder / "out", "--no-plots", "--graphml", "--jobs", 1)
    assert run("cluster", *tables, "--id", "ID", "--save", folder / "m.rmgl", *options) == 0
    return folder


def test_a_saved_model_has_the_ids(folder, labeled):
    model = RMGL.load(folder / "m.rmgl")
    assert model.index_.tolist() == IDS
    assert (
        len(
            {
                (label, true)
                for label, true in zip(model.labels_.tolist(), labeled[1].tolist(), strict=True)
            }
        )
        == 3
    )


def test_the_ids_are_those_of_the_labels(folder):
    model, rows = RMGL.load(folder / "m.rmgl"), read_table(folder / "out" / "labels.csv")
    assert [row["ID"] for row in rows] == IDS
    assert [int(row["label"]) for row in rows] == model.labels_.tolist()


def test_the_nodes_of_a_graphml_file_have_the_ids_as_names(folder):
    space = "{http://graphml.graphdrawing.org/xmlns}"
    tree = ElementTree.parse(folder / "out" / "layers.graphml")
    keys = {
        key.get("attr.name"): key.get("id")
        for key in tree.iter(f"{space}key")
        if key.get("for") == "node"
    }
    names = {
        node.get("id"): next(d.text for d in node if d.get("key") == keys["name"])
        for node in tree.iter(f"{space}node")
    }
    assert [names[str(row)] for row in range(36)] == IDS


def test_graphs_of_a_loaded_model_have_the_ids(folder):
    model = RMGL.load(folder / "m.rmgl")
    assert [name for _, name in model.to_networkx().nodes(data="name")] == IDS
    assert model.to_igraph().vs["name"] == IDS


def test_predictions_have_the_ids_of_the_new_rows(folder, labeled, tmp_path):
    (first, second), _ = labeled
    write_table(tmp_path / "a.csv", ["new", "old", "odd"], first[[0, 14, 30]])
    write_table(tmp_path / "b.csv", ["old", "late"], second[[14, 5]])
    assert (
        run(
            "predict",
            folder / "m.rmgl",
            tmp_path / "a.csv",
            tmp_path / "b.csv",
            "--id",
            "ID",
            "-o",
            tmp_path / "new.csv",
        )
        == 0
    )
    found = {row["ID"]: int(row["label"]) for row in read_table(tmp_path / "new.csv")}
    labels = RMGL.load(folder / "m.rmgl").labels_
    assert found == {"new": labels[0], "old": labels[14], "odd": labels[30], "late": labels[5]}


def test_without_ids_there_is_no_index(labeled, tmp_path):
    np.savez(tmp_path / "v.npz", a=labeled[0][0], b=labeled[0][1])
    assert (
        run(
            "cluster",
            tmp_path / "v.npz",
            "-k",
            3,
            "-o",
            tmp_path / "out",
            "--no-plots",
            "--save",
            tmp_path / "m.rmgl",
        )
        == 0
    )
    assert RMGL.load(tmp_path / "m.rmgl").index_ is None
    assert list(read_table(tmp_path / "out" / "labels.csv")[0]) == ["row", "label", "outlier_score"]


@pytest.mark.parametrize("align", ["outer", "inner"])
def test_ids_of_some_of_the_files(align, labeled, tmp_path):
    (first, second), _ = labeled
    tables = (
        write_table(tmp_path / "a.csv", IDS[:33], first[:33]),
        write_table(tmp_path / "b.csv", IDS[2:], second[2:]),
    )
    options = (
        "--id",
        "ID",
        "--align",
        align,
        "-k",
        3,
        "-o",
        tmp_path / "out",
        "--no-plots",
        "--save",
        tmp_path / "m.rmgl",
    )
    assert run("cluster", *tables, *options) == 0
    model = RMGL.load(tmp_path / "m.rmgl")
    assert set(model.index_) == set(IDS if align == "outer" else IDS[2:33])
    assert [row.n_missing for row in model.report_.views] == (
        [3, 2] if align == "outer" else [0, 0]
    )
