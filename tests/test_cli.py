"""The command line as a user sees it: files in, a complete folder out, one clear line on bad input."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL
from rmgl.storage.output import layer_file_names, new_folder
from tests.commands import labels, run
from tests.conftest import planted_views


@pytest.fixture
def files(tmp_path):
    views, target = planted_views()
    views = {"first": views["view 0"], "second": views["view 1"]}
    np.savez(tmp_path / "all.npz", **views, y=target)
    ids = [f"cell{i}" for i in range(90)]
    shuffled = np.random.default_rng(1).permutation(90)
    for name, X in views.items():
        np.save(tmp_path / f"{name}.npy", X)
        frame = pd.DataFrame(X, columns=[f"f{c}" for c in range(X.shape[1])])
        frame.insert(0, "cell", ids)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.iloc[shuffled].to_csv(tmp_path / f"{name}.tsv", index=False, sep="\t")
        frame.to_parquet(tmp_path / f"{name}.parquet")
        np.savetxt(tmp_path / f"{name}_plain.csv", X, delimiter=",")
    return tmp_path


def test_a_chosen_number_has_its_picture_and_a_column_for_every_stable_resolution(files):
    out = files / "out"
    assert (
        run("cluster", files / "all.npz", "-k", "auto", "-o", out, "--save", files / "m.rmgl") == 0
    )
    assert (out / "clusters.png").read_bytes().startswith(b"\x89PNG")
    model, table = RMGL.load(files / "m.rmgl"), labels(out)
    levels = model.hierarchy_
    columns = [f"label_{level.n_clusters}" for level in levels]
    assert table.columns.tolist() == ["row", "label", "outlier_score", *columns]
    for column, level in zip(columns, levels, strict=True):
        assert table[column].tolist() == level.labels.tolist()
    assert table[f"label_{model.n_clusters_}"].equals(
        table["label"].rename(f"label_{model.n_clusters_}")
    )


def test_several_numbers_are_compared_and_each_is_written(files, capsys):
    call = ("cluster", files / "first.csv", "--id", "cell", "-o", files / "out", "--no-plots")
    assert run(*call, "-k", "2-4", "--no-report") == 0
    told = capsys.readouterr().out.splitlines()
    table = pd.read_csv(files / "out" / "comparison.csv")
    assert table["clusters"].tolist() == [2, 3, 4]
    assert [line.split()[:2] for line in told[1:4]] == [
        [str(number), word] for number, word in zip(table["clusters"], table["trust"], strict=True)
    ]
    found = [labels(files / "out" / f"{number}_clusters")["label"] for number in (2, 3, 4)]
    assert [column.nunique() for column in found] == [2, 3, 4]
    assert table["smallest"].tolist() == [column.value_counts().min() for column in found]
    assert np.isnan(table["same_as_before"][0])
    assert table["same_as_before"][1] == pytest.approx(adjusted_rand_score(*found[:2]), abs=1e-3)
    assert run(*call[:-1], "--no-report", "-k", 3, "--no-plots", "--force") == 0  # replaces them
    assert run(*call, "-k", "2-3", "--no-report", "--force") == 0
    (files / "out" / "2_clusters" / "mine.txt").write_text("precious")
    assert run(*call, "-k", "2-3", "--no-report", "--force") == 2
    assert "contains '2_clusters/mine.txt', which rmgl did not write" in capsys.readouterr().err


def test_every_one_of_several_fits_has_a_progress_bar(files, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    call = ("cluster", files / "first.csv", "--id", "cell", "-o", files / "out", "--no-plots")
    assert run(*call, "-k", "2-3", "--no-report") == 0
    assert len(re.findall(r"done +100%[^\r\n]*\n", capsys.readouterr().err)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", "4-2"], "'4-2' is not a range from a smaller number to a larger one"),
        (["-k", "2-91"], "-k 91 asks for more clusters than there are rows"),
        (["-k", "2-3", "--save", "m.rmgl"], "cannot be combined with --save"),
    ],
)
def test_bad_numbers_of_clusters_are_refused(files, options, message, capsys):
    assert run("cluster", files / "all.npz", "-o", files / "out", *options) == 2
    assert message in capsys.readouterr().err
    assert not (files / "out").exists()


def test_cluster_writes_a_complete_folder(files, capsys):
    out = files / "out"
    assert run("cluster", files / "all.npz", "-k", 3, "-o", out) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "embedding.npy",
        "embedding.png",
        "features.csv",
        "labels.csv",
        "layers",
        "layers.png",
        "report.html",
        "report.txt",
        "summary.json",
    ]
    table = labels(out)
    assert table.columns.tolist() == ["row", "label", "outlier_score"]
    assert table["outlier_score"].between(0, 1).all()
    assert table["label"].nunique() == 3
    features = pd.read_csv(out / "features.csv")
    assert features.columns.tolist() == [
        "cluster",
        "view",
        "feature",
        "effect_size",
        "mean_inside",
        "mean_outside",
        "auc",
    ]
    assert len(features) == 3 * (3 + 5)
    Q = np.load(out / "embedding.npy")
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)
    layer = sparse.load_npz(out / "layers" / "second.npz")
    assert layer.sum() == pytest.approx(90)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "converged"
    assert summary["parameters"]["random_state"] == 0
    assert [layer["name"] for layer in summary["layers"]] == [
        "first",
        "second",
        "consensus",
        "neighbors",
    ]
    assert all(layer["kkt_residual"] <= 1e-6 for layer in summary["layers"])
    for view in summary["report"]["views"]:
        assert (
            view["inside"]["found"]
            > view["inside"]["chance"] + 3 * view["inside"]["deviation"]
            > view["inside"]["chance"]
        )
        assert view["inside"]["chance"] == pytest.approx(3 * 30 * 29 / (90 * 89), rel=1e-12)
    assert set(summary["versions"]) == {"python", "rmgl", "numpy", "scipy", "scikit-learn", "numba"}
    assert "90 rows, 2 views, 3 clusters" in capsys.readouterr().out


def test_the_page_is_named_at_the_end_and_can_be_left_out(files, capsys, monkeypatch):
    call = ("cluster", files / "all.npz", "-k", 3, "--no-plots", "--force", "-o", files / "out")
    assert run(*call) == 0
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == f"open in a browser: {files / 'out' / 'report.html'}"
    )
    assert run(*call, "--no-report") == 0
    assert not (files / "out" / "report.html").exists()
    assert "report.html" not in "".join(capsys.readouterr())
    monkeypatch.setattr("rmgl.command_line.terminal.find_spec", lambda name: None)
    assert run(*call) == 0
    assert not (files / "out" / "report.html").exists()
    told = capsys.readouterr()
    assert (
        told.err.count(
            "report.html is not written, because it needs bokeh, which is not installed: pip install bokeh"
        )
        == 1
    )
    assert "browser" not in told.out


def test_every_kind_of_file_gives_the_same_labels(files):
    assert run("cluster", files / "all.npz", "-k", 3, "-o", files / "reference", "--no-plots") == 0
    wanted = labels(files / "reference")["label"]
    for kind, extra in (
        (".npy", ()),
        (".csv", ("--id", "cell")),
        (".parquet", ("--id", "cell")),
        ("_plain.csv", ()),
    ):
        out = files / f"out{kind}"
        assert (
            run(
                "cluster",
                files / f"first{kind}",
                files / f"second{kind}",
                "-k",
                3,
                "-o",
                out,
                "--no-plots",
                *extra,
            )
            == 0
        )
        pd.testing.assert_series_equal(labels(out)["label"], wanted)
        assert not (out / "layers.png").exists()


def test_ids_align_rows_in_any_order(files):
    out = files / "mixed"
    assert (
        run(
            "cluster",
            files / "first.csv",
            files / "second.tsv",
            "-k",
            3,
            "--id",
            "cell",
            "-o",
            out,
            "--no-plots",
        )
        == 0
    )
    assert (
        run(
            "cluster",
            files / "first.csv",
            files / "second.csv",
            "-k",
            3,
            "--id",
            "cell",
            "-o",
            files / "same",
            "--no-plots",
        )
        == 0
    )
    pd.testing.assert_frame_equal(labels(out), labels(files / "same"))
    assert labels(out)["cell"].tolist() == [f"cell{i}" for i in range(90)]


def test_ids_in_a_parquet_index_and_column_numbers_as_names(files):
    frame = pd.read_parquet(files / "first.parquet").set_index("cell")
    frame.to_parquet(files / "indexed.parquet")
    assert (
        run(
            "cluster",
            files / "indexed.parquet",
            "-k",
            3,
            "--id",
            "cell",
            "-o",
            files / "a",
            "--no-plots",
        )
        == 0
    )
    assert labels(files / "a")["cell"].tolist() == frame.index.tolist()
    pd.DataFrame(frame.to_numpy()).to_csv(files / "numbered.CSV", index=False)
    assert run("cluster", files / "numbered.CSV", "-k", 3, "-o", files / "b", "--no-plots") == 0
    assert len(labels(files / "b")) == 90


def test_parameters_per_view(files):
    out = files / "out"
    options = (
        "--alpha",
        "1,2",
        "--beta",
        "first=3,second=4",
        "--scale",
        "first=none,second=standard",
        "--seed",
        5,
    )
    assert run("cluster", files / "all.npz", "-k", 3, "-o", out, "--no-plots", *options) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert [layer["alpha"] for layer in summary["layers"]] == [1.0, 2.0]
    assert [layer["beta"] for layer in summary["layers"]] == [3.0, 4.0]
    assert summary["parameters"]["scale"] == {"first": "none", "second": "standard"}
    assert summary["parameters"]["random_state"] == 5


def test_an_existing_folder_is_kept_unless_forced(files, capsys):
    out = files / "out"
    call = ("cluster", files / "all.npz", "-k", 3, "-o", out, "--no-plots")
    assert run(*call) == 0
    before = (out / "summary.json").stat().st_ino
    assert run(*call) == 2
    assert "already exists" in capsys.readouterr().err
    assert (out / "summary.json").stat().st_ino == before
    assert run(*call, "--force") == 0
    assert (out / "summary.json").stat().st_ino != before
    for name in ("my notes.txt", "layers/mine.npz"):
        (out / name).write_text("precious")
        assert run(*call, "--force") == 2
        assert f"{name!r}, which rmgl did not write" in capsys.readouterr().err
        assert (out / name).read_text() == "precious"
        (out / name).unlink()
    foreign = files / "foreign"
    foreign.mkdir()
    (foreign / "labels.csv").write_text("not from here")
    assert run(*call[:-2], foreign, "--no-plots", "--force") == 2
    assert (foreign / "labels.csv").read_text() == "not from here"


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    def fail():
        with new_folder(tmp_path / "out", force=False) as draft:
            (draft / "half.txt").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def write(path, text):
    path.write_text(text)
    return path


def folder(path):
    path.mkdir()
    return path


def damaged_npz(folder):
    np.savez_compressed(folder / "bad.npz", a=np.random.default_rng(0).normal(size=(200, 20)))
    content = bytearray((folder / "bad.npz").read_bytes())
    content[300:900] = bytes(600)
    (folder / "bad.npz").write_bytes(content)
    return [folder / "bad.npz"]


def npz_with_text(folder):
    with zipfile.ZipFile(folder / "text.npz", "w") as archive:
        archive.writestr("a.npy", "not an array")
    return [folder / "text.npz"]


def npy_with_open_bracket(folder):
    content = (folder / "first.npy").read_bytes()
    (folder / "a.npy").write_bytes(content.replace(b"), }", b" , }", 1))
    return [folder / "a.npy"]


def feather_without_columns(folder):
    pd.DataFrame(index=range(5)).to_feather(folder / "a.feather")
    return [folder / "a.feather"]


def h5mu_without_encoding(folder):
    import h5py

    with h5py.File(folder / "a.h5mu", "w") as file:
        file.attrs["encoding-type"] = "MuData"
        file.create_group("mod/first")["X"] = [1.0]
        file["mod/first/X"].attrs.update({"encoding-type": "nonsense", "encoding-version": "0.1.0"})
    return [folder / "a.h5mu"]


def latin_csv(folder):
    (folder / "a.csv").write_bytes("gr\u00f6\u00dfe\x02\n1\n2\n".encode("latin-1"))
    return [folder / "a.csv"]


BAD = {
    "npz with a text": (npz_with_text, r"text.npz: not a readable .npz file of plain arrays"),
    "npy with a spoiled header": (
        npy_with_open_bracket,
        r"a.npy: not a readable .npy file of plain numbers",
    ),
    "feather without columns": (feather_without_columns, r"view 'a': Found array with 0 feature"),
    "h5mu of unknown things": (h5mu_without_encoding, r"a.h5mu: not a readable .h5mu file"),
    "csv that is not text": (
        latin_csv,
        r"a.csv: byte 2 is not valid UTF-8 text: save the file as UTF-8",
    ),
    "no such file": (lambda d: [d / "none.npy"], r"none.npy: no such file"),
    "unknown kind": (lambda d: [write(d / "a.ods", "x")], r"a.ods: unsupported file type"),
    "broken xlsx": (lambda d: [write(d / "a.xlsx", "x")], r"a.xlsx: not a readable .xlsx file"),
    "broken mtx": (lambda d: [write(d / "a.mtx", "x")], r"a.mtx: not a Matrix Market file"),
    "broken h5ad": (lambda d: [write(d / "a.h5ad", "x")], r"a.h5ad: not a readable .h5ad file"),
    "broken gz": (lambda d: [write(d / "a.csv.gz", "x")], r"a.csv.gz: "),
    "broken npz": (lambda d: [write(d / "a.npz", "not a zip")], r"a.npz: not a readable .npz file"),
    "broken npy": (lambda d: [write(d / "a.npy", "nope")], r"a.npy: not a readable .npy file"),
    "broken parquet": (lambda d: [write(d / "a.parquet", "nope")], r"a.parquet: "),
    "npz and others": (
        lambda d: [d / "all.npz", d / "first.npy"],
        r"use one .npz or .h5mu file with all views",
    ),
    "empty csv": (lambda d: [write(d / "a.csv", "")], r"a.csv: the file is empty"),
    "text in csv": (
        lambda d: [write(d / "a.csv", "x,y\n1,2\n3,oops\n")],
        r"a.csv: line 3, column 2 contains 'oops', but most cells",
    ),
    "gap in csv": (
        lambda d: [write(d / "a.csv", "x,y\n1,2\n3,\n"), "-k", "2", "--missing", "error"],
        r"view 'a' contains NaN cells \(1 in all\) in 1 of 2 rows .*row 1, column 1",
    ),
    "nothing but ids": (
        lambda d: [write(d / "a.csv", "who\n" + "".join(f"p{i}\n" for i in range(9)))],
        r"view 'a': all columns are row ids or free text \(who\): leave the file out",
    ),
    "ids in two files": (
        lambda d: [
            write(d / f"{name}.csv", "who,x\n" + "".join(f"p{i},{i}\n" for i in range(9)))
            for name in "ab"
        ],
        r"column 'who' seems to contain row ids and occurs in several files: use --id who",
    ),
    "ragged csv": (
        lambda d: [write(d / "a.csv", "x,y\n1,2\n3\n")],
        r"a.csv: line 3 has 1 fields but the first line has 2",
    ),
    "row index in csv": (
        lambda d: [write(d / "a.csv", ",x\n0,1\n1,2\n")],
        r"a.csv: the first column has no name and looks like a row index",
    ),
    "blank line in csv": (
        lambda d: [write(d / "a.csv", "x\n1\n\n3\n")],
        r"a.csv: line 3 has 0 fields but the first line has 1",
    ),
    "npy named npz": (
        lambda d: [Path(shutil.copy(d / "first.npy", d / "a.npz"))],
        r"a.npz: .*it contains a single array: rename it to .npy",
    ),
    "npz named npy": (
        lambda d: [Path(shutil.copy(d / "all.npz", d / "a.npy"))],
        r"a.npy: it contains several arrays: rename it to .npz",
    ),
    "damaged npz": (damaged_npz, r"bad.npz: not a readable .npz file"),
    "id for npz": (
        lambda d: [d / "all.npz", "--id", "cell"],
        r"all.npz: arrays in an .npz file have no id column",
    ),
    "id for npy": (
        lambda d: [d / "first.npy", "--id", "cell"],
        r"first.npy: an .npy file has no id column 'cell'",
    ),
    "alpha below rounding": (
        lambda d: [d / "all.npz", "--alpha", "1e-100"],
        r"alpha=1.0e-100 for view 'first' is below the rounding",
    ),
    "no id column": (lambda d: [d / "first_plain.csv", "--id", "cell"], r"no column 'cell'"),
    "repeated id": (
        lambda d: [write(d / "a.csv", "id,x\na,1\na,2\nb,3\n"), "--id", "id"],
        r"view 'a' has the row label 'a' more than once",
    ),
    "other ids": (
        lambda d: [
            write(d / "a.csv", "id,x\na,1\nb,2\nc,3\n"),
            write(d / "b.csv", "id,x\na,1\nb,2\nd,3\n"),
            "--id",
            "id",
        ],
        r"id 'c' is in view 'a' but not in view 'b'",
    ),
    "different rows": (
        lambda d: [d / "first.npy", write(d / "b.csv", "1\n2\n3\n")],
        r"view 'b' has 3 rows but view 'first' has 90",
    ),
    "NaN": (
        lambda d: [write(d / "a.csv", "1,2\nnan,3\n4,5\n6,7\n"), "--missing", "error"],
        r"view 'a' contains NaN cells \(1 in all\) in 1 of 4 rows .*row 1, column 0",
    ),
    "bad alpha": (
        lambda d: [d / "all.npz", "--alpha", "many"],
        r"'many' is not a number, a list like 2,2,20",
    ),
    "negative alpha": (
        lambda d: [d / "all.npz", "--alpha", "1,-1"],
        r"alpha=-1.0 for view 'second' must be",
    ),
    "unknown view": (
        lambda d: [d / "all.npz", "--beta", "third=1"],
        r"beta names unknown views \['third'\]",
    ),
    "bad scale": (
        lambda d: [d / "all.npz", "--scale", "log"],
        r"'--scale': 'log' is not one of 'auto', 'minmax'",
    ),
    "no cluster": (lambda d: [d / "all.npz", "-k", "0"], r"'-k' / '--clusters': 0 is not a valid"),
    "no thread": (
        lambda d: [d / "all.npz", "--jobs", "0"],
        r"'--jobs': 0 is not a valid number of threads",
    ),
    "alpha of nothing": (lambda d: [d / "all.npz", "--alpha", "0"], r"'--alpha': 0.* not in the"),
    "unknown solver": (lambda d: [d / "all.npz", "--solver", "x"], r"'--solver': 'x' is not one"),
    "negative seed": (lambda d: [d / "all.npz", "--seed", "-1"], r"'--seed': -1 is not in the"),
    "one row": (
        lambda d: [write(d / "a.csv", "x,y\n1,2\n")],
        r"a.csv has 1 row, but a view needs",
    ),
    "a folder": (
        lambda d: [folder(d / "data")],
        r"data is a folder, but not a 10x Genomics folder.*pass the files in it",
    ),
    "equal file names": (
        lambda d: [d / "first.csv", d / "first.tsv", "--id", "cell"],
        r"two views have the name 'first'.*another name, such as first_2=FILE",
    ),
    "id in other letters": (
        lambda d: [d / "first.csv", "--id", "Cell"],
        r"first.csv: no column 'Cell': did you mean --id cell\?",
    ),
    "unknown option": (lambda d: [d / "all.npz", "--frobnicate"], r"No such option"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_line_and_exit_code_2(files, capsys, name):
    import re

    arguments, message = BAD[name]
    assert run("cluster", "-k", 3, *arguments(files), "-o", files / "out", "--no-plots") == 2
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert error.count("\n") == 1
    assert not (files / "out").exists()


def test_too_many_clusters(files, capsys):
    assert run("cluster", files / "all.npz", "-k", 91, "-o", files / "out") == 2
    assert "-k 91 asks for more clusters than there are rows (90)" in (capsys.readouterr().err)


def test_layer_file_names_are_safe_and_different():
    assert layer_file_names(["a", "a/b", "../x", "A", "a b", ""]) == [
        "a.npz",
        "a_b.npz",
        "_x.npz",
        "A_2.npz",
        "a_b_2.npz",
        "view.npz",
    ]


def test_module_runs_as_a_program(tmp_path):
    found = subprocess.run(
        [sys.executable, "-m", "rmgl", "--version"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ,
    )
    assert found.returncode == 0
    assert "rmgl" in found.stdout


def test_options_stand_under_headings_in_the_help(capsys):
    assert run("cluster", "--help") == 0
    lines = capsys.readouterr().out.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings[:3] == ["Clusters:", "Data:", "Results:"]
    assert headings[-1] == "Options:"
    data = lines[lines.index("Data:") : lines.index("Results:")]
    assert any(line.startswith("  --id ") for line in data)
    options = [line.split()[0].rstrip(",") for line in lines if line.startswith("  -")]
    assert len(set(options)) == len(options)


def test_help_without_arguments(capsys):
    assert run() == 2
    assert "cluster" in capsys.readouterr().err


@pytest.mark.parametrize(("watched", "options"), [(True, []), (True, ["--quiet"]), (False, [])])
def test_a_terminal_shows_the_stages(tmp_path, capsys, monkeypatch, watched, options):
    """From reading to the page, in one bar; nothing elsewhere, or if asked to be quiet."""
    pytest.importorskip("bokeh")
    np.savez(tmp_path / "views.npz", **planted_views()[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: watched, raising=False)
    assert (
        run(
            "cluster",
            tmp_path / "views.npz",
            "-k",
            3,
            "-o",
            tmp_path / "out",
            "--no-plots",
            *options,
        )
        == 0
    )
    said = capsys.readouterr()
    in_all, fit = re.search(r"clusters in ([\d.]+) s \(fit ([\d.]+) s\)", said.out).groups()
    assert float(in_all) >= float(fit)
    shown = said.err
    if not watched or options:
        assert "spent" not in shown
        return
    places = [
        shown.index(stage)
        for stage in (
            "reading",
            "scaling",
            "neighbors",
            "layers",
            "embedding",
            "quick refits",
            "writing",
            "page",
            "done",
        )
    ]
    assert places == sorted(places)
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("rmgl")]


# The demo, on data that takes no time


@pytest.fixture
def small_digits(monkeypatch):
    """A tenth of the digits, in place of all."""
    from sklearn.utils import Bunch

    from rmgl.datasets import uci_digits

    data = uci_digits.load_uci_digits()
    views = {name: X[::10] for name, X in data.views.items()}
    monkeypatch.setattr(
        uci_digits, "load_uci_digits", lambda: Bunch(views=views, target=data.target[::10])
    )
    return views


def test_the_demo_prints_layers_and_scores(small_digits, capsys):
    assert run("demo", "--jobs", 1) == 0
    out = capsys.readouterr().out
    assert "UCI handwritten digits" in out
    lines = out.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("layer"))
    assert [line.split()[0] for line in lines[head + 1 : head + 9]] == [
        *small_digits,
        "consensus",
        "neighbors",
    ]
    scores = {
        line.split()[0]: float(line.split()[1])
        for line in lines
        if line.startswith(("NMI", "accuracy"))
    }
    assert scores.keys() == {"NMI", "accuracy"}
    assert all(0.5 < score <= 1 for score in scores.values())
    assert "Verdict: " in out
    assert "written: " not in out


def test_the_demo_writes_its_results(small_digits, tmp_path, capsys):
    out = tmp_path / "demo"
    assert run("demo", "--jobs", 1, "-o", out) == 0
    assert f"written: {out}" in capsys.readouterr().out
    assert len(labels(out)) == 200
    assert {"embedding.png", "layers.png", "summary.json"} <= {path.name for path in out.iterdir()}
    assert run("demo", "--jobs", 1, "-o", out) == 2
    assert "already exists" in capsys.readouterr().err


def test_the_demo_fails_in_one_line(monkeypatch, capsys):
    from rmgl.datasets import uci_digits

    def damaged():
        raise OSError("the data file\nis damaged")

    monkeypatch.setattr(uci_digits, "load_uci_digits", damaged)
    assert run("demo") == 2
    assert capsys.readouterr().err == "rmgl: the data file is damaged\n"


@pytest.fixture
def clinical(files):
    """A table of further columns of the cells, without five of them and with a stranger."""
    rng, target = np.random.default_rng(0), planted_views()[1]
    table = pd.DataFrame(
        {
            "cell": [f"cell{i}" for i in range(90)],
            "age": 50 + 5 * target + rng.normal(size=90).round(2),
            "sex": rng.choice(["F", "M"], 90),
            "=months": rng.exponential(20 / (1 + target)).round(2),
            "died": (rng.random(90) < 0.7).astype(int),
        }
    )
    table.loc[5, "cell"] = "stranger"
    path = files / "clinical.csv"
    table.sample(frac=1, random_state=2).iloc[:-4].to_csv(path, index=False)
    return path


def clustered(files, *options, inputs=("first.csv", "second.csv")):
    paths = [files / name for name in inputs]
    return run("cluster", *paths, "-k", 3, "--id", "cell", "-o", files / "out", *options)


def test_further_columns_are_written_and_shown(files, clinical, capsys):
    assert clustered(files, "--outcome", clinical, "--time", "=months", "--event", "died") == 0
    told = capsys.readouterr().out
    assert "Kruskal-Wallis" in told
    assert "median survival" in told
    assert (files / "out" / "survival.png").exists()
    written = pd.read_csv(files / "out" / "associations.csv")
    assert set(written["column"]) == {"age", "sex", "survival (=months, died)"}
    assert written["column"][0] == "age"
    found = labels(files / "out").set_index("cell")["label"]
    table = pd.read_csv(clinical, index_col="cell").reindex(found.index)
    groups = [table["age"][found == k].dropna() for k in range(3)]
    assert written["statistic"][0] == pytest.approx(stats.kruskal(*groups).statistic, rel=1e-5)
    assert written["n_missing"][0] == table["age"].isna().sum() > 0
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert "What else differs between the clusters?" in page
    assert "<b>first.csv, second.csv</b>" in page
    assert clustered(files, "--outcome", clinical, "--no-plots", "--force") == 0
    assert not (files / "out" / "survival.png").exists()


def test_ids_of_observations_are_found_in_a_column_of_further_columns(files, clinical):
    anndata = pytest.importorskip("anndata")
    for name in ("first", "second"):
        table = pd.read_csv(files / f"{name}.csv", index_col="cell")
        anndata.AnnData(table).write_h5ad(files / f"{name}.h5ad")
    paths = [files / "first.h5ad", files / "second.h5ad"]
    call = ("cluster", *paths, "-k", 3, "--no-plots", "--no-report", "-o", files / "out")
    assert run(*call, "--outcome", clinical) == 0
    assert set(pd.read_csv(files / "out" / "associations.csv")["column"]) >= {"age", "sex"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "=months", "--event", "died"], "pass the table with --outcome FILE"),
        (["--color", "sex"], "pass the table with --outcome FILE"),
        (["--outcome", "clinical.csv", "--color", "Sex"], "no column 'Sex': did you mean --color"),
        (["--outcome", "clinical.csv", "--time", "=months"], "pass both or neither"),
        (["--outcome", "nosuch.csv"], "no such file"),
        (["--outcome", "clinical.csv", "--time", "m", "--event", "died"], "time='m' is not a col"),
        (["--outcome", "first.csv"], "column 'f0' was used in the fit (view 'first')"),
        (["--outcome", "first_plain.csv"], "column 'cell'"),
        (
            ["--outcome", "clinical.csv", "--time", "age", "--event", "sex"],
            "but an event must be true",
        ),
    ],
)
def test_bad_further_columns_are_refused_before_the_fit(
    files, clinical, options, message, capsys, monkeypatch
):
    monkeypatch.chdir(files)
    monkeypatch.setattr("rmgl.command_line.commands.timed_fit", None)
    assert clustered(files, *options) == 2
    assert message in capsys.readouterr().err
    assert not (files / "out").exists()


def test_further_columns_are_not_overwritten(files, clinical, capsys):
    assert clustered(files, "--outcome", clinical, "--save", clinical, "--force") == 2
    assert "would be overwritten" in capsys.readouterr().err


def test_the_page_colors_rows_by_further_columns(files, clinical, monkeypatch):
    from rmgl.page import page

    given = []
    wanted = page.check_columns
    monkeypatch.setattr(page, "check_columns", lambda *args: given.append(args) or wanted(*args))
    assert clustered(files, "--outcome", clinical, "--color", "sex,age", "--no-plots") == 0
    (columns, n_rows), *_ = [args for args in given if args[0] is not None]
    assert (list(columns), n_rows) == (["sex", "age"], 90)
    table = pd.read_csv(clinical, index_col="cell").reindex(labels(files / "out")["cell"])
    assert list(columns["sex"]) == table["sex"].fillna("unknown").tolist()
    np.testing.assert_array_equal(columns["age"], table["age"])


def test_folders_of_arrays_are_read_without_workers(files, tmp_path, capsys):
    zarr = pytest.importorskip("zarr")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 6 * (np.arange(60) % 2)[:, None]
    zarr.open_group(str(tmp_path / "all.zarr"), mode="w").create_array("rna", data=X)
    np.save(tmp_path / "protein.npy", X[:, :2])
    given = ["cluster", tmp_path / "all.zarr", tmp_path / "protein.npy", "-k", "2"]
    assert run(*given, "-o", tmp_path / "folders", "--no-plots", "--no-report") == 0
    assert "60 rows, 2 views, 2 clusters" in capsys.readouterr().out
    assert run(*given, files / "first.csv", "-o", tmp_path / "mixed") == 2
    assert "combine it only with other such folders" in capsys.readouterr().err
