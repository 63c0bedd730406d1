"""Edge list files, and `--network` on the command line."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rmgl.cli import cli
from rmgl.metrics import normalized_mutual_info_score
from rmgl.storage.edge_lists import read_edge_list, with_networks

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
        pd.DataFrame(names[edges_of(seed)], columns=["source", "target"]).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli, [*map(str, arguments), "--jobs", "1"] if arguments[0] == "cluster" else list(map(str, arguments)))


def labels_in(folder):
    return pd.read_csv(folder / "labels.csv")


def test_cluster_and_predict_with_a_network(files):
    save = files / "model.rmgl"
    options = ["-k", 2, "--id", "person", "--network", files / "friends.csv", "--no-plots", "--no-report", "--save", save]
    found = run("cluster", files / "traits.csv", *options, "-o", files / "result")
    assert found.exit_code == 0, found.output
    assert "friends" in found.output
    assert normalized_mutual_info_score(GROUP, labels_in(files / "result").label) == 1.0
    (files / "new").mkdir()
    (files / "new" / "friends.csv").write_text("n1,p0\nn1,p1\nn2,p20\nn2,p21\n")
    found = run("predict", save, "--network", files / "new" / "friends.csv", "-o", files / "new.csv")
    assert found.exit_code == 0, found.output
    new = pd.read_csv(files / "new.csv")
    assert new["id"].tolist() == ["n1", "n2"]
    own = labels_in(files / "result").label.to_numpy()
    assert new.label.tolist() == [own[0], own[20]]


def test_only_networks_and_the_page(files):
    options = ["-k", 2, "--network", files / "friends.csv", "--network", files / "work.csv", "--no-plots"]
    found = run("cluster", *options, "-o", files / "result")
    assert found.exit_code == 0, found.output
    table = labels_in(files / "result")
    group = table["id"].str[1:].astype(int) // 15
    assert normalized_mutual_info_score(group, table.label) == 1.0
    assert (files / "result" / "report.html").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p0,p1\np0\n", "line 2 has 1 fields"),
        ("p0,p1,2\np1,p2,-1\n", "line 2, column 3 holds '-1' where a weight >= 0 is needed"),
        ("source,target\n", "no edge in the file"),
        ("p0,p99\n", "line 1: 'p99' is no entity"),
        ("p0,p0\n", "no edge between two different entities"),
    ],
)
def test_bad_edge_lists(files, text, message):
    (files / "bad.csv").write_text(text)
    found = run("cluster", files / "traits.csv", "-k", 2, "--id", "person", "--network", files / "bad.csv", "-o", files / "result")
    assert found.exit_code == 2
    assert message in found.output
    assert not (files / "result").exists()


def test_no_file_at_all(tmp_path):
    found = run("cluster", "-k", 2, "-o", tmp_path / "result")
    assert found.exit_code == 2
    assert "Missing argument 'INPUTS...'" in found.output


def test_weights_heads_and_separators(tmp_path):
    contents = {"a.csv": "from,to,weight\n0,1,2.5\n", "b.tsv": "0\t1\t2.5\n", "c.txt": "0 1 2.5\n"}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
        views = with_networks(None, [read_edge_list(tmp_path / name)])
        np.testing.assert_array_equal(views.matrices[0].toarray(), [[0.0, 2.5], [2.5, 0.0]])
        assert views.index.tolist() == ["0", "1"]
