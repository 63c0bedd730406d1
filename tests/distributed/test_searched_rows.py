"""Rows that this process prepares and workers search: what is found is what one process finds."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import rmgl
from rmgl import RMGL, Policy
from rmgl.distributed.searched_rows import SearchedRows
from rmgl.edges.search import Rows
from tests.distributed.conftest import AtOnce

N = 1700


pytestmark = pytest.mark.usefixtures("small_blocks")


def spread(n_columns, factor=1.0):
    rng = np.random.default_rng(5)
    return factor * (3 * rng.normal(size=(4, n_columns))[np.arange(N) % 4]) + rng.normal(
        size=(N, n_columns)
    )


ROWS = {
    "dense": spread(5),
    "double precision": spread(5) + 1e6 * np.eye(1, 5),
    "leading columns": spread(80) * 0.5 ** np.arange(80),
    "sparse": sparse.random_array((N, 300), density=0.03, format="csr", rng=0),
}


@pytest.mark.parametrize("kind", ROWS)
def test_workers_find_what_one_process_finds(kind, monkeypatch):
    monkeypatch.setattr("rmgl.edges.bounds.AXES_SAMPLE", 500)
    here = Rows.of(ROWS[kind])
    there = SearchedRows.of_rows(AtOnce(), here)
    assert there.starts.size == 5
    for nodes in (np.arange(N), np.arange(0, N, 9)):
        mine, bounds = here.nearest(nodes, 12)
        theirs, their_bounds = there.nearest(nodes, 12)
        np.testing.assert_array_equal(np.sort(mine, axis=1), np.sort(theirs, axis=1))
        np.testing.assert_array_equal(bounds, their_bounds)
        radii = np.zeros(N)
        radii[nodes] = bounds
        pairs = [
            {tuple(sorted(pair)) for pair in zip(*map(np.ndarray.tolist, ends), strict=True)}
            for ends in (space.within(nodes, radii) for space in (here, there))
        ]
        assert pairs[0] == pairs[1] != set()


TARGET = np.arange(N) % 4


def two_views():
    rng = np.random.default_rng(1)
    return {
        "a": 3 * rng.normal(size=(4, 5))[TARGET] + rng.normal(size=(N, 5)),
        "b": 3 * rng.normal(size=(4, 7))[TARGET] + rng.normal(size=(N, 7)),
    }


def with_missing(kind):
    views = two_views()
    if kind == "rows":
        views["a"][:40] = np.nan
    elif kind == "cells":
        views["a"][::50, 1] = np.nan
    elif kind == "zeros":
        views["b"] = np.abs(np.hstack([views["b"]] * 6))
        views["b"][:5] = 0
    return views


def table():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "number": 4.0 * TARGET + rng.normal(size=N),
            "kind": pd.Categorical(np.array(["p", "q", "r", "s"])[TARGET]),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * TARGET, unit="D"),
            "flag": TARGET > 1,
        }
    )


def ring():
    """A network in which entities of one cluster are linked."""
    left = np.arange(N)
    links = [(left, (left + step) % N) for step in (4, 8, 12)]
    rows, columns = (np.concatenate(ends) for ends in zip(*links, strict=True))
    graph = sparse.coo_array((np.ones(rows.size), (rows, columns)), shape=(N, N)).tocsr()
    return graph + graph.T


def distances():
    X = two_views()["a"]
    return np.linalg.norm(X[:, None] - X, axis=2)


def known():
    y = np.full(N, -1)
    y[:80] = TARGET[:80]
    return y


LISTS = {"candidates": 40}
CASES = {
    "numbers for alpha and beta": (two_views, {"alpha": 0.5, "beta": 10.0, **LISTS}, {}),
    "components": (two_views, {"components": True, **LISTS}, {}),
    "sparse": (
        lambda: {"a": two_views()["a"], "words": sparse.csr_array(sparse_words())},
        LISTS,
        {},
    ),
    "sparse alone": (lambda: [sparse.csr_array(sparse_words())], LISTS, {}),
    "observed": (two_views, LISTS, {"observed": np.arange(2 * N).reshape(N, 2) % 17 > 0}),
    "align": (
        lambda: {"a": frame("a").iloc[5:], "b": frame("b").iloc[:-5]},
        {"align": "outer", **LISTS},
        {},
    ),
    "missing rows": (lambda: with_missing("rows"), LISTS, {}),
    "missing cells": (lambda: with_missing("cells"), LISTS, {}),
    "rows of zeros": (lambda: with_missing("zeros"), LISTS, {}),
    "categories and dates": (lambda: {"a": two_views()["a"], "table": table()}, LISTS, {}),
    "network": (lambda: {"a": two_views()["a"], "links": rmgl.Network(ring())}, LISTS, {}),
    "distances": (
        lambda: {"b": two_views()["b"], "apart": rmgl.Precomputed(distances(), "distance")},
        LISTS,
        {},
    ),
    "cosine": (two_views, {"metric": "cosine", **LISTS}, {}),
    "jaccard": (
        lambda: {"a": two_views()["a"], "sets": (two_views()["b"] > 0).astype(float)},
        {"metric": ["euclidean", "jaccard"], **LISTS},
        {},
    ),
    "known labels": (two_views, LISTS, {"y": known()}),
    "column blocks": (
        lambda: np.hstack(list(two_views().values())),
        {"views": [5, 7], **LISTS},
        {},
    ),
    "all pairs": (two_views, {"candidates": "all"}, {}),
    "no local scaling": (two_views, {"policy": Policy(local_scaling=False), **LISTS}, {}),
    "number of clusters": (two_views, {"n_clusters": "auto", **LISTS}, {}),
    "few rows": (lambda: [X[:20] for X in two_views().values()], {}, {}),
}


def frame(name):
    return pd.DataFrame(two_views()[name], index=[f"p{i}" for i in range(N)])


def sparse_words():
    rng = np.random.default_rng(3)
    words = rng.poisson(0.1 + 2.0 * (np.arange(40) % 4 == TARGET[:, None])).astype(float)
    words[:, 0] += 1
    return words


@pytest.mark.extended
@pytest.mark.parametrize("case", CASES)
def test_a_fit_on_workers_takes_what_a_fit_takes(case, inside):
    data, parameters, given = CASES[case]
    parameters = {"n_clusters": 4, "random_state": 0, **parameters}
    here = RMGL(**parameters).fit(data(), **given)
    there = RMGL(**parameters).fit(data(), client=inside(2), **given)
    compare(here, there)
    if case == "missing rows":
        assert str(there.report_) == str(here.report_)


def compare(here, there):
    assert there.n_clusters_ == here.n_clusters_
    assert adjusted_rand_score(here.labels_, there.labels_) == 1
    assert [layer.name for layer in there.layers_] == [layer.name for layer in here.layers_]
    np.testing.assert_array_equal(there.view_weights_, here.view_weights_)
    np.testing.assert_array_equal(there.embedding_, here.embedding_)
    for mine, theirs in zip(here.layers_, there.layers_, strict=True):
        assert mine.exact == theirs.exact
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(
                getattr(theirs.adjacency, part), getattr(mine.adjacency, part)
            )


@pytest.mark.extended
def test_stored_tables_with_categories_are_read_here(inside):
    dask_frame = pytest.importorskip("dask.dataframe")
    views = {"a": frame("a").reset_index(drop=True), "table": table()}
    here = RMGL(4, random_state=0, **LISTS).fit(views)
    client = inside(2)
    stored = {name: dask_frame.from_pandas(view, npartitions=3) for name, view in views.items()}
    compare(here, RMGL(4, random_state=0, **LISTS).fit(stored, client=client))


@pytest.mark.extended
def test_a_checkpoint_keeps_what_workers_found(inside, tmp_path):
    options = {"alpha": 0.5, "beta": 10.0, "random_state": 0, **LISTS}
    first = RMGL(4, **options).fit(two_views(), client=inside(2), checkpoint=tmp_path / "kept")
    files = {path.name for path in (tmp_path / "kept").glob("*.step")}
    assert any(name.startswith("nearest-") for name in files)
    again = RMGL(4, **options).fit(two_views(), client=inside(2), checkpoint=tmp_path / "kept")
    compare(first, again)


@pytest.mark.extended
def test_a_parquet_file_with_categories_and_tables_in_parts(inside, tmp_path):
    dask_frame = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    table().to_parquet(tmp_path / "table.parquet")
    half = N // 2
    parts = frame("a").reset_index(drop=True)
    parts.index = [*range(half), *range(N - half)]
    stored = {
        "a": dask_frame.from_pandas(parts, npartitions=2, sort=False),
        "table": tmp_path / "table.parquet",
    }
    there = RMGL(4, random_state=0, **LISTS).fit(stored, client=inside(2))
    here = RMGL(4, random_state=0, **LISTS).fit(
        {"a": frame("a").reset_index(drop=True), "table": table()}
    )
    compare(here, there)
    assert there.index_ is None
