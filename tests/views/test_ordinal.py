"""Answers on a scale: columns of ordered categories, stated or recognized."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import rmgl
from rmgl import RMGL
from rmgl.views.column_kinds import kind_of
from rmgl.views.scales import SCALES, known_scale
from rmgl.views.views import Views

AGREE = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


def squared_distances(table):
    (view,) = Views.of({"t": table}).scaled("auto")
    return cdist(view.matrix, view.matrix, "sqeuclidean")


def test_each_answer_adds_its_difference_of_ranks():
    """The sum over columns of (difference of ranks / range of ranks)^2."""
    table = pd.DataFrame({"q1": [1, 2, 5, 3], "q2": [4, 1, 5, 1]})
    ranks = table.to_numpy(dtype=float)
    span = ranks.max(axis=0) - ranks.min(axis=0)
    np.testing.assert_allclose(
        squared_distances(rmgl.ordinal(table)), cdist(ranks / span, ranks / span, "sqeuclidean")
    )


def test_skewed_answers_are_not_taken_for_skewed_numbers():
    """A number that is skewed is replaced by its root, and an answer on a scale is not."""
    rng = np.random.default_rng(0)
    counts = np.minimum(1 + rng.geometric(0.7, size=(400, 4)), 40)
    table = pd.DataFrame(counts, columns=list("abcd"))
    marked = rmgl.ordinal(table, range(1, 41))
    span = np.ptp(counts, axis=0)
    np.testing.assert_allclose(
        squared_distances(marked), cdist(counts / span, counts / span, "sqeuclidean")
    )


def test_levels_are_given_or_those_of_the_answers():
    words = pd.DataFrame({"q": ["never", None, "often"], "x": [1.0, 2.0, 3.0]})
    marked = rmgl.ordinal(words, {"q": ["never", "often", "always"]})
    assert marked.q.cat.ordered
    assert marked.q.cat.codes.tolist() == [0, -1, 1]
    assert marked.x.dtype == float
    assert words.q.tolist() == ["never", None, "often"]  # the table is not modified
    likert = pd.DataFrame({"q": AGREE, "r": AGREE[::-1]})
    assert rmgl.ordinal(likert).q.cat.codes.is_monotonic_increasing
    assert rmgl.ordinal(likert, columns=["r"]).q.dtype == likert.q.dtype
    shared = rmgl.ordinal(pd.DataFrame({"q": [1, 2], "r": [4.0, np.nan]}))
    assert shared.q.cat.categories.tolist() == shared.r.cat.categories.tolist() == [1, 2, 3, 4]


def test_tables_of_other_libraries():
    polars = pytest.importorskip("polars")
    marked = rmgl.ordinal(polars.DataFrame({"q": [1, 2, 3]}))
    assert marked.q.cat.codes.tolist() == [0, 1, 2]


REFUSED = {
    "another answer": (["a", "b", "z"], ["a", "b"], r"column 'q' has 'z', which is not one of"),
    "no scale": (["red", "green", "blue"], None, r"pass all possible responses, .* as levels="),
    "fractions": ([1.5, 2.0], None, r"as levels="),
    "one level": ([1, 1], [1], r"is not a scale; list two or more different responses"),
    "a level twice": ([1, 2], [1, 2, 2], r"is not a scale"),
    "a text": (["a"], "abc", r"is not a scale"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_scale_is_refused(name):
    answers, levels, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        rmgl.ordinal(pd.DataFrame({"q": answers}), levels)


def test_other_objects_and_columns_are_refused():
    with pytest.raises(TypeError, match=r"ordinal requires a table"):
        rmgl.ordinal(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"the table has no column 'z'"):
        rmgl.ordinal(pd.DataFrame({"q": [1, 2]}), columns=["z"])


def test_well_known_scales_are_recognized_in_any_order_of_the_rows(rng):
    answers = pd.Series(rng.permutation(AGREE * 4))
    column = kind_of("q", answers)
    assert column.kind == "ordered category"
    ranks = dict(zip(answers, column.measure(answers), strict=True))
    assert sorted(AGREE, key=ranks.get) == AGREE
    capital = pd.Series(["Never", "Sometimes", "Always"] * 5)
    assert kind_of("q", capital).measure(capital)[:3].tolist() == sorted(
        kind_of("q", capital).measure(capital)[:3]
    )


@pytest.mark.parametrize(
    "answers",
    [
        ("often", "never"),  # too few to be sure
        ("agree", "disagree", "red"),
        ("Agree", "agree", "disagree"),  # written in two ways
        ("neutral", "undecided", "agree"),  # two words for one level
        (),
    ],
    ids=str,
)
def test_other_texts_are_categories(answers):
    assert known_scale(answers) is None


def test_no_word_is_twice_in_a_scale():
    for scale in SCALES:
        words = [word for level in scale for word in level]
        assert len(set(words)) == len(words)
        assert all(word == word.casefold() for word in words)


def test_surveys_are_fitted_and_new_answers_are_placed(tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(90) % 3
    center = np.array([[0, 0, 4, 4, 2], [4, 4, 0, 0, 2], [2, 0, 2, 4, 4]])[group]
    codes = np.clip(center + rng.integers(-1, 2, size=(90, 5)), 0, 4)
    survey = pd.DataFrame(np.array(AGREE)[codes], columns=list("abcde"))
    model = RMGL(3, random_state=0).fit({"survey": survey})
    assert all("ordered category" in line for line in model.report_.views[0].columns)
    stated = RMGL(3, random_state=0).fit({"survey": rmgl.ordinal(survey, AGREE)})
    np.testing.assert_array_equal(model.labels_, stated.labels_)
    model.save(tmp_path / "m.rmgl")
    again = RMGL.load(tmp_path / "m.rmgl")
    np.testing.assert_array_equal(again.predict({"survey": survey}), model.labels_)
