"""The file format: records that have changed since, arrays in several places, models of earlier
versions.
"""

import json
import zipfile
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from rmgl import RMGL
from rmgl.archive import records
from rmgl.archive.archive import Arrays, encode, read_archive, write_archive
from rmgl.archive.records import record

OLD_MODEL = Path(__file__).parents[1] / "data" / "model-0.1.0.rmgl"


@pytest.fixture(autouse=True)
def registry():
    """Types that a test registers are forgotten after it."""
    known = dict(records.RECORDS)
    yield
    records.RECORDS.clear()
    records.RECORDS.update(known)


def register(*fields):
    """Register a record named `Sample` with these fields, in place of an earlier one."""
    return record(make_dataclass("Sample", fields, frozen=True, eq=False))


def written(path, content):
    write_archive(path, content, format="test")
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


# Records


def test_a_record_comes_back_by_its_fields(tmp_path):
    Sample = register(("name", str), ("values", NDArray[np.float64]))
    found = read_archive(written(tmp_path / "x", Sample("a", np.arange(3.0))), format="test")
    assert isinstance(found, Sample)
    assert found.name == "a"
    np.testing.assert_array_equal(found.values, np.arange(3.0))


def test_a_record_that_has_gained_a_field_still_loads(tmp_path):
    Old = register(("name", str))
    path = written(tmp_path / "x", [Old("a"), Old("b")])
    New = register(("name", str), ("count", int, 7), ("notes", list, field(default_factory=list)))
    one, other = read_archive(path, format="test")
    assert isinstance(one, New)
    assert (one.name, one.count, one.notes) == ("a", 7, [])
    assert one.notes is not other.notes


def test_a_new_field_needs_a_default(tmp_path):
    path = written(tmp_path / "x", register(("name", str))("a"))
    register(("name", str), ("count", int))
    with pytest.raises(
        ValueError,
        match=r"it has a Sample with the fields \['name'\], not \['count', 'name'\]",
    ):
        read_archive(path, format="test")


def test_a_record_that_has_lost_a_field_is_refused(tmp_path):
    path = written(tmp_path / "x", register(("name", str), ("count", int, 7))("a"))
    register(("name", str))
    with pytest.raises(ValueError, match="it has a Sample with the fields"):
        read_archive(path, format="test")


def test_fields_that_a_record_had_once_are_left_out(tmp_path):
    path = written(tmp_path / "x", register(("name", str), ("count", int, 7))("a"))
    register(("name", str)).former_fields = ("count",)
    assert read_archive(path, format="test").name == "a"


def test_a_field_of_another_type_is_refused(tmp_path):
    path = written(tmp_path / "x", register(("name", str))("a"))
    register(("name", int))
    with pytest.raises(ValueError, match="wrong type of the name of a Sample"):
        read_archive(path, format="test")


def test_types_that_are_not_registered_are_neither_written_nor_read(tmp_path):
    Sample = register(("name", str))
    path = written(tmp_path / "x", Sample("a"))
    del records.RECORDS["Sample"]
    with pytest.raises(ValueError, match="unknown type 'Sample'"):
        read_archive(path, format="test")
    with pytest.raises(TypeError, match="a value of type Sample cannot be saved"):
        write_archive(tmp_path / "y", Sample("a"), format="test")


def test_registering_gives_the_class_itself():
    @dataclass
    class Plain:
        name: str

    assert record(Plain) is Plain
    assert records.RECORDS["Plain"] is Plain


# Arrays


def test_an_array_in_two_places_is_stored_once(tmp_path):
    shared, other = np.arange(1000.0), np.arange(1000.0)
    path = written(tmp_path / "x", {"a": shared, "b": [shared, (shared, other)]})
    # equal arrays are not the same array
    assert members(path) == ["model.json", "arrays/0.npy", "arrays/1.npy"]
    found = read_archive(path, format="test")
    assert found["a"] is found["b"][0] is found["b"][1][0]
    np.testing.assert_array_equal(found["a"], shared, strict=True)


def test_sparse_matrices_share_their_arrays(tmp_path):
    one = sparse.csr_array(np.eye(4))
    other = sparse.csr_array((2 * one.data, one.indices, one.indptr), shape=one.shape)
    arrays = Arrays()
    encode([one, other, one], arrays)
    assert len(arrays.listed) == len({id(array) for array in arrays.listed})
    one_again, other_again, _ = read_archive(
        written(tmp_path / "x", [one, other, one]), format="test"
    )
    np.testing.assert_array_equal(one_again.toarray(), np.eye(4))
    np.testing.assert_array_equal(other_again.toarray(), 2 * np.eye(4))


def test_a_model_stores_no_array_twice(tmp_path):
    views = {
        "a": np.random.default_rng(0).normal(size=(30, 3)),
        "b": np.random.default_rng(1).normal(size=(30, 4)),
    }
    RMGL(2, random_state=0).fit(views).save(tmp_path / "m.rmgl")
    with zipfile.ZipFile(tmp_path / "m.rmgl") as archive:
        large = [
            archive.read(name)
            for name in archive.namelist()
            if archive.getinfo(name).file_size > 128 + 8 * 60 and name != "model.json"
        ]
    assert len(large) == len(set(large))


def test_what_is_in_the_file_is_what_the_format_says(tmp_path):
    path = written(
        tmp_path / "x",
        {
            "a": (1, None),
            "b": slice(1, 2),
            "c": float("nan"),
            "d": np.array(["x", 3, None], dtype=object),
        },
    )
    with zipfile.ZipFile(path) as archive:
        index = json.loads(archive.read("model.json"))
    assert (index["format"], index["version"]) == ("test", 3)
    assert index["content"] == {
        "dict": [
            ["a", {"tuple": [1, None]}],
            ["b", {"slice": [1, 2, None]}],
            ["c", {"float": "nan"}],
            ["d", {"labels": ["x", 3, None]}],
        ]
    }


def test_exclusive_writing_keeps_what_is_there(tmp_path):
    path = written(tmp_path / "x", 1)
    with pytest.raises(FileExistsError):
        write_archive(path, 2, format="test", exclusive=True)
    assert read_archive(path, format="test") == 1


def test_an_upgrade_sees_only_earlier_versions(tmp_path):
    def upgrade(version, content):
        return [version, content]

    write_archive(tmp_path / "old", "x", format="test", version=1)
    write_archive(tmp_path / "new", "x", format="test")
    assert read_archive(tmp_path / "old", format="test", upgrade=upgrade) == [1, "x"]
    assert read_archive(tmp_path / "new", format="test", upgrade=upgrade) == "x"
    with pytest.raises(ValueError, match="written by a newer version of rmgl"):
        read_archive(tmp_path / "new", format="test", version=1)


# Models of earlier versions


def version_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))["version"]


def test_a_model_of_the_first_version_can_be_saved_again(tmp_path):
    first = RMGL.load(OLD_MODEL)
    first.save(tmp_path / "again.rmgl")
    assert (version_of(OLD_MODEL), version_of(tmp_path / "again.rmgl")) == (1, 3)
    again = RMGL.load(tmp_path / "again.rmgl")
    assert sorted(vars(again)) == sorted(vars(first))
    for name in (
        "labels_",
        "embedding_",
        "eigenvalues_",
        "alpha_",
        "beta_",
        "index_",
        "outlier_score_",
        "guide_",
    ):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name), strict=True)
    assert str(again.report_) == str(first.report_)
    new = {"rna": 5 * np.eye(3), "protein": np.zeros((3, first.fitted_.views.matrices[1].shape[1]))}
    np.testing.assert_array_equal(again.predict_proba(new), first.predict_proba(new))
    np.testing.assert_array_equal(again.transform(new), first.transform(new))
    assert again.predict({"rna": 5 * np.eye(3)}).tolist() == [0, 1, 2]


def test_layers_of_the_first_version_know_their_views():
    model = RMGL.load(OLD_MODEL)
    assert [(layer.role, layer.views) for layer in model.layers_] == [
        ("view", (0,)),
        ("view", (1,)),
        ("consensus", (0, 1)),
    ]
    assert all(layer.scaling is not None for layer in model.layers_)
    assert model.policy is None


def test_loading_leaves_the_file_alone():
    before = OLD_MODEL.read_bytes()
    RMGL.load(OLD_MODEL)
    assert OLD_MODEL.read_bytes() == before
