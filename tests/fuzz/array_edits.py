"""Edits of single arrays in model files, checkpoints and sparse input, tried one after the other:
`python -m tests.fuzz.array_edits FOLDER FIRST STOP`.

Edit number i is made from the seed (SEED, i) alone. The files stay valid in every other respect:
sizes, checksums, JSON. A line is printed for every edit: its number, what came of it, and what it
was. The parent process notices a death by a signal, and a hang.

- refused: a ValueError or TypeError.
- right: the result is that of the file before the edit.
- changed: a complete result of finite numbers, but another one, as it must be where the edit is one
  that a fit could have written.
- failed: anything else.
"""

import shutil
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse

from rmgl import RMGL, learn_layer
from rmgl.baselines import SCML
from tests.conftest import planted_views

SEED = 12
MODELS = {
    "defaults": {},
    "numbers": {"alpha": 0.5, "beta": 2.0, "scale": "none"},
    "auto, incomplete": {"n_clusters": "auto"},
}
CHECKPOINTS = {
    "all pairs": {},
    "lists": {"candidates": 10},
    "numbers, lists": {"alpha": 0.5, "beta": 2.0, "candidates": 10, "tol": 0, "max_iter": 2},
    "auto": {"n_clusters": "auto"},
}
ODD_WHOLE = (0, 1, -1, 59, 60, 61, 2**15, 2**30, -(2**30), 2**31 - 1, -(2**31), 2**40, 2**62)
ODD_REAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-320, 1e300, -1e300, 1e70, 5e-324, 0.5)


def make_material(folder):
    """Files to edit, for tiny data: 60 rows, two views."""
    for name, parameters in MODELS.items():
        model = RMGL(**{"n_clusters": 3, "random_state": 0} | parameters)
        model.fit(data(), observed=observed() if "incomplete" in name else None).save(
            folder / f"{name}.rmgl"
        )
    for name, parameters in CHECKPOINTS.items():
        RMGL(**{"n_clusters": 3, "random_state": 0} | parameters).fit(
            data(), checkpoint=folder / name
        )
        shutil.rmtree(folder / name / ".lock", ignore_errors=True)


def data():
    return planted_views(sizes=(20, 20, 20), columns=(3, 4))[0]


def observed():
    mask = np.ones((60, 2), dtype=bool)
    mask[::7, 1] = False
    return mask


# Edits of one array


def odd_entries(rng, array):
    array = array.copy()
    if array.size:
        values = (
            ODD_REAL
            if array.dtype.kind == "f"
            else (True, False)
            if array.dtype.kind == "b"
            else ODD_WHOLE
        )
        with np.errstate(all="ignore"):
            for _ in range(rng.integers(1, 4)):
                chosen = np.asarray(values[rng.integers(len(values))])
                array.reshape(-1)[rng.integers(array.size)] = chosen.astype(array.dtype)
    return array


def shifted_part(rng, array):
    array = array.copy()
    flat = array.reshape(-1)
    start = rng.integers(0, max(1, flat.size))
    if array.dtype.kind in "iuf":
        with np.errstate(all="ignore"):
            flat[start : start + 20] += np.asarray((1, -1, 1000, 2**28)[rng.integers(4)]).astype(
                array.dtype
            )
    return array


def cut(rng, array):
    return array[: rng.integers(0, len(array) + 1)] if array.ndim else array


def longer(rng, array):
    return (
        np.concatenate([array, array[: rng.integers(1, 5)]])
        if array.ndim and len(array)
        else np.zeros(5)
    )


def reversed_order(rng, array):
    return array[::-1].copy() if array.ndim else array


def shuffled(rng, array):
    return rng.permutation(array) if array.ndim else array


def of_other_type(rng, array):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(["<f4", ">f8", "<i8", "<i4", "u1", "?", "<f8", ">i4"][rng.integers(8)])


def of_other_shape(rng, array):
    shapes = [(-1,), (1, -1), (-1, 1), array.shape[::-1]]
    return array.reshape(shapes[rng.integers(4)])


def constant(rng, array):
    return np.full_like(array, array.reshape(-1)[0]) if array.size else array


EDITS = (
    odd_entries,
    odd_entries,
    odd_entries,
    shifted_part,
    cut,
    longer,
    reversed_order,
    shuffled,
    of_other_type,
    of_other_shape,
    constant,
)


def edit_archive(rng, path):
    """Change one array of an archive; what was done to it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        arrays = sorted(name for name in members if name.startswith("arrays/"))
        if not arrays:
            return "nothing"
        chosen = arrays[rng.integers(len(arrays))]
        with archive.open(chosen) as file:
            array = np.lib.format.read_array(file)
    edit = EDITS[rng.integers(len(EDITS))]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name != chosen:
                archive.writestr(name, content)
        with archive.open(chosen, "w") as file:
            np.lib.format.write_array(file, np.asarray(edit(rng, array)), allow_pickle=False)
    return f"{edit.__name__} of {chosen}"


# What is tried with an edit


def try_model(rng, material, folder):
    names = sorted(MODELS)
    name = names[rng.integers(len(names))]
    path = folder / "model.rmgl"
    shutil.copy(material / f"{name}.rmgl", path)
    expected = use_model(path)
    told = edit_archive(rng, path)
    return f"model {name}, {told}", lambda: use_model(path), expected


def use_model(path):
    model = RMGL.load(path)
    found = [
        model.predict_proba(data()),
        model.transform({"view 0": data()["view 0"][:5]}),
        model.labels_,
        model.outlier_score_,
    ]
    assert str(model.report_)
    assert model.to_networkx().number_of_nodes() == 60
    model.save(path.with_suffix(".again"))
    return found


def try_checkpoint(rng, material, folder):
    names = sorted(CHECKPOINTS)
    name = names[rng.integers(len(names))]
    shutil.copytree(material / name, folder / "steps")
    steps = sorted((folder / "steps").glob("*.step"))
    step = steps[rng.integers(len(steps))]
    told = edit_archive(rng, step)

    def resume():
        model = RMGL(**{"n_clusters": 3, "random_state": 0} | CHECKPOINTS[name]).fit(
            data(), checkpoint=folder / "steps"
        )
        return [model.labels_, model.embedding_, *(layer.adjacency.data for layer in model.layers_)]

    return f"checkpoint {name}, {step.name}, {told}", resume, expected_fit(name)


EXPECTED = {}


def expected_fit(name):
    if name not in EXPECTED:
        model = RMGL(**{"n_clusters": 3, "random_state": 0} | CHECKPOINTS[name]).fit(data())
        EXPECTED[name] = [
            model.labels_,
            model.embedding_,
            *(layer.adjacency.data for layer in model.layers_),
        ]
    return EXPECTED[name]


def try_sparse(rng, material, folder):
    graph = sparse.csr_array(
        sparse.diags_array([1.0] * 6, offsets=[1, 2, 30, -1, -2, -30], shape=(60, 60))
    )
    words = sparse.random(60, 12, 0.4, format="csr", random_state=0) + 1.0 * sparse.csr_array(
        np.eye(60, 12)
    )
    uses = {
        "view": (
            words,
            lambda S: RMGL(3, random_state=0).fit({"a": S, "b": data()["view 1"]}).embedding_,
        ),
        "columns": (words, lambda S: RMGL(3, views=[6, 6], random_state=0).fit(S).embedding_),
        "candidates": (
            graph,
            lambda S: RMGL(3, candidates=S, random_state=0).fit(data()).embedding_,
        ),
        "layer": (
            graph,
            lambda S: SCML(3, precomputed=True, random_state=0).fit([S, S]).embedding_,
        ),
        "one layer": (words, lambda S: learn_layer(S, 1.0, candidates=5).adjacency.data),
    }
    names = sorted(uses)
    name = names[rng.integers(len(names))]
    good, use = uses[name]
    form = ("csr", "csc", "coo")[rng.integers(3)]
    bad = getattr(sparse, f"{form}_array")(good, copy=True)
    field = (("row", "col", "data") if form == "coo" else ("indices", "indptr", "data"))[
        rng.integers(3)
    ]
    edit = EDITS[rng.integers(len(EDITS))]
    edited = edit(rng, getattr(bad, field))
    if form == "coo" and field != "data":
        bad.coords = tuple(
            edited if axis == ("row", "col").index(field) else old
            for axis, old in enumerate(bad.coords)
        )
    else:
        setattr(bad, field, edited)
    return f"{form} {name}, {edit.__name__} of {field}", lambda: [use(bad)], [use(good)]


TRIES = (try_model, try_checkpoint, try_sparse)


def outcome(work, expected):
    try:
        found = work()
    except (ValueError, TypeError) as error:
        return f"refused {' '.join(str(error).split())[:100]}"
    except Exception:
        return f"failed {' | '.join(traceback.format_exc().splitlines()[-4:])}"
    if not all(np.isfinite(values).all() for values in found):
        return "failed: numbers that are not finite"
    same = all(
        a.shape == b.shape and np.allclose(a, b, atol=1e-6)
        for a, b in zip(found, expected, strict=False)
    )
    return "right" if same else "changed"


def main(material, first, stop):
    warnings.simplefilter("ignore")
    for number in range(first, stop):
        print(f"{number} begins", flush=True)
        rng = np.random.default_rng((SEED, number))
        with tempfile.TemporaryDirectory() as folder:
            told, work, expected = TRIES[number % len(TRIES)](rng, material, Path(folder))
            print(f"{number} {outcome(work, expected)} ({told})", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
