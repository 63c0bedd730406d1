"""Columns, sheets and views that options choose from files."""

import re

import numpy as np
import pandas as pd
import pytest

from rmgl import RMGL
from rmgl.storage.paths import NamedFile
from rmgl.storage.readers import read_views
from rmgl.storage.selection import Selection
from tests.commands import cluster, labels, run
from tests.conftest import planted_views


@pytest.fixture
def birds(tmp_path, monkeypatch):
    """A table of ids, two groups of columns, a column of mistakes, and a category."""
    monkeypatch.chdir(tmp_path)
    views, target = planted_views(sizes=(15, 15), columns=(3, 2))
    table = pd.DataFrame({"bird": [f"b{i}" for i in range(30)]})
    for name, X in zip(("bill", "flipper"), views.values(), strict=True):
        for place in range(X.shape[1]):
            table[f"{name}_{place}"] = X[:, place]
    table["weight"] = ["heavy", *map(str, range(29))]
    table["island"] = np.where(target == 0, "Dream", "Biscoe")
    table.to_csv("birds.csv", index=False)
    return table


def columns_of(selection, path="birds.csv"):
    views = read_views([NamedFile.of(path).path], "bird", selection=selection)
    return {view.name: list(view.given_columns) for view in views}


def test_columns_are_kept_and_dropped_by_name_or_pattern(birds, tmp_path):
    wanted = ["bill_0", "bill_1", "bill_2", "island"]
    for selection in (
        Selection(columns=("bill_*", "island")),
        Selection(drop=("flipper_?", "weight")),
        Selection(columns=("bill_*", "island", "weight"), drop=("weight",)),
    ):
        assert columns_of(selection) == {"birds": wanted}
    birds["weight"] = birds["weight"].replace("heavy", "0").astype(float)
    birds.to_parquet(tmp_path / "birds.parquet")
    assert columns_of(Selection(drop=("flipper_?", "weight")), "birds.parquet") == {"birds": wanted}


def test_a_column_that_is_dropped_may_hold_anything(birds, tmp_path, capsys):
    """A mistake in a column stops the run only if the column is used."""
    assert cluster("birds.csv", "--id", "bird", "-o", "out") == 2
    assert "column 7 contains 'heavy', but most cells" in capsys.readouterr().err
    assert cluster("birds.csv", "--id", "bird", "-o", "out", "--drop", "weight,island") == 0
    birds.drop(columns=["weight", "island"]).to_csv("fewer.csv", index=False)
    assert cluster("fewer.csv", "--id", "bird", "-o", "fewer") == 0
    assert labels(tmp_path / "out").equals(labels(tmp_path / "fewer"))


def test_one_table_is_split_into_views(birds, tmp_path, capsys):
    split = ("--view", "body=bill_*,flipper_1", "--view", "arm=flipper_0")
    assert cluster("birds.csv", "--id", "bird", "-o", "out", *split, "--save", "m.rmgl") == 0
    assert "left out because they are not in any --view: weight, island" in capsys.readouterr().err
    assert RMGL.load("m.rmgl").view_names_ == ["body", "arm"]
    for name, columns in (
        ("body", ["bill_0", "bill_1", "bill_2", "flipper_1"]),
        ("arm", ["flipper_0"]),
    ):
        birds[["bird", *columns]].to_csv(f"{name}.csv", index=False)
    assert cluster("body.csv", "arm.csv", "--id", "bird", "-o", "files") == 0
    assert labels(tmp_path / "out").equals(labels(tmp_path / "files"))
    assert run("predict", "m.rmgl", "birds.csv", "--id", "bird", *split, "-o", "p.csv") == 0
    assert run("predict", "m.rmgl", "body.csv", "arm.csv", "--id", "bird", "-o", "q.csv") == 0
    assert pd.read_csv("p.csv").equals(pd.read_csv("q.csv"))
    capsys.readouterr()
    assert run("inspect", "birds.csv", "--id", "bird", *split) == 0
    told = capsys.readouterr().out
    assert "view 'body'" in told
    assert "4 columns, all numeric: bill_0" in told


def test_sheets_are_chosen_by_name_and_several_are_views(birds, capsys):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter("birds.xlsx") as book:
        birds[["bird", "bill_0", "bill_1"]].to_excel(book, sheet_name="Bills", index=False)
        birds[["bird", "flipper_0", "weight"]].to_excel(book, sheet_name="Wings", index=False)
    assert columns_of(Selection(), "birds.xlsx") == {"birds": ["bill_0", "bill_1"]}
    one = Selection(sheets=("Wings",), drop=("weight",))
    assert columns_of(one, "birds.xlsx") == {"birds": ["flipper_0"]}
    both = Selection(sheets=("Wings", "Bills"), drop=("weight",))
    assert columns_of(both, "birds.xlsx") == {"Wings": ["flipper_0"], "Bills": ["bill_0", "bill_1"]}
    assert run("inspect", "birds.xlsx", "--id", "bird", "--sheet", "bills") == 2
    assert "birds.xlsx: no sheet 'bills': did you mean --sheet Bills?" in capsys.readouterr().err


def test_a_file_may_be_given_a_name(birds, tmp_path):
    birds.iloc[:, :4].to_csv("x.csv", index=False)
    (tmp_path / "new").mkdir()
    birds.iloc[:, [0, 4, 5]].to_csv(tmp_path / "new" / "x.csv", index=False)
    (tmp_path / "links.csv").write_text("".join(f"b{i},b{(i + 1) % 30}\n" for i in range(30)))
    named = ("bill=x.csv", f"wing={tmp_path / 'new' / 'x.csv'}", "--network", "friends=links.csv")
    assert cluster(*named, "--id", "bird", "-o", "out", "--save", "m.rmgl") == 0
    assert RMGL.load("m.rmgl").view_names_ == ["bill", "wing", "friends"]
    assert run("predict", "m.rmgl", "bill=x.csv", "--id", "bird", "-o", "p.csv") == 0
    birds.iloc[:, :4].to_csv("a=b.csv", index=False)
    assert NamedFile.of("a=b.csv").name is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drop", "weight,Island"], "--drop Island: no file .*: did you mean --drop island"),
        (["--columns", "beak_*"], r"--columns beak_\*: no file .*\(available: bill_0, bill_1"),
        (["--columns", "island", "--drop", "island"], "leave no columns in view 'birds'"),
        (["--view", "a=bill_*", "--view", "b=*_0"], "column 'bill_0' is in the views 'a' and 'b'"),
        (["--view", "a"], "'a' is not of the form name=columns, such as body="),
        (["--view", "a=beak"], "--view a=beak: no file has such a column"),
        (["more=birds.csv", "--view", "a=bill_*"], "--view splits one table into views"),
        (["--sheet", "A"], "--sheet A: none of the files is an .xlsx file"),
    ],
)
def test_bad_selections_are_refused_in_one_line(birds, options, message, capsys):
    assert cluster("birds.csv", "--id", "bird", "-o", "out", *options) == 2
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert error.count("\n") == 1


def test_files_without_names_of_columns_and_of_all_views_are_refused(birds, capsys):
    X = birds.iloc[:, 1:6].to_numpy()
    np.save("x.npy", X)
    np.savez("all.npz", a=X)
    assert cluster("x.npy", "-o", "out", "--drop", "a") == 2
    assert "x.npy: its columns have no names" in capsys.readouterr().err
    for options in (["all.npz", "--drop", "a"], ["b=all.npz"]):
        assert cluster(*options, "-o", "out") == 2
        assert "a file that contains all views is read as is" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("ids", [["--id", "bird"], []])
def test_empty_rows_are_left_out_with_a_note(birds, tmp_path, kind, ids, capsys):
    pytest.importorskip("openpyxl")
    table = birds.iloc[:, :4] if ids else birds.iloc[:, 1:4]
    with_gaps = table.reindex([*range(5), -1, *range(5, 29), -2, 29])

    def write(frame, name):
        if kind == "csv":
            frame.to_csv(f"{name}.csv", index=False)
        else:
            frame.to_excel(f"{name}.xlsx", index=False)

    write(table, "full")
    write(with_gaps, "gaps")
    assert cluster(f"full.{kind}", *ids, "-o", "full") == 0
    capsys.readouterr()
    assert cluster(f"gaps.{kind}", *ids, "-o", "gaps") == 0
    told = "2 empty lines are left out: 7, 32" if ids else "left out (2): row 6, 31"
    assert told in capsys.readouterr().err
    assert labels(tmp_path / "gaps").equals(labels(tmp_path / "full"))


def test_a_row_that_one_of_two_files_lacks_is_no_empty_row(birds, tmp_path, capsys):
    """Rows without ids are matched by their place, so that none of them may go."""
    first, second = birds.iloc[:, 1:4].copy(), birds.iloc[:, 4:6]
    first.loc[3] = np.nan
    first.to_csv("first.csv", index=False)
    second.to_csv("second.csv", index=False)
    assert cluster("first.csv", "second.csv", "-o", "out") == 0
    assert "left out" not in capsys.readouterr().err
    assert len(labels(tmp_path / "out")) == 30


def test_a_row_with_values_needs_an_id(birds, capsys):
    birds.iloc[:, :4].assign(bird=["", *birds["bird"][1:]]).to_csv("x.csv", index=False)
    assert cluster("x.csv", "--id", "bird", "-o", "out") == 2
    assert "x.csv: line 2, column 'bird' has no id" in capsys.readouterr().err


def test_free_text_is_left_out_with_a_note(birds, tmp_path, capsys):
    table = birds.drop(columns="weight")
    table.to_csv("plain.csv", index=False)
    table.assign(notes=[f"seen {i} times" for i in range(30)]).to_csv("notes.csv", index=False)
    assert cluster("plain.csv", "--id", "bird", "-o", "plain") == 0
    capsys.readouterr()
    assert cluster("notes.csv", "--id", "bird", "-o", "notes", "--save", "m.rmgl") == 0
    assert "notes.csv: column 'notes' is left out because its values are" in capsys.readouterr().err
    assert labels(tmp_path / "notes").equals(labels(tmp_path / "plain"))
    assert list(labels(tmp_path / "notes").columns)[:2] == ["bird", "label"]
    assert run("predict", "m.rmgl", "notes.csv", "--id", "bird", "-o", "p.csv") == 0
    assert list(pd.read_csv("p.csv").columns)[:2] == ["bird", "label"]


def test_a_column_of_labels_keeps_its_name(birds, tmp_path):
    """Where the ids are called label, theirs are called id."""
    birds.iloc[:, :4].rename(columns={"bird": "label"}).to_csv("x.csv", index=False)
    assert cluster("x.csv", "--id", "label", "-o", "out") == 0
    assert list(labels(tmp_path / "out").columns)[:2] == ["id", "label"]
