"""Fitted models in files."""

import io
import json
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.archive.archive import read_archive, write_archive
from tests.conftest import assert_same
from tests.processes import python


@pytest.fixture
def path(planted_model, tmp_path):
    planted_model.save(tmp_path / "model.rmgl")
    return tmp_path / "model.rmgl"


VARIANTS = {
    "defaults": (lambda v: v, {}),
    "numbers": (
        lambda v: v,
        {"alpha": [1.0, 2.0], "beta": {"view 0": 1.0, "view 1": 2}, "scale": "none"},
    ),
    "auto": (lambda v: v, {"n_clusters": "auto"}),
    "sparse": (
        lambda v: {n: sparse.csr_array(X) for n, X in v.items()},
        {"scale": "unit", "candidates": 15},
    ),
    "one table": (
        lambda v: pd.DataFrame(np.hstack(list(v.values()))).rename(columns=str),
        {"views": [3, 5]},
    ),
    "slices": (
        lambda v: np.hstack(list(v.values())),
        {"views": {"a": slice(0, 3), "b": slice(3, None)}},
    ),
    "labeled": (
        lambda v: {
            n: pd.DataFrame(X[m:], index=[f"é{r}" for r in range(m, len(X))])
            for m, (n, X) in enumerate(v.items())
        },
        {"align": "outer"},
    ),
    "ranges": (
        lambda v: np.hstack(list(v.values())),
        {"views": [range(3), range(3, 8)], "alpha": pd.Series([1.0, 2.0])},
    ),
    "generator": (lambda v: v, {"random_state": np.random.RandomState(0)}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_loaded_model_is_the_same_bit_by_bit(name, planted, tmp_path):
    prepare, parameters = VARIANTS[name]
    data = prepare(planted[0])
    model = RMGL(**{"n_clusters": 3, "random_state": 0, **parameters}).fit(data)
    model.save(tmp_path / "m.rmgl")
    loaded = RMGL.load(tmp_path / "m.rmgl")
    assert_same(model, loaded)
    assert model.get_params().keys() == loaded.get_params().keys()
    assert sorted(vars(model)) == sorted(vars(loaded))
    assert model.history_ == loaded.history_
    np.testing.assert_array_equal(model.predict_proba(data), loaded.predict_proba(data))
    np.testing.assert_array_equal(model.transform(data), loaded.transform(data))


def test_a_new_process_predicts_the_same(planted_model, path, planted, tmp_path):
    new = {name: X[::7] + 0.01 for name, X in planted[0].items()}
    np.savez(tmp_path / "new.npz", **new)
    program = (
        "import sys, numpy as np; from rmgl import RMGL; m = RMGL.load(sys.argv[1]); d = "
        "dict(np.load(sys.argv[2]));"
        "np.savez(sys.argv[3], p=m.predict(d), s=m.predict_proba(d), q=m.transform(d), "
        "e=m.embedding_)"
    )
    python(program, path, tmp_path / "new.npz", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_array_equal(out["p"], planted_model.predict(new))
        np.testing.assert_array_equal(out["s"], planted_model.predict_proba(new))
        np.testing.assert_array_equal(out["q"], planted_model.transform(new))
        np.testing.assert_array_equal(out["e"], planted_model.embedding_)


def test_pickle_works_as_well(planted_model, planted):
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(planted_model)).predict(planted[0]),
        planted_model.predict(planted[0]),
    )


def test_a_file_is_replaced_or_left_alone(planted_model, path, monkeypatch):
    before = path.read_bytes()
    planted_model.save(path)
    assert path.read_bytes() == before
    monkeypatch.setattr(
        "rmgl.archive.archive.npy.write_array",
        lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")),
    )
    with pytest.raises(OSError, match="disk full"):
        planted_model.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_values_come_back(tmp_path):
    values = {
        "plain": [None, True, 3, -2.5, "text", [], {}],
        "floats": [float("inf"), -float("inf"), 5e-324, 0.1 + 0.2],
        "tuple": (1, (2, "b")),
        "keys": {1: "a", "b": slice(1, None, 2)},
        "array": np.arange(6, dtype=np.int32).reshape(2, 3),
        "empty": np.empty((0, 4)),
    }
    write_archive(tmp_path / "x", values, format="test")
    found = read_archive(tmp_path / "x", format="test")
    for name in ("plain", "floats", "tuple", "keys"):
        assert found[name] == values[name]
    np.testing.assert_array_equal(found["array"], values["array"], strict=True)
    np.testing.assert_array_equal(found["empty"], values["empty"], strict=True)


def test_what_cannot_be_saved_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(TypeError, match="a value of type object cannot be saved"):
        write_archive(tmp_path / "x", {"a": object()}, format="test")
    assert not list(tmp_path.iterdir())


# Files that are something else


class Hostile:
    def __reduce__(self):
        return (pytest.fail, ("executed",))


def rewritten(path, change):
    """The archive with its index changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    index = json.loads(members["model.json"])
    members["model.json"] = json.dumps(change(index) or index).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def attributes(index):
    return dict(index["content"]["dict"])["attributes"]["dict"]


def replace_attribute(name, value):
    def change(index):
        for item in attributes(index):
            if item[0] == name:
                item[1] = value

    return change


def change_report(**fields):
    def change(index):
        next(item[1] for item in attributes(index) if item[0] == "report_")["Report"].update(fields)

    return change


CHANGES = {
    "newer": (lambda i: i.update(version=99), "written by a newer version of rmgl"),
    "no version": (lambda i: i.pop("version") and None, "its version is None"),
    "other format": (lambda i: i.update(format="cake"), "it is not a rmgl model"),
    "unknown kind": (
        replace_attribute("labels_", {"os.system": ["ls"]}),
        "unknown type 'os.system'",
    ),
    "unknown record": (
        replace_attribute("report_", {"Popen": {"args": "ls"}}),
        "unknown type 'Popen'",
    ),
    "other fields": (
        replace_attribute("report_", {"Report": {"n_rows": 3}}),
        "a Report with the fields",
    ),
    "unknown finding": (
        change_report(weak_points=[{"Finding": {"kind": "cake", "severity": "warning"}}]),
        "the file is inconsistent",
    ),
    "finding without its numbers": (
        change_report(weak_points=[{"Finding": {"kind": "hub", "severity": "fair"}}]),
        "the file is inconsistent",
    ),
    "unknown severity": (
        change_report(weak_points=[{"Finding": {"kind": "hub", "severity": "cake"}}]),
        "the severity of a Finding",
    ),
    "array that is not there": (
        replace_attribute("labels_", {"array": 10**6}),
        "not a readable rmgl model",
    ),
    "two kinds": (
        replace_attribute("labels_", {"array": 0, "list": []}),
        "2 keys where one is expected",
    ),
    "no labels": (replace_attribute("labels_", None), "the file is inconsistent"),
    "other sizes": (replace_attribute("n_clusters_", 5), "the file is inconsistent"),
    "a method": (lambda i: attributes(i).append(["predict", 3]), "unknown attribute 'predict'"),
    "no content": (lambda i: i.pop("content") and None, "the file is inconsistent"),
    "a list": (lambda i: [i], "it is not a rmgl model"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(name, path):
    change, message = CHANGES[name]
    rewritten(path, change)
    with pytest.raises(ValueError, match=message):
        RMGL.load(path)


@pytest.mark.parametrize("n_entities", [89, 91])
def test_parts_of_more_or_fewer_entities_are_refused(n_entities, planted, tmp_path):
    """`hierarchy_` is made of them."""
    model = RMGL("auto", random_state=0).fit(planted[0])
    assert all(level.labels.shape == (90,) for level in model.hierarchy_)
    parts = np.take(model.number_.parts, np.arange(n_entities), axis=1, mode="wrap")
    model.number_ = replace(model.number_, parts=parts)
    model.save(tmp_path / "m.rmgl")
    with pytest.raises(ValueError, match="the file is inconsistent"):
        RMGL.load(tmp_path / "m.rmgl")


def test_pickles_are_not_opened(path, tmp_path):
    other = tmp_path / "pickle.rmgl"
    other.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(ValueError, match="not a readable rmgl model"):
        RMGL.load(other)
    hostile = np.empty(1, dtype=object)
    hostile[0] = Hostile()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    np.save(tmp_path / "a.npy", hostile, allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(
                name, (tmp_path / "a.npy").read_bytes() if name == "arrays/0.npy" else data
            )
    with pytest.raises(ValueError, match="array 0 of type object"):
        RMGL.load(path)


def test_every_truncation_and_many_flipped_bytes_are_refused(planted_model, path, planted):
    """Or, where the byte is one of the archive's that nothing depends on, the model is the same."""
    data, expected = path.read_bytes(), planted_model.predict_proba(planted[0])
    rng = np.random.default_rng(0)
    for length in [0, 1, *rng.integers(2, len(data), 60).tolist()]:
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match="not a readable rmgl model"):
            RMGL.load(path)
    for at in rng.integers(0, len(data), 150).tolist():
        path.write_bytes(
            data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
        )
        try:
            loaded = RMGL.load(path)
        except ValueError:
            continue
        np.testing.assert_array_equal(loaded.predict_proba(planted[0]), expected)


def test_compressed_members_are_refused(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match="is compressed"):
        RMGL.load(path)


def test_members_inside_one_another_are_refused(tmp_path):
    """Each array is stored in the numbers of the one before, so a small file would unpack to any
    size.
    """
    inner, sizes = bytes(1000), []
    for number in reversed(range(20)):
        array, member = io.BytesIO(), io.BytesIO()
        np.save(array, np.frombuffer(inner, dtype=np.uint8))
        with zipfile.ZipFile(member, "w") as archive:
            archive.writestr(f"arrays/{number}.npy", array.getvalue())
            information = archive.infolist()[0]
            end = archive.fp.tell()
        sizes.append((information, end - len(inner)))  # where the next one begins
        inner = member.getvalue()[:end]
    path = tmp_path / "nested"
    with zipfile.ZipFile(path, "w") as archive:
        content = {"dict": [[number, {"array": number}] for number in range(20)]}
        archive.writestr(
            "model.json",
            json.dumps({"format": "test", "version": 1, "rmgl": "0", "content": content}),
        )
        place = archive.fp.tell()
        archive.fp.write(inner)
        archive.start_dir = archive.fp.tell()
        for information, step in reversed(sizes):
            information.header_offset = place
            archive.filelist.append(information)
            place += step
    with zipfile.ZipFile(path) as archive:
        assert (
            sum(information.file_size for information in archive.infolist())
            > 5 * path.stat().st_size
        )
    with pytest.raises(
        ValueError, match="not a readable test; its members are larger than the file"
    ):
        read_archive(path, format="test")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.rmgl: no such file"):
        RMGL.load(tmp_path / "nothing.rmgl")


def test_a_model_of_version_0_1_0_still_loads():
    """A file that the first release wrote: it loads, predicts the same and can be saved again."""
    model = RMGL.load(Path(__file__).parents[1] / "data" / "model-0.1.0.rmgl")
    assert model.labels_.tolist() == [0] * 12 + [1] * 12 + [2] * 12
    assert [layer.name for layer in model.layers_] == ["rna", "protein", "consensus"]
    assert model.placed_.size == model.fragments_.size == 0
    assert model.index_[:2].tolist() == ["e0", "e1"]
    assert model.number_.chosen == model.n_clusters_ == 3
    y = np.repeat(np.arange(3), 12)
    rna = 5 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(36, 3))
    expected = [
        [0.986405314587, 0.010118999547, 0.003475685867],
        [0.059794836205, 0.823499408228, 0.116705755567],
    ]
    np.testing.assert_allclose(
        model.predict_proba({"rna": rna[[0, 20]] + 0.1}), expected, atol=1e-9
    )
    assert "3 clusters" in str(model.report_)
    assert model.to_networkx().number_of_nodes() == 36


def test_a_process_that_has_fitted_nothing_loads_views_of_pairs(tmp_path):
    path = Path(__file__).parents[1] / "data" / "model-format-2.rmgl"
    done = python("import sys; from rmgl import RMGL; print(RMGL.load(sys.argv[1]))", path)
    assert "RMGL(" in done.stdout


def test_a_model_of_version_2_still_loads(tmp_path):
    """Its report holds sentences, and does not say which views are networks: it reads as it did,
    and can be saved again.
    """
    model = RMGL.load(Path(__file__).parents[1] / "data" / "model-format-2.rmgl")
    report = model.report_
    assert (
        str(report.trust)
        == "fair. There are only 36 entities, too few for choices to be supported by data."
    )
    assert report.warnings == [
        (
            "view 'noise' alone does not have these clusters: 28% of its nearest neighbors are "
            "in the same cluster, and 31% would be by chance"
        ),
        "view 'noise' does not agree with the others (roughness 1.04, 1 is unrelated) and "
        "counts for 1.0%: it is noise, or tells of other "
        "clusters; look at it alone",
    ]
    assert [view.is_network for view in report.views] == [False, False, True]
    assert str(report).count("\n") == 21
    assert [(finding.kind, finding.severity) for finding in report.trust.findings] == [
        ("sentence", "fair")
    ]
    model.save(tmp_path / "again.rmgl")
    assert RMGL.load(tmp_path / "again.rmgl").report_ == report
