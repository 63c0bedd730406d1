"""Tables of new rows are matched with those of the fit by the names of their columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse

from rmgl import RMGL
from rmgl.command_line.cli import cli
from rmgl.views.views import Views
from tests.conftest import planted_views


def tables(rows=slice(None)):
    views, _ = planted_views(columns=(4, 6))
    return {
        name: pd.DataFrame(X[rows], columns=[f"{name[-1]}{at}" for at in range(X.shape[1])])
        for name, X in views.items()
    }


def mixed(n=60):
    """A table with columns of all kinds, of two clusters."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 2
    return pd.DataFrame(
        {
            "age": 30.0 + 20 * group + rng.normal(size=n),
            "weight": 60.0 + 10 * group + rng.normal(size=n),
            "stage": pd.Categorical(np.array(["I", "II"])[group], ordered=True),
            "sex": rng.choice(["F", "M"], n),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(30 * group, "D"),
            "smoker": rng.random(n) < 0.2 + 0.6 * group,
            "clinic": "one",
        }
    )


@pytest.fixture(scope="module")
def model():
    return RMGL(3, random_state=0).fit(tables())


@pytest.fixture(scope="module")
def mixed_model():
    return RMGL(2, random_state=0).fit({"clinic": mixed()})


def quietly(method, *given, **options):
    """What a method returns; any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return method(*given, **options)


def shuffled(table):
    return table[np.random.default_rng(1).permutation(table.columns)]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform", "score_samples"])
def test_the_order_of_columns_does_not_matter(model, method):
    new = tables(slice(0, 30))
    wanted = getattr(model, method)(new)
    turned = {name: shuffled(table) for name, table in new.items()}
    np.testing.assert_array_equal(quietly(getattr(model, method), turned), wanted)


def test_the_order_of_mixed_columns_does_not_matter(mixed_model):
    table = mixed()
    wanted = mixed_model.predict_proba({"clinic": table})
    found = quietly(mixed_model.predict_proba, {"clinic": shuffled(table)})
    np.testing.assert_array_equal(found, wanted)


def test_an_absent_column_is_a_column_of_missing_cells(model):
    new = tables(slice(0, 30))
    with_nan = {name: table.copy() for name, table in new.items()}
    with_nan["view 0"]["02"] = np.nan
    with_nan["view 1"][["10", "15"]] = np.nan
    wanted = quietly(model.score_samples, with_nan)
    lacking = {name: table.dropna(axis=1) for name, table in with_nan.items()}
    with pytest.warns(UserWarning, match="missing from the new rows") as caught:
        np.testing.assert_array_equal(model.score_samples(lacking), wanted)
    assert [str(warning.message) for warning in caught] == [
        "columns seen during fit are missing from the new rows and count as missing cells: 1 of 4 "
        "in view 'view 0' (02); 2 of 6 in view 'view 1' (10, 15)"
    ]
    assert not np.allclose(wanted, model.score_samples(new))  # those columns count


def test_a_row_with_a_missing_cell_is_the_same_alone_and_among_others(model):
    """A column without any value in the new rows is missing there, and not zero."""
    new = tables(slice(0, 5))["view 0"]
    new.loc[2, "01"] = np.nan
    together = model.score_samples({"view 0": new})
    alone = model.score_samples({"view 0": new[2:3]})
    np.testing.assert_allclose(alone[0], together[2], atol=1e-12)
    zero = new.fillna(0.0)
    assert not np.isclose(model.score_samples({"view 0": zero})[2], together[2])


@pytest.mark.parametrize("column", ["age", "stage", "sex", "seen", "smoker"])
def test_absent_columns_of_every_kind_are_missing(mixed_model, column):
    table = mixed()[:10]
    with_nan = table.astype({column: object})
    with_nan[column] = None
    wanted = mixed_model.predict_proba({"clinic": with_nan})
    with pytest.warns(UserWarning, match=rf"1 of 6 in view 'clinic' \({column}\)"):
        found = mixed_model.predict_proba({"clinic": table.drop(columns=column)})
    np.testing.assert_array_equal(found, wanted)


def test_a_column_that_the_fit_left_out_may_be_there_or_not(mixed_model):
    table = mixed()[:10]
    wanted = quietly(mixed_model.predict_proba, {"clinic": table})
    without = quietly(mixed_model.predict_proba, {"clinic": table.drop(columns="clinic")})
    np.testing.assert_array_equal(without, wanted)


def test_further_columns_are_ignored_with_one_warning(model, mixed_model):
    new = tables(slice(0, 30))
    wanted = model.predict_proba(new)
    more = {name: table.assign(note="text", **{"0 also": 1.0}) for name, table in new.items()}
    with pytest.warns(UserWarning, match="are ignored") as caught:
        np.testing.assert_array_equal(model.predict_proba(more), wanted)
    assert [str(warning.message) for warning in caught] == [
        "columns of the new rows that were not seen during fit are ignored: 2 in view 'view 0' "
        "(note, 0 also); 2 in view 'view 1' (note, 0 also)"
    ]
    table = mixed()[:10]
    wanted = mixed_model.predict_proba({"clinic": table})
    with pytest.warns(UserWarning, match=r"1 in view 'clinic' \(note\)"):
        found = mixed_model.predict_proba({"clinic": table.assign(note="text")})
    np.testing.assert_array_equal(found, wanted)


def test_half_of_the_columns_are_enough_and_fewer_are_refused(model):
    new = tables(slice(0, 30))
    with pytest.warns(UserWarning, match=r"2 of 4 in view 'view 0'"):
        model.predict({"view 0": new["view 0"][["03", "00"]]})
    with pytest.raises(
        ValueError,
        match=r"view 'view 0': more than half of the columns seen during fit are missing from the "
        r"new rows \(3 of 4: 00, 01, 02\): leave the view out",
    ):
        model.predict({"view 0": new["view 0"][["03"]]})


def test_a_column_that_occurs_twice_is_refused(model):
    table = tables(slice(0, 3))["view 0"]
    twice = pd.concat([table.assign(z=1.0), table[["01"]].assign(z=2.0)[["z", "01"]]], axis=1)
    with pytest.raises(ValueError, match=r"view 'view 0': column '01' occurs more than once"):
        model.predict({"view 0": twice})


def test_arrays_and_tables_without_names_are_taken_by_position(model):
    new = tables(slice(0, 30))
    wanted = model.predict_proba(new)
    arrays = {name: table.to_numpy() for name, table in new.items()}
    np.testing.assert_array_equal(quietly(model.predict_proba, arrays), wanted)
    unnamed = {name: pd.DataFrame(X) for name, X in arrays.items()}
    np.testing.assert_array_equal(quietly(model.predict_proba, unnamed), wanted)
    with pytest.raises(ValueError, match=r"has 3 columns, but the model was fitted on 4"):
        model.predict({"view 0": arrays["view 0"][:, :3]})


def test_one_table_and_the_blocks_of_one_table():
    both = pd.concat(tables().values(), axis=1)
    alone = RMGL(3, random_state=0).fit(both)
    wanted = alone.predict_proba(both[:20])
    np.testing.assert_array_equal(quietly(alone.predict_proba, shuffled(both)[:20]), wanted)
    blocks = {"first": list(both.columns[:4]), "second": list(both.columns[4:9])}
    split = RMGL(3, random_state=0, views=blocks).fit(both)
    wanted = split.predict_proba(both[:20])
    np.testing.assert_array_equal(quietly(split.predict_proba, shuffled(both)[:20]), wanted)
    with pytest.warns(UserWarning, match=r"1 of 5 in view 'second'"):
        split.predict(both.drop(columns="12"))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_views_with_names_are_matched_as_well(kind):
    """What `from_mudata` gives: rows of numbers, dense or sparse, with the names of variables."""

    def views(rows, columns=slice(None)):
        found = {name: table.iloc[rows, columns] for name, table in tables().items()}
        names = [tuple(table.columns) for table in found.values()]
        return Views.of({n: kind(table) for n, table in found.items()}, least=0, columns=names)

    model = RMGL(3, random_state=0).fit(views(slice(None)))
    wanted = model.predict_proba(views(slice(0, 30)))
    turned = quietly(model.predict_proba, views(slice(0, 30), slice(None, None, -1)))
    np.testing.assert_allclose(turned, wanted, atol=1e-12)
    with_nan = {name: table[:30].to_numpy().copy() for name, table in tables().items()}
    for X in with_nan.values():
        X[:, 0] = np.nan
    with pytest.warns(UserWarning, match=r"1 of 4 in view 'view 0' \(00\); 1 of 6"):
        lacking = model.predict_proba(views(slice(0, 30), slice(1, None)))
    np.testing.assert_allclose(lacking, model.predict_proba(with_nan), atol=1e-12)


def test_explain_matches_columns_too(model):
    given = tables()
    wanted = model.explain(given)
    turned = quietly(model.explain, {name: shuffled(table) for name, table in given.items()})
    for name, values in wanted.as_dict().items():
        np.testing.assert_array_equal(turned.as_dict()[name], values)
    with pytest.warns(UserWarning, match=r"1 of 4 in view 'view 0' \(02\)"):
        less = model.explain({**given, "view 0": given["view 0"].drop(columns="02")})
    absent = less.feature == "02"
    assert np.isnan(less.effect_size[absent]).all()
    assert (less.n_inside[absent] == 0).all()
    there = wanted.feature != "02"
    np.testing.assert_array_equal(
        np.sort(less.effect_size[~absent]), np.sort(wanted.effect_size[there])
    )


def test_metrics_that_need_all_columns_say_so():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (40, 6)), columns=list("abcdef"))
    for metric in ("jaccard", "hamming"):
        model = RMGL(2, random_state=0, metric=metric).fit({"t": table})
        wanted = model.predict_proba({"t": table})
        np.testing.assert_array_equal(quietly(model.predict_proba, {"t": shuffled(table)}), wanted)
        with (
            pytest.warns(UserWarning, match="missing from the new rows"),
            pytest.raises(ValueError, match=r"view 't' contains NaN cells \(.* in all\)"),
        ):
            model.predict({"t": table.drop(columns="c")})


def test_missing_error_refuses_absent_columns():
    model = RMGL(3, random_state=0, missing="error").fit(tables())
    with (
        pytest.warns(UserWarning, match="missing from the new rows"),
        pytest.raises(ValueError, match="set missing='pairwise'"),
    ):
        model.predict({"view 0": tables()["view 0"].drop(columns="00")})


# Files


@pytest.fixture
def saved(tmp_path, monkeypatch, mixed_model):
    monkeypatch.chdir(tmp_path)
    mixed_model.save("m.rmgl")
    mixed().to_csv("clinic.csv", index=False)
    return CliRunner().invoke


def labels(path):
    return pd.read_csv(path)


def test_the_command_matches_columns_by_name(saved):
    assert saved(cli, ["predict", "m.rmgl", "clinic.csv", "-o", "all.csv"]).exit_code == 0
    shuffled(mixed()).assign(note=1).to_csv("clinic.csv", index=False)
    found = saved(cli, ["predict", "m.rmgl", "clinic.csv", "-o", "turned.csv"])
    assert found.exit_code == 0
    assert "warning: columns of the new rows that were not seen during fit" in found.output
    pd.testing.assert_frame_equal(labels("turned.csv"), labels("all.csv"))
    mixed()[["age", "weight", "smoker"]].to_csv("clinic.csv", index=False)
    found = saved(cli, ["predict", "m.rmgl", "clinic.csv", "-o", "few.csv"])
    assert found.exit_code == 0
    assert "3 of 6 in view 'clinic' (stage, sex, seen)" in found.output
    assert found.output.count("warning:") == 1
    mixed()[["age", "weight"]].to_csv("clinic.csv", index=False)
    found = saved(cli, ["predict", "m.rmgl", "clinic.csv", "-o", "none.csv"])
    assert found.exit_code == 2
    assert "(4 of 6: stage, sex, seen, smoker)" in found.output


def test_the_command_says_which_rows_belong_nowhere(saved):
    far = mixed()[:6]
    far.loc[5, ["age", "weight"]] = [900.0, 900.0]
    far.to_csv("clinic.csv", index=False)
    found = saved(cli, ["predict", "m.rmgl", "clinic.csv", "--unknown", "1", "-o", "p.csv"])
    assert found.exit_code == 0
    assert "1 of them belong to no cluster (label -1)" in found.output
    table = labels("p.csv")
    assert (table.label == -1).tolist() == [False] * 5 + [True]
    assert table.outlier_score.argmax() == 5
    assert "outlier_score" not in labels_without(saved)
    refused = saved(cli, ["predict", "m.rmgl", "clinic.csv", "--unknown", "0", "-o", "q.csv"])
    assert refused.exit_code == 2


def labels_without(saved):
    assert saved(cli, ["predict", "m.rmgl", "clinic.csv", "-o", "r.csv"]).exit_code == 0
    return list(labels("r.csv").columns)
