"""Edge list files, and `--network` on the command line."""

import gzip

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rmgl.command_line.cli import cli
from rmgl.metrics import normalized_mutual_info_score
from rmgl.storage.edge_lists import read_edge_list, with_networks
from tests.commands import labels

GROUP = np.repeat(np.arange(2), 15)


def edges_of(seed=0):
    random = np.random.default_rng(seed)
    upper = np.triu(random.random((30, 30)) < np.where(GROUP[:, None] == GROUP, 0.5, 0.02), k=1)
    return np.argwhere(upper)


@pytest.fixture
def files(tmp_path):
    names = np.array([f"p{i}" for i in range(30)])
    X = np.random.default_rng(1).normal(size=(30, 3)) + 4 * GROUP[:, None]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.insert(0, "person", names)
    table.to_csv(tmp_path / "traits.csv", index=False)
    for seed, name in enumerate(("friends", "work")):
        pd.DataFrame(names[edges_of(seed)], columns=["source", "target"]).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(
        cli,
        [*map(str, arguments), "--jobs", "1"]
        if arguments[0] == "cluster"
        else list(map(str, arguments)),
    )


def test_cluster_and_predict_with_a_network(files):
    save = files / "model.rmgl"
    options = [
        "-k",
        2,
        "--id",
        "person",
        "--network",
        files / "friends.csv",
        "--no-plots",
        "--no-report",
        "--save",
        save,
    ]
    found = invoke("cluster", files / "traits.csv", *options, "-o", files / "result")
    assert found.exit_code == 0, found.output
    assert "friends" in found.output
    assert normalized_mutual_info_score(GROUP, labels(files / "result").label) == 1.0
    (files / "new").mkdir()
    (files / "new" / "friends.csv").write_text("n1,p0\nn1,p1\nn2,p20\nn2,p21\n")
    found = invoke(
        "predict", save, "--network", files / "new" / "friends.csv", "-o", files / "new.csv"
    )
    assert found.exit_code == 0, found.output
    new = pd.read_csv(files / "new.csv")
    assert new["id"].tolist() == ["n1", "n2"]
    own = labels(files / "result").label.to_numpy()
    assert new.label.tolist() == [own[0], own[20]]


def test_only_networks_and_the_page(files):
    options = [
        "-k",
        2,
        "--network",
        files / "friends.csv",
        "--network",
        files / "work.csv",
        "--no-plots",
    ]
    found = invoke("cluster", *options, "-o", files / "result")
    assert found.exit_code == 0, found.output
    table = labels(files / "result")
    group = table["id"].str[1:].astype(int) // 15
    assert normalized_mutual_info_score(group, table.label) == 1.0
    assert (files / "result" / "report.html").exists()


def test_edge_lists_are_read_like_tables(tmp_path):
    text = "Müller;Ärzte;0,5\nÄrzte;Öz;1,25\n"
    (tmp_path / "german.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "tabs.csv.gz").write_bytes(gzip.compress(text.replace(";", "\t").encode()))
    (tmp_path / "words.txt").write_text("Müller Ärzte 0.5\nÄrzte Öz 1.25\n", encoding="utf-8")
    for name in ("german.csv", "tabs.csv.gz", "words.txt"):
        edges = read_edge_list(tmp_path / name)
        assert edges.name == name.split(".")[0]
        assert (edges.first, edges.second) == (["Müller", "Ärzte"], ["Ärzte", "Öz"])
        assert edges.weights.tolist() == [0.5, 1.25]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "edges.csv.gz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"edges.csv.gz: not a readable edge list"):
        read_edge_list(tmp_path / "edges.csv.gz")


def test_a_line_of_any_column_names(files):
    text = (files / "friends.csv").read_text().replace("source,target", "citing,cited")
    (files / "friends.csv").write_text(text)
    save = files / "model.rmgl"
    options = [
        "-k",
        2,
        "--id",
        "person",
        "--network",
        files / "friends.csv",
        "--no-plots",
        "--no-report",
        "--save",
        save,
    ]
    found = invoke("cluster", files / "traits.csv", *options, "-o", files / "result")
    assert found.exit_code == 0, found.output
    assert "line 1 (citing, cited) was read as column names" in found.output
    (files / "new").mkdir()
    (files / "new" / "friends.csv").write_text("citing,cited\nn1,p0\nn2,p20\n")
    found = invoke(
        "predict", save, "--network", files / "new" / "friends.csv", "-o", files / "new.csv"
    )
    assert found.exit_code == 0, found.output
    assert pd.read_csv(files / "new.csv")["id"].tolist() == ["n1", "n2"]
    (files / "numbers.csv").write_text("citing,cited\n0,1\n1,2\n")
    assert read_edge_list(files / "numbers.csv").first == ["0", "1"]


def test_an_entity_may_be_in_the_network_only(files):
    table = pd.read_csv(files / "traits.csv")
    table.loc[3, ["a", "b", "c"]] = np.nan
    table.to_csv(files / "traits.csv", index=False)
    options = ["-k", 2, "--id", "person", "--no-plots", "--no-report", "-o", files / "result"]
    found = invoke("cluster", files / "traits.csv", *options, "--network", files / "friends.csv")
    assert found.exit_code == 0, found.output
    assert normalized_mutual_info_score(GROUP, labels(files / "result").label) == 1.0
    (files / "few.csv").write_text("p0,p1\np1,p2\n")
    found = invoke(
        "cluster", files / "traits.csv", *options, "--force", "--network", files / "few.csv"
    )
    assert found.exit_code == 2
    assert "row 'p3' is missing from every view" in found.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p98,p99\np0,p97\np0,p1\n", "line 1: 'p98' is not an entity"),
        ("p0,p1\np0\n", "line 2 has 1 fields"),
        ("p0,p1,2\np1,p2,-1\n", "line 2, column 3 contains '-1', but must contain a weight >= 0"),
        ("source,target\n", "the file has no edges"),
        ("p0,p99\n", "line 1: 'p99' is not an entity"),
        ("p0,p0\n", "no edge between two different entities"),
    ],
)
def test_bad_edge_lists(files, text, message):
    (files / "bad.csv").write_text(text)
    found = invoke(
        "cluster",
        files / "traits.csv",
        "-k",
        2,
        "--id",
        "person",
        "--network",
        files / "bad.csv",
        "-o",
        files / "result",
    )
    assert found.exit_code == 2
    assert message in found.output
    assert not (files / "result").exists()


def test_no_file_at_all(tmp_path):
    found = invoke("cluster", "-k", 2, "-o", tmp_path / "result")
    assert found.exit_code == 2
    assert "Missing argument 'INPUTS...'" in found.output


def test_weights_heads_and_separators(tmp_path):
    contents = {"a.csv": "from,to,weight\n0,1,2.5\n", "b.tsv": "0\t1\t2.5\n", "c.txt": "0 1 2.5\n"}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
        views = with_networks(None, [read_edge_list(tmp_path / name)])
        np.testing.assert_array_equal(views.matrices[0].toarray(), [[0.0, 2.5], [2.5, 0.0]])
        assert views.index.tolist() == ["0", "1"]
