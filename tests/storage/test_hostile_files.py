"""Hostile and unlucky files, names and moments: nothing is lost without a word, nothing
half-written stays, no input is overwritten.
"""

import contextlib
import csv
import io
import json
import os
import signal
import stat
import sys
import threading
import warnings
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rmgl import RMGL
from rmgl.archive import atomic
from rmgl.archive.archive import write_archive
from rmgl.storage.output import layer_file_names
from rmgl.storage.readers import read_views
from rmgl.storage.row_ids import read_as_text, shown_as_text
from tests.commands import cluster, listing, refusal, run

# The first line of a text file: column names or a row


def text_file(path, first, n_lines=30, columns=3):
    rng = np.random.default_rng(0)
    lines = [
        ",".join(f"{value:.3f}" for value in row) for row in rng.normal(size=(n_lines - 1, columns))
    ]
    path.write_text("\n".join([first, *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("first", "cell"),
    [
        ("NA,2.5,1.5", "column 1 contains 'NA'"),
        ("0.5,,1.5", "column 2 contains nothing"),
        ("0.5,1.2.3,1.5", "column 2 contains '1.2.3'"),
        ("oops,2.5,1.5", "column 1 contains 'oops'"),
        ("0.5,2.5,n/a", "column 3 contains 'n/a'"),
        ("age,2.5,height", "column 2 contains '2.5'"),
        ("NA,NA,NA", "column 1 contains 'NA'"),
        (",,", "column 1 contains nothing"),
        ("x,NA,1.5", "column 2 contains 'NA'"),
    ],
)
def test_a_first_line_that_may_be_a_damaged_row_is_refused_and_not_lost(
    tmp_path, capsys, first, cell
):
    assert cluster(text_file(tmp_path / "a.csv", first), "-o", tmp_path / "out") == 2
    refusal(capsys, "a.csv: line 1,", cell, "column names")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("first", ["NA", "1.2.3", "n/a"])
def test_a_single_column_with_a_damaged_first_row_is_refused(tmp_path, first):
    with pytest.raises(ValueError, match="line 1, column 1 contains"):
        read_views([text_file(tmp_path / "a.csv", first, columns=1)])


@pytest.mark.parametrize(
    "header",
    [
        "height,weight,age",
        "1007_s_at,1053_at,117_at",
        "K,NA,CL",
        "control,2019,treated",
        "2020-01-01,2020-01-02,2020-01-03",
        "0,1,2",
        "s1,1_1,1_2",
    ],
)
def test_real_column_names_are_still_read_as_such(tmp_path, header):
    found = read_views([text_file(tmp_path / "a.csv", header)])
    assert found.matrices[0].shape == (29, 3)
    assert found[0].columns == tuple(header.split(","))


def test_numbers_as_column_names_beside_an_id_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("gene,1,2\nx,0.5,1.5\ny,2.5,3.5\n")
    found = read_views([path], "gene")
    assert found.index.tolist() == ["x", "y"]
    assert found.matrices[0].tolist() == [[0.5, 1.5], [2.5, 3.5]]
    with pytest.raises(ValueError, match=r"line 1, column 1 contains 'gene' among numbers.*--id"):
        read_views([path])
    with pytest.raises(ValueError, match=r"no column 'Gene': did you mean --id gene\?"):
        read_views([path], "Gene")


def test_a_row_that_looks_like_the_column_numbers_of_pandas_is_not_lost(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("0,1\n1,0\n1,1\n0,0\n")
    with pytest.raises(
        ValueError, match="line 1 contains 0,1, which may be a row or the column numbers"
    ):
        read_views([path])


def test_nul_characters_are_refused_with_their_place(tmp_path, capsys):
    text_file(tmp_path / "a.csv", "0.5,2.5\0,1.5")
    assert cluster(tmp_path / "a.csv", "-o", tmp_path / "out") == 2
    refusal(capsys, "a.csv: line 1, column 2 contains a NUL character")
    (tmp_path / "b.csv").write_text("id,x\na,1\nb\0,2\n")
    with pytest.raises(ValueError, match=r"b\.csv: line 3, column 1 contains a NUL character"):
        read_views([tmp_path / "b.csv"], "id")


def test_an_id_column_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,id\na,1,2\nb,3,4\n")
    with pytest.raises(ValueError, match="column 'id' appears more than once"):
        read_views([tmp_path / "a.csv"], "id")


# Rows put together by ids


def two_tables(folder, views, first_ids, second_ids):
    for name, X, ids in zip("ab", views.values(), (first_ids, second_ids), strict=True):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *(f"f{column}" for column in range(X.shape[1]))])
            writer.writerows(
                [identifier, *row] for identifier, row in zip(ids, X.tolist(), strict=False)
            )
    return folder / "a.csv", folder / "b.csv"


NAMES = [f"x{row}" for row in range(30)]


@pytest.mark.parametrize(
    ("first", "second", "hint"),
    [
        (NAMES, [f"{name} " for name in NAMES], "'x0' in view 'a' and 'x0 ' in view 'b'"),
        (
            list(map(str, range(30))),
            [f"{row}.0" for row in range(30)],
            "'0' in view 'a' and '0.0' in view 'b'",
        ),
        (
            [f"{row:03d}" for row in range(30)],
            list(map(str, range(30))),
            "'000' in view 'a' and '0' in view 'b'",
        ),
        (NAMES, [f"y{row}" for row in range(30)], "no row labels in common"),
    ],
)
@pytest.mark.parametrize("how", ["outer", "inner"])
def test_files_without_a_common_id_are_refused_as_in_the_library(
    two_blocks, tmp_path, capsys, first, second, hint, how
):
    files = two_tables(tmp_path, two_blocks, first, second)
    assert cluster(*files, "--id", "id", "--align", how, "-o", tmp_path / "out") == 2
    line = refusal(
        capsys,
        "view 'b' has no row labels in common"
        if how == "inner"
        else "view 'a' has no row labels in common",
        hint,
    )
    tables = {path.stem: pd.read_csv(path, dtype={"id": str}).set_index("id") for path in files}
    with pytest.raises(ValueError, match="no row labels in common") as refused:
        RMGL(2, align=how).fit(tables)
    assert line == f"rmgl: {refused.value}"


@pytest.mark.parametrize("how", ["outer", "inner"])
def test_ids_of_which_some_differ_only_in_spaces_or_zeros_are_refused(
    two_blocks, tmp_path, capsys, how
):
    files = two_tables(
        tmp_path, two_blocks, NAMES, [*NAMES[:20], *(f" {name}" for name in NAMES[20:])]
    )
    assert cluster(*files, "--id", "id", "--align", how, "-o", tmp_path / "out") == 2
    refusal(
        capsys,
        "'x20' in view 'a' and ' x20' in view 'b'",
        "10 such pairs",
        "write them the same way",
    )
    tables = {path.stem: pd.read_csv(path).set_index("id") for path in files}
    with pytest.raises(ValueError, match="'x20' in view 'a' and ' x20' in view 'b'"):
        RMGL(2, align=how).fit(tables)


def test_ids_that_look_alike_in_one_file_are_different_entities(two_blocks, tmp_path):
    ids = ["1", "1.0", "01", *NAMES[3:]]
    files = two_tables(tmp_path, two_blocks, ids, ids[:-5])
    assert cluster(*files, "--id", "id", "--align", "outer", "-o", tmp_path / "out") == 0
    assert pd.read_csv(tmp_path / "out" / "labels.csv", dtype=str)["id"].tolist() == ids


def test_many_ids_that_look_alike_in_one_file_take_no_time(tmp_path):
    many = ["0" * count for count in range(1, 3000)]
    for name, ids in (("a", ["x", *many]), ("b", ["x", "y"])):
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(["id,f", *(f"{identifier},1" for identifier in ids)])
        )
    assert read_views([tmp_path / "a.csv", tmp_path / "b.csv"], "id", "outer").index.tolist() == [
        "x",
        *many,
        "y",
    ]


def test_ids_that_must_be_the_same_name_what_looks_alike(two_blocks, tmp_path, capsys):
    files = two_tables(tmp_path, two_blocks, NAMES, [*NAMES[:-1], "x29 "])
    assert cluster(*files, "--id", "id", "-o", tmp_path / "out") == 2
    refusal(capsys, "is in view", "--align outer", "'x29' in view 'a' and 'x29 ' in view 'b'")


def test_new_rows_are_not_doubled_by_ids_that_differ_in_spaces(two_blocks, tmp_path, capsys):
    files = two_tables(tmp_path, two_blocks, NAMES, NAMES)
    assert cluster(*files, "--id", "id", "-o", tmp_path / "out", "--save", tmp_path / "m.rmgl") == 0
    two_tables(tmp_path, two_blocks, NAMES, [f"{name} " for name in NAMES])
    capsys.readouterr()
    assert run("predict", tmp_path / "m.rmgl", *files, "--id", "id", "-o", tmp_path / "p.csv") == 2
    refusal(capsys, "no row labels in common", "'x0' in view 'a' and 'x0 ' in view 'b'")


# Old results and inputs survive


class Stop(BaseException):
    """As Ctrl-C, but told from the real one."""


def make_result(folder, text):
    with atomic.new_folder(folder, replace=True) as draft:
        (draft / "labels.csv").write_text(text)


def test_ctrl_c_between_the_two_renames_keeps_the_old_result(tmp_path, monkeypatch):
    out = tmp_path / "out"
    make_result(out, "old")
    rename, calls = Path.rename, []

    def stopped(self, target):
        calls.append(self.name)
        if self.name == "new":
            raise Stop
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(Stop):
        make_result(out, "new")
    assert calls[:2] == ["out", "new"]  # it was between the two
    assert (out / "labels.csv").read_text() == "old"
    assert listing(tmp_path) == ["out", "out/labels.csv"]


def test_an_interruption_at_any_call_leaves_the_old_or_the_new_result(tmp_path, monkeypatch):
    """The n-th call that changes a folder does not happen; a second interruption follows at once,
    so nothing is put right before the exit.
    """

    def interrupted(change, calls, moment):
        def call(*arguments, **options):
            calls.append(change.__name__)
            if len(calls) > moment:
                raise Stop
            return change(*arguments, **options)

        return call

    out, found = tmp_path / "out", []
    for moment in range(20):
        make_result(out, "old")
        calls: list[str] = []
        with monkeypatch.context() as patch:
            for name in ("mkdir", "rename", "rmdir", "unlink"):
                patch.setattr(os, name, interrupted(getattr(os, name), calls, moment))
            with contextlib.suppress(Stop):
                make_result(out, "new")
        atomic.clear_leftovers(out)  # as the next run does
        found.append((out / "labels.csv").read_text())
        assert listing(tmp_path) == ["out", "out/labels.csv"]
    assert len(calls) < 20  # all moments were tried
    assert found == sorted(found, reverse=True)  # the old one until the new one is in place
    assert {"old", "new"} == set(found)


def test_a_failed_force_through_the_command_keeps_the_old_result(
    data_file, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out"
    assert cluster(data_file, "-o", out) == 0
    before = (out / "labels.csv").read_bytes()
    rename = Path.rename

    def failing(self, target):
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    assert cluster(data_file, "-o", out, "--force") == 130
    assert (out / "labels.csv").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "out"]


FORBIDDEN = {
    "save over the input": (["data.npz"], ["-o", "new", "--save", "data.npz"], "data.npz"),
    "save over the input by another path": (
        ["data.npz"],
        ["-o", "new", "--save", "old/../data.npz"],
        "data.npz",
    ),
    "save over the target of a link": (
        ["link.npz"],
        ["-o", "new", "--save", "data.npz"],
        "data.npz",
    ),
    "output and save alike": (["data.npz"], ["-o", "new", "--save", "new"], "new"),
    "save inside the output": (
        ["data.npz"],
        ["-o", "old", "--save", "old/model.rmgl"],
        "model.rmgl",
    ),
    "checkpoint inside the output": (
        ["data.npz"],
        ["-o", "old", "--checkpoint", "old/steps"],
        "steps",
    ),
    "output inside the checkpoint": (
        ["data.npz"],
        ["-o", "steps/out", "--checkpoint", "steps"],
        "out",
    ),
    "checkpoint and output alike": (["data.npz"], ["-o", "new", "--checkpoint", "new"], "new"),
    "checkpoint and save alike": (
        ["data.npz"],
        ["-o", "new", "--checkpoint", "c", "--save", "c"],
        "c ",
    ),
    "save inside the checkpoint": (
        ["data.npz"],
        ["-o", "new", "--checkpoint", "steps", "--save", "steps/m.rmgl"],
        "m.rmgl",
    ),
    "input inside the output": (["old/embedding.npy"], ["-o", "old"], "embedding.npy"),
    "output over the input": (["data.npz"], ["-o", "data.npz"], "data.npz"),
}
"""Arguments that would overwrite something, and what the refusal names."""


@pytest.mark.parametrize("name", FORBIDDEN)
def test_paths_that_would_overwrite_each_other_are_refused_before_the_fit(
    data_file, tmp_path, monkeypatch, capsys, name
):
    assert cluster(data_file, "-o", tmp_path / "old") == 0
    (tmp_path / "steps").mkdir()
    (tmp_path / "link.npz").symlink_to(data_file)
    inputs, options, culprit = FORBIDDEN[name]
    capsys.readouterr()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr(RMGL, "fit", lambda *a, **k: pytest.fail("the fit began"))
    monkeypatch.chdir(tmp_path)
    assert cluster(*inputs, *options, "--force") == 2
    refusal(capsys, culprit, "choose another name")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_predictions_never_overwrite_the_model_or_an_input(two_blocks, data_file, tmp_path, capsys):
    model = tmp_path / "m.rmgl"
    RMGL(2, random_state=0).fit(two_blocks).save(model)
    before = model.read_bytes(), data_file.read_bytes()
    for target in (model, data_file):
        assert run("predict", model, data_file, "-o", target, "--force") == 2
        refusal(capsys, target.name, "choose another name")
    assert (model.read_bytes(), data_file.read_bytes()) == before


# What will be written is checked before the fit


def no_fit(monkeypatch):
    monkeypatch.setattr(RMGL, "fit", lambda *a, **k: pytest.fail("the fit began"))


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", ["v" * 300, "\u00e9" * 200, "v" * 260, "$\\frac{$ \x01 / name"])
def test_any_view_name_can_be_written(two_blocks, tmp_path, name):
    first, second = two_blocks.values()
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        for key, X in ((name, first), (f"{name}2", second)):
            content = io.BytesIO()
            np.save(content, X)
            archive.writestr(f"{key}.npy", content.getvalue())
    options = ("--graphml", "--save", tmp_path / "m.rmgl")
    assert (
        run(
            "cluster", tmp_path / "data.npz", "-k", 2, "-o", tmp_path / "out", "--jobs", 1, *options
        )
        == 0
    )
    layers = json.loads((tmp_path / "out" / "summary.json").read_text())["layers"]
    assert [layer["name"] for layer in layers[:2]] == [name, f"{name}2"]
    assert len({layer["file"] for layer in layers}) == len(layers) == 4
    assert all((tmp_path / "out" / layer["file"]).is_file() for layer in layers)
    assert (
        run(
            "cluster",
            tmp_path / "data.npz",
            "-k",
            2,
            "-o",
            tmp_path / "out",
            "--jobs",
            1,
            *options,
            "--force",
        )
        == 0
    )
    assert list(RMGL.load(tmp_path / "m.rmgl").view_names_) == [name, f"{name}2"]


def test_long_names_are_shortened_to_different_files():
    names = layer_file_names(["v" * 300, "v" * 301, "V" * 300, "\u00e9" * 300, "short"])
    assert len({name.lower() for name in names}) == 5
    assert all(len(name.encode()) <= 143 for name in names)  # what an encrypted folder allows
    assert names[4] == "short.npz"


@pytest.mark.parametrize("option", ["-o", "--save", "predict"])
def test_a_name_that_no_folder_can_hold_is_refused_before_the_fit(
    data_file, tmp_path, monkeypatch, capsys, option
):
    no_fit(monkeypatch)
    long = tmp_path / ("n" * 300)
    if option == "predict":
        monkeypatch.setattr(RMGL, "load", lambda *a: pytest.fail("the model was loaded"))
        assert run("predict", data_file, data_file, "-o", long) == 2
    else:
        assert (
            cluster(
                data_file,
                *(("-o", long) if option == "-o" else ("-o", tmp_path / "out", "--save", long)),
            )
            == 2
        )
    refusal(capsys, "cannot be written (File name too long): choose another name or folder")
    assert listing(tmp_path) == ["data.npz"]


@pytest.mark.parametrize("option", ["-o", "--save"])
def test_a_folder_that_cannot_be_written_to_is_refused_before_the_fit(
    data_file, tmp_path, monkeypatch, capsys, option
):
    no_fit(monkeypatch)
    (tmp_path / "closed").mkdir()
    mkdir = os.mkdir

    # the superuser, who may run this test, is never refused
    def refuse(path, *arguments, **options):
        if "closed" in os.fspath(path):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return mkdir(path, *arguments, **options)

    monkeypatch.setattr(os, "mkdir", refuse)
    closed = tmp_path / "closed" / "x"
    assert (
        cluster(
            data_file,
            *(("-o", closed) if option == "-o" else ("-o", tmp_path / "out", "--save", closed)),
        )
        == 2
    )
    refusal(capsys, "closed/x cannot be written (Permission denied)")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are any bytes on Linux")
def test_a_name_that_is_no_text_is_refused_before_the_fit(
    two_blocks, tmp_path, monkeypatch, capsys
):
    no_fit(monkeypatch)
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.npy"))
    np.save(path, two_blocks["view 0"])
    assert cluster(path, "-o", tmp_path / "out") == 2
    refusal(capsys, "is not valid UTF-8 text: rename it")


def test_the_name_of_a_file_may_be_as_long_as_the_folder_allows(tmp_path):
    path = tmp_path / ("n" * 255)
    for content in ("one", "two"):
        with atomic.new_file(path) as draft:
            draft.write_text(content)
    assert path.read_text() == "two"
    assert listing(tmp_path) == [path.name]


# GraphML, spreadsheets, ZIP archives


def test_graphml_with_control_characters_is_well_formed(two_blocks, tmp_path):
    pytest.importorskip("networkx")
    from rmgl.storage.multigraph import node_attributes, write_graphml

    names = [f"a{chr(row)}b" for row in range(28)] + ["\ud800", "\uffff"]
    model = RMGL(2, random_state=0).fit({f"{name}\x01{name}": X for name, X in two_blocks.items()})
    write_graphml(
        tmp_path / "g.graphml",
        model.layers_,
        node_attributes(model.labels_, model.outlier_score_, names),
    )
    texts = {
        node.text
        for node in ElementTree.parse(tmp_path / "g.graphml").iter()
        if node.tag.endswith("data")
    }
    assert {"a\\x00b", "a\\rb", "a\tb", "a\nb", "\\ud800", "\\uffff", "view 0\\x01view 0"} <= texts


FORMULAS = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1x",
    "@x",
    "\tx",
    "\rx",
    "'=x",
    "''=x",
    "'plain",
    "-5",
    "-2.5e3",
    "=",
    "'",
    "a=b",
    '"q"',
    "x,y",
    " =x",
    "\uff1dx",
]


def spreadsheet_evaluates(cell):
    return (
        cell[:1] in {*"=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"}
        and not cell[1:].replace(".", "").replace("e", "").isdigit()
    )


def test_ids_that_are_formulas_are_written_as_text_and_read_back(two_blocks, tmp_path):
    ids = [*FORMULAS, *NAMES][:30]
    files = two_tables(tmp_path, two_blocks, ids, ids)
    out = tmp_path / "out"
    assert cluster(*files, "--id", "id", "-o", out, "--save", tmp_path / "m.rmgl") == 0
    assert run("predict", tmp_path / "m.rmgl", *files, "--id", "id", "-o", tmp_path / "p.csv") == 0
    for path in (out / "labels.csv", tmp_path / "p.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [row[0] for row in csv.reader(file)][1:]
        assert not [cell for cell in cells if spreadsheet_evaluates(cell)]
        assert cells[ids.index("-5")] == "-5"
        assert read_views([path], "id").index.tolist() == ids
    table = tmp_path / "p.csv"
    # the same ids, so that rows meet
    assert cluster(files[0], table, "--id", "id", "-o", tmp_path / "again") == 0
    assert read_views([tmp_path / "again" / "labels.csv"], "id").index.tolist() == ids


def test_ids_of_files_that_are_not_ours_are_never_changed(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n'=1,1\n=1,2\n'a,3\n")
    assert read_views([tmp_path / "a.csv"], "id").index.tolist() == ["'=1", "=1", "'a"]


@given(st.text())
def test_every_id_comes_back_from_its_cell(identifier):
    cell = shown_as_text(identifier)
    assert read_as_text(cell) == identifier
    assert cell in (identifier, f"'{identifier}")


def npz(path, *members, compression=zipfile.ZIP_STORED):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of names that stand twice
        for name, content in members:
            stream = io.BytesIO()
            if not isinstance(content, bytes):
                np.save(stream, content)
            archive.writestr(name, content if isinstance(content, bytes) else stream.getvalue())
    return path


@pytest.mark.parametrize("names", [("a.npy", "a.npy"), ("a", "a.npy"), ("b.npy", "a.npy", "a")])
def test_an_npz_with_a_view_twice_is_refused(two_blocks, tmp_path, names):
    path = npz(
        tmp_path / "a.npz",
        *((name, two_blocks["view 0"] + place) for place, name in enumerate(names)),
    )
    with pytest.raises(ValueError, match=r"a\.npz: .*contains the array 'a' more than once"):
        read_views([path])


def test_an_npz_is_read_as_before(two_blocks, tmp_path):
    np.savez_compressed(
        tmp_path / "a.npz",
        **two_blocks,
        y=np.arange(30),
        names=np.array(["x"] * 30),
        flat=np.asfortranarray(two_blocks["view 0"]),
    )
    found = read_views([tmp_path / "a.npz"])
    assert found.names == ("view 0", "view 1", "flat")
    for X, read in zip(two_blocks.values(), found.matrices, strict=False):
        np.testing.assert_array_equal(read, X, strict=True)
    np.testing.assert_array_equal(found.matrices[2], two_blocks["view 0"])


# Drafts of others


def test_folders_that_only_look_like_drafts_are_left_alone(tmp_path):
    mine = tmp_path / f".out.rmgl-{'0' * 16}"
    mine.mkdir()
    (mine / "precious.txt").write_text("mine")
    (tmp_path / ".out-abc").mkdir()
    make_result(tmp_path / "out", "new")
    assert (mine / "precious.txt").read_text() == "mine"
    assert (tmp_path / ".out-abc").is_dir()


def test_many_writers_of_one_name_do_not_disturb_each_other(tmp_path):
    """None of them takes the draft of another, which may not be locked yet, for a leftover."""
    errors = []

    def write_often():
        try:
            for _ in range(40):
                make_result(tmp_path / "out", "text")
                with atomic.new_file(tmp_path / "file") as draft:
                    draft.write_text("text")
        except BaseException as error:  # told below, in the main thread
            errors.append(error)

    threads = [threading.Thread(target=write_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert listing(tmp_path) == ["file", "out", "out/labels.csv"]


# One file, whole or not at all


def test_files_have_the_permissions_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_archive(tmp_path / "a", [1], format="test")
        make_result(tmp_path / "folder", "x")
        (tmp_path / "plain").touch()
    finally:
        os.umask(before)
    wanted = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert wanted == 0o640
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == wanted
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "folder" / "labels.csv").stat().st_mode) == wanted


def test_a_file_that_must_be_new_is_not_replaced(tmp_path):
    def write(content):
        with atomic.new_file(tmp_path / "a", exclusive=True) as draft:
            draft.write_text(content)

    write("first")
    with pytest.raises(FileExistsError):
        write("second")
    assert (tmp_path / "a").read_text() == "first"
    assert listing(tmp_path) == ["a"]


# Signals


def test_signal_handlers_are_put_back_and_the_library_has_none(data_file, tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert cluster(data_file, "-o", tmp_path / "out") == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


# Messages and sizes


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, np.ndarray.tolist, sparse.csr_array])
def test_complex_numbers_are_refused_without_printing_them(two_blocks, make):
    X = make(two_blocks["view 0"] + 1j)
    with pytest.raises(
        (ValueError, TypeError), match="view 'a': Complex data not supported: pass the real"
    ) as refused:
        RMGL(2).fit({"a": X})
    assert len(str(refused.value)) < 300


def test_an_array_of_one_dimension_is_refused_without_printing_it(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.arange(30.0))
    assert cluster(tmp_path / "a.npy", "-o", tmp_path / "out") == 2
    assert (
        len(refusal(capsys, "view 'a': Expected 2D array, got 1D array instead. Reshape your data"))
        < 300
    )


def header(shape, dtype="<f8", version=(1, 0)):
    stream = io.BytesIO()
    write = (
        np.lib.format.write_array_header_1_0
        if version == (1, 0)
        else np.lib.format.write_array_header_2_0
    )
    write(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


@pytest.mark.parametrize("shape", [(10**6, 10**6), (31, 3), (2**62, 2**62)])
def test_an_array_that_says_it_is_larger_than_its_file_is_refused(tmp_path, shape, monkeypatch):
    monkeypatch.setattr(
        np.lib.format, "read_array", lambda *a, **k: pytest.fail("memory was taken")
    )
    content = header(shape) + bytes(30 * 3 * 8)
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"a\.npy: .*its header declares an array of .* but .* 720 bytes follow"
    ):
        read_views([tmp_path / "a.npy"])
    with pytest.raises(
        ValueError, match=r"a\.npz: .*'a' declares an array of .* but .* 720 bytes follow"
    ):
        read_views([npz(tmp_path / "a.npz", ("a.npy", content))])


def test_an_archive_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch, capsys):
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros((3000, 1000)), b=np.zeros((3000, 1000)))
    assert (tmp_path / "a.npz").stat().st_size < 100_000
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: 40_000_000)
    monkeypatch.setattr(
        np.lib.format, "read_array", lambda *a, **k: pytest.fail("memory was taken")
    )
    assert cluster(tmp_path / "a.npz", "-o", tmp_path / "out") == 2
    refusal(capsys, "a.npz: its arrays need at least 45.8 MiB of memory")


def test_an_archive_that_cannot_be_honest_about_its_size_is_refused(tmp_path, monkeypatch):
    """No array that NumPy compresses is smaller by a factor of 1100; other methods of ZIP go far
    beyond.
    """
    stream = io.BytesIO()
    np.save(stream, np.zeros((30_000, 100)))
    monkeypatch.setattr(
        np.lib.format, "read_array", lambda *a, **k: pytest.fail("memory was taken")
    )
    path = npz(tmp_path / "a.npz", ("a.npy", stream.getvalue()), compression=zipfile.ZIP_LZMA)
    with pytest.raises(ValueError, match=r"a\.npz: .*'a' declares \d+ times its compressed size"):
        read_views([path])


def test_an_encrypted_member_is_refused(tmp_path, two_blocks):
    path = npz(tmp_path / "a.npz", ("a.npy", two_blocks["view 0"]))
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02")
    content[place + 8] |= 1
    content[6] |= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz: not a readable \.npz file"):
        read_views([path])


def test_an_h5mu_file_that_says_it_is_larger_than_the_memory_is_refused(tmp_path, two_blocks):
    h5py = pytest.importorskip("h5py")
    make_h5mu(tmp_path / "a.h5mu", two_blocks)
    read_views([tmp_path / "a.h5mu"])
    with h5py.File(tmp_path / "a.h5mu", "r+") as file:
        attributes = dict(file["mod/view 0/X"].attrs)
        del file["mod/view 0/X"]
        file["mod/view 0"].create_dataset("X", shape=(30, 10**13), dtype="f8", chunks=(1, 1000))
        file["mod/view 0/X"].attrs.update(attributes)
    assert (tmp_path / "a.h5mu").stat().st_size < 1_000_000
    with pytest.raises(MemoryError, match=r"a\.h5mu: its datasets need at least"):
        read_views([tmp_path / "a.h5mu"])


def test_an_h5mu_file_with_a_sparse_matrix_of_endless_columns_is_refused(tmp_path, two_blocks):
    h5py = pytest.importorskip("h5py")
    make_h5mu(tmp_path / "a.h5mu", {name: sparse.csr_array(X) for name, X in two_blocks.items()})
    read_views([tmp_path / "a.h5mu"])
    with h5py.File(tmp_path / "a.h5mu", "r+") as file:
        file["mod/view 0/X"].attrs["shape"] = [30, 10**13]
    with pytest.raises(MemoryError, match=r"a\.h5mu: its datasets need at least"):
        read_views([tmp_path / "a.h5mu"])


def test_an_h5mu_file_that_holds_itself_is_refused(tmp_path, two_blocks):
    h5py = pytest.importorskip("h5py")
    make_h5mu(tmp_path / "a.h5mu", two_blocks)
    with h5py.File(tmp_path / "a.h5mu", "r+") as file:
        file["mod/view 0/uns/more"] = file["mod"]
    with pytest.raises(ValueError, match=r"a\.h5mu: .*groups nested more than"):
        read_views([tmp_path / "a.h5mu"])


def make_h5mu(path, views):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modalities = {
            name: anndata.AnnData(X, obs=pd.DataFrame(index=NAMES)) for name, X in views.items()
        }
        mudata.MuData(modalities).write(path)


def test_a_parquet_file_that_says_it_is_larger_than_the_memory_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    pd.DataFrame(np.zeros((10_000, 20)), columns=[f"f{c}" for c in range(20)]).to_parquet(
        tmp_path / "a.parquet"
    )
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: 1_000_000)
    with pytest.raises(MemoryError, match=r"a\.parquet: its columns need at least"):
        read_views([tmp_path / "a.parquet"])
