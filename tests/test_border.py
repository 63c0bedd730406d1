"""Nothing from outside reaches compiled code unchecked: checkpoints, model files, sparse input and
given graphs with odd indices and sizes.

Compiled loops do not test their indices. Here every kernel is replaced by one that does, in Python,
and every door of the package is tried with arrays that have been tampered with: they must be
refused before a kernel sees them.
"""

import inspect
import json
import os
import shutil
import subprocess
import sys
import typing
import warnings
import zipfile

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL, from_mudata, kernels, learn_layer
from rmgl.archive.archive import read_archive, write_archive
from rmgl.baselines import GDMCCA, SCML
from rmgl.checks import Unsound, conforms, sound_generator_state, sound_sparse
from rmgl.embedding import eigenvectors
from rmgl.views.views import Views
from tests.conftest import planted_views

# What a kernel takes for granted, by the names of its arguments


class ReachedUnchecked(AssertionError):
    """A kernel was given arrays that would make it leave their bounds."""


def guard(condition, name):
    if not condition:
        raise ReachedUnchecked(name)


def pattern_is_sound(name, indptr, indices, n):
    guard(len(indptr) == n + 1 and indptr[0] == 0 and indptr[-1] <= indices.size, name)
    guard(
        (np.diff(indptr) >= 0).all()
        and (indices.size == 0 or (indices.min() >= 0 and indices.max() < n)),
        name,
    )


def of_all_pairs(name, given):
    n = (given.get("u", given.get("scales", given.get("norms")))).size
    for vector in ("costs", "distances"):
        if vector in given:
            guard(given[vector].size == n * (n - 1) // 2, name)
    guard(0 <= given.get("first", 0) <= given.get("stop", n) <= n, name)


def of_pair_inner(name, given):
    n = given["indptr"].size - 1
    pattern_is_sound(name, given["indptr"], given["indices"], n)
    guard(
        given["costs"].size == n * (n - 1) // 2 and given["data"].size >= given["indptr"][-1], name
    )


def of_listed_pairs(name, given):
    n = given["indptr"].size - 1
    pattern_is_sound(name, given["indptr"], given["indices"], n)
    for vector in ("u", "scales", "floors", "excess", "counts", "squares", "totals"):
        guard(vector not in given or given[vector].shape == (n,), name)
    for vector in ("costs", "distances", "out"):
        guard(vector not in given or given[vector].shape == given["indices"].shape, name)
    if name == "list_inner":
        pattern_is_sound(name, given["starts"], given["columns"], n)
    guard(0 <= given["first"] <= given["stop"] <= n, name)


def of_patterns(name, given):
    pattern_is_sound(name, given["starts"], given["columns"], given["v"].size)


def of_graphs(name, given):
    pattern_is_sound(name, given["indptr"], given["indices"], given["indptr"].size - 1)
    guard("V" not in given or given["V"].shape[0] == given["indptr"].size - 1, name)


def of_sums(name, given):
    n = given["starts"].shape[1] - 1
    for starts in given["starts"]:
        guard(
            (np.diff(starts) >= 0).all() and starts[0] >= 0 and starts[-1] <= given["indices"].size,
            name,
        )
    guard(
        given["indices"].size == 0 or (given["indices"].min() >= 0 and given["indices"].max() < n),
        name,
    )


def of_lists(name, given):
    """Rows, and for each of them a list of rows of X."""
    rows, X, indptr, indices = given["rows"], given["X"], given["indptr"], given["indices"]
    guard(
        len(indptr) == len(rows) + 1
        and indptr[0] == 0
        and (np.diff(indptr) >= 0).all()
        and indptr[-1] == indices.size,
        name,
    )
    guard(indices.size == 0 or (indices.min() >= 0 and indices.max() < X.shape[0]), name)
    guard(rows.shape[1] == X.shape[1] and given["out"].shape == indices.shape, name)
    guard(0 <= given["first"] <= given["stop"] <= len(rows), name)


def of_squares(name, given):
    n = given["u"].size
    pattern_is_sound(name, given["indptr"], given["indices"], n)
    guard(
        given["distances"].shape == (n, n)
        and given["scales"].shape == given["floors"].shape == (n,),
        name,
    )
    guard(given["guide"].shape[0] == n and 0 <= given["first"] <= given["stop"] <= n, name)
    guard(
        given["listed"].shape == given["scaled"].shape == (n,) and not given["listed"].any(), name
    )
    guard(
        given["scores"].shape == given["heaps"].shape
        and given["scores"].shape[0] == given["stop"] - given["first"],
        name,
    )


def of_heaps(name, given):
    heaps, n = given["heaps"], len(given["scores"])
    guard(heaps.size == 0 or (heaps.min() >= 0 and heaps.max() < n), name)
    guard(
        heaps.shape == given["places"].shape == given["offered"].shape
        and given["scores"].shape == given["nearest"].shape,
        name,
    )


def of_tiles(name, given):
    """Products of rows that were sorted here; nothing in them is an index from outside."""


GUARDS = {
    **dict.fromkeys(
        ("pair_excess", "pair_product", "pair_above", "pair_localize", "fill_distances"),
        of_all_pairs,
    ),
    "pair_inner": of_pair_inner,
    **dict.fromkeys(("list_excess", "list_above", "list_inner"), of_listed_pairs),
    "pattern_product": of_patterns,
    **dict.fromkeys(("add_to_dense", "laplacian_block", "laplacian_product"), of_graphs),
    "sum_rows": of_sums,
    "list_distances": of_lists,
    "missing_pairs": of_squares,
    **dict.fromkeys(("offer", "positive_entries"), of_tiles),
    "insert": of_heaps,
}


@pytest.fixture
def guarded(monkeypatch):
    """All kernels look at their arguments first; the names of those that were called."""
    called = set()

    def watched(name, kernel, check):
        parameters = list(inspect.signature(kernel.py_func).parameters)

        def call(*arguments):
            called.add(name)
            check(name, dict(zip(parameters, arguments, strict=True)))
            return kernel(*arguments)

        return call

    for name in kernels.__all__:
        monkeypatch.setattr(kernels, name, watched(name, getattr(kernels, name), GUARDS[name]))
    return called


# What goes in


LISTS = {"candidates": 12}
PAPER = {"alpha": 0.5, "beta": 2.0}


def sparse_views():
    rng = np.random.default_rng(0)
    return {name: sparse.random(90, 20, 0.3, format="csr", random_state=rng) for name in ("a", "b")}


def neighbor_graph(n=90):
    return sparse.csr_array(sparse.diags_array([1.0, 1.0, 1.0], offsets=[1, 2, 40], shape=(n, n)))


def test_every_kernel_has_a_guard_and_is_reached(guarded):
    """The walk below is over all kernels: a new one needs a guard, and one that nothing calls is
    dead.
    """
    assert set(GUARDS) == set(kernels.__all__)
    good = planted_views()[0]
    RMGL(3, random_state=0).fit(good)
    RMGL(3, random_state=0, **LISTS).fit(good)
    RMGL(3, random_state=0, **PAPER, candidates="all").fit(good)
    # several tiles, and a graph too large for dense matrices
    large = planted_views(sizes=(600, 600, 600), columns=(4,))[0]
    model = RMGL(3, random_state=0, **PAPER, candidates=8).fit(large)
    learn_layer(large["view 0"], 0.01, candidates="all")  # few of all pairs are active
    wide = sparse.random(700, 50, 0.2, format="csr", random_state=0)
    RMGL(3, random_state=0, candidates=8, scale="none").fit(wide)
    from rmgl.edges.space import Rows

    # searched by leading columns
    near_a_plane = Rows.of(np.random.default_rng(0).normal(size=(4100, 3)) @ np.eye(3, 70))
    near_a_plane.within(np.arange(9), np.full(4100, 0.01))
    # more columns than rows
    RMGL(3, random_state=0, **LISTS).fit([np.hstack([X] * 20) for X in good.values()])
    from rmgl.placing.new_edges import near

    near(
        Rows.of(model.fitted_.views.matrices[0]),
        model.fitted_.views.matrices[0],
        model.fitted_.views.matrices[0][:5],
        7,
    )
    assert guarded == set(kernels.__all__), set(kernels.__all__) - guarded


# Checkpoints


STEPS = {
    "defaults, lists": {**LISTS},
    "paper, lists": {**PAPER, **LISTS, "tol": 0, "max_iter": 3},
}
HUGE = 2**30


def with_entry(place, value):
    def change(array):
        array = array.copy()
        array.reshape(-1)[place] = value
        return array

    return change


CHANGES = {
    "a neighbor far away": ("neighbors", with_entry(5, HUGE)),
    "a negative neighbor": ("neighbors", with_entry(5, -1)),
    "a neighbor one too large": ("neighbors", with_entry(-1, 90)),
    "a node in its own list": (
        "neighbors",
        lambda a: np.tile(np.arange(len(a))[:, None], a.shape[1]),
    ),
    "fewer lists": ("neighbors", lambda a: a[:-1]),
    "shorter lists": ("neighbors", lambda a: a[:, :-1]),
    "neighbors that are no integers": ("neighbors", lambda a: a.astype(np.float64)),
    "neighbors of other bytes": ("neighbors", lambda a: a.astype(">i8")),
    "fewer bounds": ("bounds", lambda a: a[:-1]),
    "bounds of another type": ("bounds", lambda a: a.astype(np.float32)),
    "bounds that are no numbers": ("bounds", with_entry(3, np.nan)),
    "bounds below zero": ("bounds", with_entry(3, -1.0)),
    "a pair far away": ("left", with_entry(0, HUGE)),
    "a negative pair": ("right", with_entry(0, -1)),
    "a pair one too large": ("right", with_entry(-1, 90)),
    "fewer ends of pairs": ("left", lambda a: a[:-1]),
    "pairs in a square": ("right", lambda a: a[:, None]),
    "pairs of small integers": ("left", lambda a: a.astype(np.uint8)),
    "fewer eigenvectors": ("vectors", lambda a: a[:, :-1]),
    "eigenvectors of fewer nodes": ("vectors", lambda a: a[:-1]),
    "an eigenvector that is too long": ("vectors", with_entry(3, 1e300)),
    "fewer eigenvalues": ("values", lambda a: a[:-1]),
    "eigenvalues that are no numbers": ("values", with_entry(0, np.nan)),
    "no component": ("quality", with_entry(1, 0.0)),
    "half a component": ("quality", with_entry(1, 1.5)),
    "a residual below zero": ("quality", with_entry(0, -1.0)),
}


def arrays_named(content, name, path=""):
    """The numbers of the arrays that a field of that name refers to, anywhere in the JSON of an
    archive.
    """
    if isinstance(content, list):
        if (
            len(content) == 2
            and content[0] == name
            and isinstance(content[1], dict)
            and "array" in content[1]
        ):
            return [content[1]["array"]]
        return [found for item in content for found in arrays_named(item, name)]
    if isinstance(content, dict):
        own = [
            value["array"]
            for key, value in content.items()
            if key == name and isinstance(value, dict) and "array" in value
        ]
        return own + [found for value in content.values() for found in arrays_named(value, name)]
    return []


def change_array(path, name, change):
    """Write the archive again, valid in every other respect, with the first array of that name
    changed; False if it has none.
    """
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    numbers = arrays_named(json.loads(members["model.json"])["content"], name)
    if not numbers:
        return False
    member = f"arrays/{numbers[0]}.npy"
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        array = np.lib.format.read_array(file)
    with zipfile.ZipFile(path, "w") as archive:
        for other, data in members.items():
            if other != member:
                archive.writestr(other, data)
        with archive.open(member, "w") as file:
            np.lib.format.write_array(file, change(array))
    return True


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A finished checkpoint of every variant, which keeps eigenvectors of small graphs, too."""
    folder = tmp_path_factory.mktemp("checkpoints")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(eigenvectors, "QUICK_NODES", 10)
        warnings.simplefilter("ignore")
        for variant, parameters in STEPS.items():
            RMGL(3, random_state=0, **parameters).fit(
                planted_views()[0], checkpoint=folder / variant
            )
            assert {
                path.name.partition("-")[0] for path in (folder / variant).glob("*-*.step")
            } == {"nearest", "within", "eigenvectors"}
    return folder


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_array_in_a_checkpoint_is_refused_before_a_kernel_sees_it(
    change, checkpoints, tmp_path, guarded, monkeypatch
):
    monkeypatch.setattr(eigenvectors, "QUICK_NODES", 10)
    field, work = CHANGES[change]
    changed = 0
    for variant, parameters in STEPS.items():
        for step in sorted(path.name for path in (checkpoints / variant).glob("*-*.step"))[::3]:
            folder = tmp_path / variant / step
            shutil.copytree(checkpoints / variant, folder)
            if change_array(folder / step, field, work):
                changed += 1
                with pytest.raises(
                    ValueError, match=rf"{step}: .*; delete it to recompute this step"
                ):
                    RMGL(3, random_state=0, **parameters).fit(planted_views()[0], checkpoint=folder)
    assert changed


@pytest.mark.parametrize("position", [-(2**30), -1, 625, 2**40, "7", None, 3.5])
def test_the_position_of_the_random_generator_is_checked(position, tmp_path):
    RMGL(3, random_state=0).fit(planted_views()[0], checkpoint=tmp_path / "steps")
    path = tmp_path / "steps" / "run.step"
    content = read_archive(path, format="rmgl checkpoint")
    kind, words, _, has_gauss, gauss = content["random_state"]
    write_archive(
        path,
        {**content, "random_state": (kind, words, position, has_gauss, gauss)},
        format="rmgl checkpoint",
    )
    with pytest.raises(
        ValueError, match=r"run\.step.*random generator.*delete it to recompute this step"
    ):
        RMGL(3, random_state=0).fit(planted_views()[0], checkpoint=tmp_path / "steps")


def test_states_of_random_generators():
    state = np.random.RandomState(3).get_state()
    assert sound_generator_state("it", state)[2] == state[2]
    for place, value in (
        (0, "PCG64"),
        (1, state[1][:-1]),
        (1, state[1].astype(np.int64)),
        (3, 2),
        (4, np.inf),
        (4, None),
    ):
        with pytest.raises(Unsound):
            sound_generator_state("it", (*state[:place], value, *state[place + 1 :]))
    with pytest.raises(Unsound):
        sound_generator_state("it", None)


# Sparse input


def far_index(S):
    S.indices[5] = S.shape[0] if S.format == "csc" else S.shape[1]


def huge_index(S):
    S.indices[5] = HUGE


def negative_index(S):
    S.indices[5] = -3


def far_pointers(S):
    S.indptr[10:-1] = 2**28


def falling_pointers(S):
    S.indptr[-1] = -1  # scipy's check of the format passes over this


def overflowing_pointers(S):
    S.indptr[10:-1] = -(2**31)


def short_data(S):
    S.data = S.data[:-3]


DAMAGE = [
    far_index,
    huge_index,
    negative_index,
    far_pointers,
    falling_pointers,
    overflowing_pointers,
    short_data,
]


def spoiled(S, damage):
    S = S.copy()
    damage(S)
    return S


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_views_with_odd_indices_are_refused(damage, form, guarded):
    given = {name: form(X) for name, X in sparse_views().items()}
    before = given["b"].indices.copy()
    RMGL(3, random_state=0).fit(given)
    np.testing.assert_array_equal(given["b"].indices, before)
    with pytest.raises(ValueError, match="view 'b' is not a valid sparse matrix"):
        RMGL(3, random_state=0).fit(given | {"b": spoiled(given["b"], damage)})
    table = form(sparse.hstack(list(given.values())))
    with pytest.raises(ValueError, match="the input is not a valid sparse matrix"):
        RMGL(3, random_state=0, views=[20, 20]).fit(spoiled(table, damage))
    model = RMGL(3, random_state=0).fit(given)
    with pytest.raises(ValueError, match="view 'b' is not a valid sparse matrix"):
        model.predict(given | {"b": spoiled(given["b"], damage)})


@pytest.mark.parametrize("damage", DAMAGE)
def test_given_graphs_with_odd_indices_are_refused(damage, guarded):
    graph = neighbor_graph()
    for candidates in (graph, [graph, "all"]):
        bad = spoiled(graph, damage) if candidates is graph else [spoiled(graph, damage), "all"]
        with pytest.raises(
            ValueError, match="the candidate graph for view 'view 0' is not a valid sparse matrix"
        ):
            RMGL(3, candidates=bad, random_state=0).fit(planted_views()[0])
    observed = np.ones((90, 2), dtype=bool)
    observed[:3, 1] = False
    with pytest.raises(
        ValueError, match="the candidate graph for view 'view 1' is not a valid sparse matrix"
    ):
        RMGL(3, candidates=["all", spoiled(graph, damage)], random_state=0).fit(
            planted_views()[0], observed=observed
        )
    with pytest.raises(ValueError, match="is not a valid sparse matrix"):
        learn_layer(planted_views()[0]["view 0"], 1.0, candidates=spoiled(graph, damage))
    symmetric = sparse.csr_array(graph + graph.T)
    with pytest.raises(ValueError, match="is not a valid sparse matrix"):
        SCML(3, precomputed=True).fit([symmetric, spoiled(symmetric, damage)])
    with pytest.raises(ValueError, match="is not a valid sparse matrix"):
        GDMCCA(3, graph=spoiled(symmetric, damage)).fit(planted_views()[0])


def test_layers_and_views_that_were_changed_after_they_were_made_are_refused(guarded):
    layer = learn_layer(planted_views()[0]["view 0"], 1.0)
    layer.adjacency.indices[3] = HUGE
    with pytest.raises(ValueError, match="is not a valid sparse matrix"):
        SCML(3).fit([layer])
    with pytest.raises(ValueError, match="is not a valid sparse matrix"):
        GDMCCA(3, graph=layer).fit(planted_views()[0])
    made = Views.of(sparse_views())
    made.matrices[1].indices[3] = HUGE
    with pytest.raises(ValueError, match="view 'b' is not a valid sparse matrix"):
        RMGL(3, random_state=0).fit(made)
    dense = Views.of(planted_views()[0])
    dense.matrices[0][3, 1] = np.nan
    with pytest.raises(ValueError, match="there are numbers in view 'view 0' that are not finite"):
        RMGL(3, random_state=0).fit(dense)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("value", [HUGE, -1])
def test_a_data_file_with_an_odd_index_is_refused(value, tmp_path):
    h5py = pytest.importorskip("h5py")
    from anndata import AnnData
    from mudata import MuData, read_h5mu

    MuData({name: AnnData(sparse.csr_matrix(X)) for name, X in sparse_views().items()}).write(
        tmp_path / "all.h5mu"
    )
    with h5py.File(tmp_path / "all.h5mu", "r+") as file:
        file["mod/b/X/indices"][5] = value
    with pytest.raises(ValueError, match="view 'b' is not a valid sparse matrix"):
        from_mudata(read_h5mu(tmp_path / "all.h5mu"))
    found = subprocess.run(
        [sys.executable, "-m", "rmgl", "cluster", "all.h5mu", "-k", "3", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 2, found
    assert "view 'b' is not a valid sparse matrix" in found.stderr
    assert not (tmp_path / "out").exists()


FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
def test_sound_matrices_of_every_format_come_through_as_they_are(form, kind):
    S = sparse.random(30, 31, 0.2, format="csr", random_state=0)
    given = getattr(sparse, f"{form}_{kind}")(S)
    assert (sound_sparse("it", given) != sparse.csr_array(S)).nnz == 0


def test_entries_outside_of_other_formats_are_refused():
    S = sparse.random(30, 31, 0.2, format="csr", random_state=0)
    coo, lil, longer, dok, dia = (
        getattr(sparse, f"{form}_array")(S) for form in ("coo", "lil", "lil", "dok", "dia")
    )
    coo.coords[0][3] = 99
    lil.rows[2][0] = 55
    longer.data[2].append(1.0)
    dok._dict[(77, 3)] = 1.0
    dia.offsets = dia.offsets[:3]
    for bad in (coo, lil, longer, dok, dia):
        with pytest.raises(Unsound, match="it is not a valid sparse matrix"):
            sound_sparse("it", bad)


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, True),
        (True, float, False),
        (10**30, int, False),
        (10**400, float, False),
        ("a", str, True),
        (None, str | None, True),
        (3, str | None, False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ((1, 2, 3), tuple[int, ...], True),
        ({"a": 1.0}, dict[str, float], True),
        ({1: 1.0}, dict[str, float], False),
        (np.zeros(3), np.ndarray[tuple[int], np.dtype[np.float64]], True),
        (np.zeros(3, dtype=np.float32), np.ndarray[tuple[int], np.dtype[np.float64]], False),
        (np.zeros(3, dtype=">f8"), np.ndarray[tuple[int], np.dtype[np.float64]], False),
        (np.zeros(3, dtype=np.int32), np.ndarray[tuple[int], np.dtype[np.intp]], True),
        (np.zeros(3, dtype=bool), np.ndarray[tuple[int], np.dtype[np.intp]], False),
    ],
)
def test_values_from_files_conform_to_what_records_declare(value, hint, expected):
    assert conforms(value, hint) is expected


def test_an_alias_stands_for_its_type():
    """`numpy.typing.NDArray` is one from numpy 2.5 on."""
    typing_extensions = pytest.importorskip("typing_extensions")
    entry = typing.TypeVar("entry", bound=np.generic)
    array = np.ndarray[tuple[int, ...], np.dtype[entry]]
    alias = typing_extensions.TypeAliasType("alias", array, type_params=(entry,))
    assert conforms(np.zeros(3), alias[np.float64])
    assert conforms(np.zeros(3), alias[np.float64] | None)
    assert not conforms(np.zeros(3, dtype=np.float32), alias[np.float64])
    numbers = typing_extensions.TypeAliasType("numbers", list[int])
    assert conforms([1], numbers)
    assert not conforms(["a"], numbers)


# Two runs and one checkpoint; tests/robustness has two at once


def test_steps_of_another_run_are_refused_even_if_they_are_put_there_later(tmp_path):
    first, second = planted_views()[0], planted_views(columns=(4, 5), seed=1)[0]
    own, other = tmp_path / "first", tmp_path / "second"
    RMGL(3, random_state=0, **LISTS).fit(first, checkpoint=own)
    RMGL(3, random_state=0, **LISTS).fit(second, checkpoint=other)
    step = next(own.glob("nearest-*.step"))
    os.replace(next(other.glob("nearest-*.step")), step)
    with pytest.raises(
        ValueError,
        match=rf"has a run with different data, parameters or versions \({step.name}\)",
    ):
        RMGL(3, random_state=0, **LISTS).fit(first, checkpoint=own)
