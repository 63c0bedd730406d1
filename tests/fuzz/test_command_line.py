"""The command line on damaged files and with odd options: a complete and finite result, or one
clear line and nothing left behind.

Input number i is made from the seed (SEED, i) alone, so a failure is repeated by `check(material,
folder, i)`.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.__main__ import main
from tests.fuzz.damage import damaged
from tests.processes import HANGING

pytestmark = pytest.mark.extended
SEED = 20211
QUICK = 150
MANY = int(os.environ.get("RMGL_FUZZ_INPUTS", 5000))
IN_PROCESSES = 6
MOST_SECONDS = 20.0  # of work of this process, not of waiting for others
KINDS = (".csv", ".tsv", ".npy", ".npz", ".parquet", ".feather", ".h5mu")
INTERNAL = re.compile(
    r"Traceback|NoneType|list index|out of range for|index .* out of bounds|has no attribute|object is not|unhashable|to unpack|cannot unpack|broadcast|numba|<class|"
    r"unsupported operand|positional argument|internal error",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """Good files of every kind, and models, for tiny data: 12 rows, two views."""
    folder = tmp_path_factory.mktemp("material")
    rng = np.random.default_rng(0)
    views = {
        name: np.repeat([[0.0], [4.0]], 6, axis=0) + rng.normal(size=(12, width))
        for name, width in (("first", 2), ("second", 3))
    }
    ids = [f"c{i}" for i in range(12)]
    for name, X in views.items():
        frame = pd.DataFrame(X, columns=[f"f{c}" for c in range(X.shape[1])])
        np.save(folder / f"{name}.npy", X)
        frame.to_parquet(folder / f"{name}.parquet")
        frame.to_feather(folder / f"{name}.feather")
        frame.insert(0, "id", ids)
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.to_csv(folder / f"{name}.tsv", index=False, sep="\t")
    np.savez(folder / "all.npz", **views, y=np.arange(12))
    write_h5mu(folder / "all.h5mu", views, ids)
    holes = {name: X.copy() for name, X in views.items()}
    holes["first"][[1, 8]] = np.nan
    models = (
        RMGL(2, random_state=0).fit(views),
        RMGL("auto", random_state=0).fit(holes),
        RMGL(
            3, alpha=1.0, beta=[0.5, 1.0], scale={"first": "none", "second": "unit"}, random_state=0
        ).fit(views),
        RMGL(2, components=True, random_state=0).fit(
            {name: pd.DataFrame(X, index=ids) for name, X in views.items()}
        ),
        RMGL(2, random_state=0, scale="unit").fit(
            {name: sparse.csr_array(np.abs(X)) for name, X in views.items()}
        ),
    )
    for number, model in enumerate(models):
        model.save(folder / f"model{number}.rmgl")
    return folder


def write_h5mu(path, views, ids):
    from anndata import AnnData
    from mudata import MuData

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modalities = {name: AnnData(X, obs=pd.DataFrame(index=ids)) for name, X in views.items()}
        MuData(modalities).write(path)


@dataclass
class Call:
    """One call of the command line."""

    arguments: list[str]
    output: str
    told: str
    """What was damaged, and how."""
    extra: list[str] = field(default_factory=list)


def make_call(material, folder, number):
    """Damaged copies of good files, and a call that reads them."""
    rng = np.random.default_rng((SEED, number))
    kind = KINDS[rng.integers(len(KINDS))]
    names = [f"all{kind}"] if kind in (".npz", ".h5mu") else [f"first{kind}", f"second{kind}"]
    for name in names:
        shutil.copy(material / name, folder / name)
    predicts = rng.random() < 0.4
    if predicts:
        shutil.copy(material / f"model{rng.integers(5)}.rmgl", folder / "model.rmgl")
    spoiled = (
        ["model.rmgl"]
        if predicts and rng.random() < 0.7
        else [names[rng.integers(len(names))]]
        if rng.random() < 0.9
        else []
    )
    told = []
    for name in spoiled:
        content, how = damaged(rng, os.path.splitext(name)[1], (folder / name).read_bytes())
        (folder / name).write_bytes(content)
        told.append(f"{name}: {how}")
    if rng.random() < 0.05:
        names[0] = renamed(rng, folder, names[0])
    options = ["--id", "id"] if kind in (".csv", ".tsv") and rng.random() < 0.9 else []
    inputs = [str(folder / name) for name in names]
    if predicts:
        output = folder / "labels.csv"
        return Call(
            ["predict", str(folder / "model.rmgl"), *inputs, *options, "-o", str(output)],
            str(output),
            "; ".join(told),
        )
    output = folder / "out"
    save = ["--save", str(folder / "saved.rmgl")] if rng.random() < 0.2 else []
    call = [
        "cluster",
        *inputs,
        *options,
        *odd_options(rng),
        *save,
        "--no-plots",
        "--jobs",
        "1",
        "-o",
        str(output),
    ]
    return Call(call, str(output), "; ".join(told), save[1:])


def renamed(rng, folder, name):
    """The file under a name with another ending."""
    endings = (*KINDS, ".xlsx", "", ".CSV", ".rmgl")
    other = os.path.splitext(name)[0] + endings[rng.integers(len(endings))]
    (folder / name).rename(folder / other)
    return other


ODD_OPTIONS = (
    *(
        ["--alpha", value]
        for value in (
            "1",
            "0.01",
            "1e-30",
            "1e99",
            "nan",
            "inf",
            "-1",
            "0",
            "1,2",
            "first=1,second=2",
            "x",
            "",
            "1,,2",
            "=",
        )
    ),
    *(
        ["--beta", value]
        for value in (
            "1",
            "0",
            "1e-90",
            "1e20",
            "nan",
            "-inf",
            "0,1",
            "first=0",
            "second=1,first=1",
            "first=1,first=2",
        )
    ),
    *(
        ["--scale", value]
        for value in (
            "none",
            "minmax",
            "root",
            "hellinger",
            "unit",
            "standard",
            "log",
            "none,unit",
            "first=none",
            "",
        )
    ),
    *(
        ["--neighbors", value]
        for value in ("1", "3", "0", "-5", "1000000", "99999999999999999999", "2.5")
    ),
    *(["--tol", value] for value in ("0", "1e-12", "1", "nan", "inf", "-1")),
    *(["--max-iter", value] for value in ("1", "2", "0", "-1", "x")),
    *(["--seed", value] for value in ("-1", "7", "4294967296", "99999999999999999999999")),
    *(["--solver", value] for value in ("dual-ascent", "newton", "simplex")),
    *(["--align", value] for value in ("outer", "inner")),
    *(["--id", value] for value in ("id", "f0", "", "nothing")),
    *([flag] for flag in ("--components", "--graphml", "--edge-lists", "--force")),
)


def odd_options(rng):
    odd = ("3", "auto", "auto", "1", "11", "12", "13", "0", "-1", "1.5", "99999999999")
    clusters = ["-k", "2" if rng.random() < 0.7 else odd[rng.integers(len(odd))]]
    count = [0, 0, 0, 1, 1, 2][rng.integers(6)]
    return clusters + [
        part for _ in range(count) for part in ODD_OPTIONS[rng.integers(len(ODD_OPTIONS))]
    ]


def run(arguments):
    """Exit code, standard output and standard error of one call in this process."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2)
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as stop:
            code = stop.code
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "surrogateescape"))
    return code, *texts


def check(material, folder, number, runner=run):
    """One input: "fitted", "labeled" or "refused"; an AssertionError where it is anything else."""
    folder.mkdir()
    call = make_call(material, folder, number)
    before = sorted(path.name for path in folder.iterdir())
    began = time.process_time()
    try:
        code, out, err = runner(call.arguments)
        seconds = time.process_time() - began
        assert seconds < MOST_SECONDS, f"took {seconds:.0f} s"
        if code == 0:
            check_result(call)
        else:
            check_refusal(code, out, err)
            assert sorted(path.name for path in folder.iterdir()) == before, (
                "something was left behind"
            )
    except Exception as error:
        pytest.fail(
            (
                f"input {number} ({call.told}): {type(error).__name__}: {error}\n  rmgl "
                f"{' '.join(call.arguments)}"
            ),
            pytrace=True,
        )
    shutil.rmtree(folder)
    return "refused" if code else "labeled" if call.arguments[0] == "predict" else "fitted"


def check_refusal(code, out, err):
    assert code == 2, f"exit code {code}: {err}"
    lines = [line for line in err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, f"not one line: {err!r}"
    assert lines[0].startswith("rmgl: "), err
    assert len(lines[0]) >= 20, f"not clear: {err!r}"
    assert not INTERNAL.search(lines[0]), f"not clear: {err!r}"


def check_result(call):
    if call.arguments[0] == "predict":
        table = pd.read_csv(call.output)
        shares = table.filter(like="cluster_").to_numpy()
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-3)
        assert table["label"].between(0, shares.shape[1] - 1).all()
        return
    with open(os.path.join(call.output, "summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    embedding = np.load(os.path.join(call.output, "embedding.npy"))
    n, k = embedding.shape
    assert n == summary["n_rows"]
    assert np.isfinite(embedding).all()
    # those have rows that follow from the others
    if summary["report"]["n_fragments"] + summary["report"]["n_placed"] == 0:
        np.testing.assert_allclose(embedding.T @ embedding, np.eye(k), atol=1e-8)
    labels = pd.read_csv(os.path.join(call.output, "labels.csv"))["label"]
    assert len(labels) == n
    assert labels.between(0, k - 1).all()
    for layer in summary["layers"]:
        adjacency = sparse.load_npz(os.path.join(call.output, layer["file"]))
        assert np.isfinite(adjacency.data).all()
        assert (
            layer["kkt_residual"] <= 1e-6
            or layer["status"] != "converged"
            or summary["status"] != "converged"
        )
    for path in call.extra:
        RMGL.load(path)


def run_many(material, tmp_path, numbers):
    counts = Counter(check(material, tmp_path / str(number), number) for number in numbers)
    print(
        f"\n{len(numbers)} inputs tried: {counts['fitted']} fitted, {counts['labeled']} "
        f"labeled, {counts['refused']} refused"
    )
    return counts


def test_damaged_files(material, tmp_path):
    counts = run_many(material, tmp_path, range(QUICK))
    assert min(counts["fitted"], counts["labeled"], counts["refused"]) > 0


@pytest.mark.fuzz
@pytest.mark.timeout(36000)
def test_many_damaged_files(material, tmp_path):
    counts = run_many(material, tmp_path, range(QUICK, QUICK + MANY))
    assert sum(counts.values()) == MANY
    # half of what it is: not everything is refused
    assert min(counts["fitted"], counts["labeled"]) > 0.02 * MANY


@pytest.mark.parametrize("number", range(IN_PROCESSES))
def test_damaged_files_in_processes_of_their_own(material, tmp_path, number):
    def runner(arguments):
        found = subprocess.run(
            [sys.executable, "-m", "rmgl", *arguments], capture_output=True, timeout=HANGING
        )
        return (
            found.returncode,
            found.stdout.decode("utf-8", "replace"),
            found.stderr.decode("utf-8", "replace"),
        )

    check(material, tmp_path / "case", number, runner)
