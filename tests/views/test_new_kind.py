"""A kind of view that the package does not know: words, compared by the letters that have to change
from one to the other.

Everything about it is between the two lines; no other file knows of it, and it is fitted,
explained, reported, saved and predicted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from rmgl import RMGL
from rmgl.archive.records import RECORDS, record
from rmgl.checks import Unsound
from rmgl.views.features import FeatureView
from rmgl.views.pair_view import DistanceView
from rmgl.views.views import Views

# ---------------------------------------------------------------------------------------------------------------------------------------


def edits(one: str, other: str) -> float:
    """The Levenshtein distance: how many letters have to be changed, added or left out."""
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        last, row = row, [place]
        for at, theirs in enumerate(other):
            row.append(min(last[at + 1] + 1, row[at] + 1, last[at] + (letter != theirs)))
    return float(row[-1])


@dataclass(frozen=True)
class Words:
    """What users pass: one word for each entity."""

    words: Sequence[str]

    def to_view(self, name, observed):
        seen = np.ones(len(self.words), dtype=bool) if observed is None else observed
        squared = np.array(
            [[edits(one, other) for other in self.words] for one in self.words]
        ) * np.outer(seen, seen)
        return WordView(
            name, squared, None if seen.all() else np.flatnonzero(seen), tuple(self.words)
        )


@record
@dataclass(frozen=True)
class WordView(DistanceView):
    """The squared distances of words, which are the numbers of edits."""

    words_of: tuple[str, ...] = ()
    kind = "number of edits"

    def at(self, places):
        return replace(self, words_of=tuple(self.words_of[place] for place in places))

    def against(self, given):
        return np.array([[edits(one, other) for other in self.words_of] for one in given.words])

    def squared_of_new(self, rows, given):
        return rows.matrix

    def features_of(self, given):
        return pd.DataFrame(
            [
                {letter: float(word.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"}
                for word in given.words
            ]
        )

    def again(self, rows, n_new):
        return (
            super().again(rows, n_new)
            if rows is None
            else FeatureView(self.name, rows.matrix, rows.entities, rows.columns)
        )

    def check(self, n_rows, most=np.inf):
        super().check(n_rows, most)
        if len(self.words_of) != n_rows:
            raise Unsound(
                f"view {self.name!r} has {len(self.words_of)} words for {n_rows} entities"
            )


# ---------------------------------------------------------------------------------------------------------------------------------------

STEMS = ("metallurgy", "buckaroo", "snowflakes")
TARGET = np.repeat(np.arange(3), 15)


def misspelled(word, rng):
    """A word with one letter replaced and one left out."""
    letters = list(word)
    letters[rng.integers(len(letters))] = rng.choice(list("abcdefghijklmnopqrstuvwxyz"))
    del letters[rng.integers(len(letters))]
    return "".join(letters)


@pytest.fixture(scope="module", autouse=True)
def registered():
    """Only these tests know the kind."""
    RECORDS["WordView"] = WordView
    yield
    del RECORDS["WordView"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    words = [misspelled(STEMS[cluster], rng) for cluster in TARGET]
    return {"spelling": Words(words), "size": rng.normal(size=(45, 3)) + 3 * TARGET[:, None]}


@pytest.fixture(scope="module")
def model(data):
    return RMGL(3, random_state=0).fit(data)


NEW = Words(["metalurgi", "snowflake", "bucaro"])


def test_it_is_fitted(model):
    assert pd.crosstab(model.labels_, TARGET).gt(0).sum().tolist() == [1, 1, 1]
    assert model.scale_[0] == (
        "precomputed",
        "user-supplied, not scaled: number of edits for all pairs",
    )
    assert [layer.role for layer in model.layers_][:3] == ["view", "view", "consensus"]
    assert all(layer.exact for layer in model.layers_)


def test_alone_and_with_given_parameters(data):
    alone = {"spelling": data["spelling"]}
    for options in ({}, {"alpha": 2.0, "beta": 1.0}, {"beta": 1.0}):
        fitted = RMGL(3, random_state=0, **options).fit(alone)
        assert pd.crosstab(fitted.labels_, TARGET).gt(0).sum().tolist() == [1, 1, 1]


def test_its_layer_is_that_of_the_edits(data):
    """The costs of a layer with given alpha are the distances themselves, which any other kind can
    give as a matrix.
    """
    from rmgl import Precomputed

    squared = Views.of(data)[0].matrix
    options = {"alpha": 2.0, "beta": 1.0, "random_state": 0}
    ours, theirs = (
        RMGL(3, **options).fit({"v": given})
        for given in (data["spelling"], Precomputed(squared, kind="squared"))
    )
    np.testing.assert_array_equal(
        ours.layers_[0].adjacency.toarray(), theirs.layers_[0].adjacency.toarray()
    )
    np.testing.assert_array_equal(ours.embedding_, theirs.embedding_)


def test_the_order_of_entities_does_not_matter(data, model):
    order = np.random.default_rng(1).permutation(45)
    turned = {
        "spelling": Words([data["spelling"].words[at] for at in order]),
        "size": data["size"][order],
    }
    fitted = RMGL(3, random_state=0).fit(turned)
    np.testing.assert_array_equal(
        fitted.layers_[0].adjacency.toarray(), model.layers_[0].adjacency.toarray()[order][:, order]
    )


def test_entities_may_be_missing_from_it(data):
    observed = np.ones((45, 2), dtype=bool)
    observed[[3, 20], 0] = False
    fitted = RMGL(3, random_state=0).fit(data, observed=observed)
    assert not fitted.layers_[0].adjacency.toarray()[[3, 20]].any()
    assert fitted.report_.views[0].n_missing == 2
    assert fitted.predict({"spelling": NEW}).tolist() == [fitted.labels_[at] for at in (0, 40, 16)]


def test_it_is_reported_and_shown(model, tmp_path):
    assert (
        "Scale: spelling: precomputed (user-supplied, not scaled: number of edits for all pairs)."
        in str(model.report_)
    )
    assert model.report_.views[0].inside.found > 0.9
    pytest.importorskip("bokeh")
    model.to_html(tmp_path / "page.html")
    assert "spelling" in (tmp_path / "page.html").read_text()


def test_it_is_explained(data, model):
    table = model.explain(data)
    first = table.of_cluster(int(model.labels_[0])).top(30)
    assert {"spelling", "size"} == set(table.view)
    assert set(first.feature[first.view == "spelling"][:3]) & set("metallurgy")
    assert set(model.explain({"size": data["size"]}).view) == {"size"}


@pytest.mark.parametrize(
    "new",
    [
        {"spelling": NEW},
        {"spelling": NEW, "size": 3.0 * np.array([[0.0], [2.0], [1.0]]) + np.zeros((3, 3))},
    ],
)
def test_it_predicts_also_after_it_was_saved(model, new, tmp_path):
    model.save(tmp_path / "model.rmgl")
    loaded = RMGL.load(tmp_path / "model.rmgl")
    assert loaded.fitted_.views[0].words_of == model.fitted_.views[0].words_of
    assert model.predict(new).tolist() == [model.labels_[at] for at in (0, 40, 16)]
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))


def test_a_word_of_the_fit_gets_its_place(data, model):
    again = {"spelling": Words(data["spelling"].words[:2]), "size": data["size"][:2]}
    np.testing.assert_array_equal(model.transform(again), model.embedding_[:2])


def test_a_file_that_does_not_fit_together_is_refused(model, tmp_path):
    from copy import copy

    assert model.report_  # made of what fits together
    spoiled, views = copy(model), model.fitted_.views
    view = replace(views[0], words_of=("only one",))
    spoiled.fitted_ = replace(model.fitted_, views=replace(views, views=(view, views[1])))
    spoiled.save(tmp_path / "model.rmgl")
    with pytest.raises(ValueError, match="has 1 words for 45 entities"):
        RMGL.load(tmp_path / "model.rmgl")


def test_fits_with_it_can_be_stopped_and_resumed(data, model, tmp_path):
    for _ in range(2):
        fitted = RMGL(3, random_state=0).fit(data, checkpoint=tmp_path / "steps")
        np.testing.assert_array_equal(fitted.embedding_, model.embedding_)
