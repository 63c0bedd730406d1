"""What the page holds, without a browser: numbers, words and escaped names."""

import base64
import html
import json
import re
import sys
import zlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.page import shown as shown_module
from rmgl.page.associations import associations_section, round_times, verdict_on
from rmgl.page.columns import (
    KINDS_OF_COLORS,
    N_BINS,
    as_bytes,
    check_columns,
    check_ids,
    histogram,
)
from rmgl.page.content import GATHERED
from rmgl.page.elements import bar, element, shortened
from rmgl.page.page import Given, content_of, page_of, write_page
from rmgl.page.resolutions import number_section, tree
from rmgl.page.sections import (
    distinguishing,
    how_to_read,
    supporting,
    tiles,
    verdict_section,
    views_table,
)
from rmgl.page.shown import choose_shown, density, positions, spread_out, strongest
from rmgl.page.words import verdict
from rmgl.plots import draw_survival
from rmgl.results.clusters import ClusterFacts
from rmgl.results.findings import Finding
from rmgl.results.own_neighbors import Share
from rmgl.results.survival import median_text
from rmgl.results.trust import Trust
from tests.conftest import planted_views
from tests.page.conftest import HOSTILE, LONG


def said(sentence):
    return Finding("sentence", "warning", words={"sentence": sentence})


def unpacked(text):
    """Undo `packed`, as the page does."""
    block = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(block[:8], "little")
    facts = json.loads(block[8 : 8 + length])
    dtypes = {kind: np.dtype(name).newbyteorder("<") for name, kind in KINDS_OF_COLORS.items()}
    arrays = {
        name: np.frombuffer(block, dtype=dtypes[kind], count=size, offset=8 + length + at)
        for name, (kind, at, size) in facts.pop("arrays").items()
    }
    return facts, arrays


def data_of(text):
    return unpacked(re.search(r'id="data">([^<]*)<', text)[1])


def test_the_page_holds_the_numbers_of_the_model(page, digits_shown):
    model, views, _ = digits_shown
    text = page.read_text(encoding="utf-8")
    facts, arrays = data_of(text)
    assert facts["n_entities"] == facts["n_points"] == 250
    assert arrays["cluster"].tolist() == model.labels_.tolist()
    np.testing.assert_allclose(arrays["outlier"] / 254, model.outlier_score_, atol=1 / 500)
    for at, layer in enumerate(model.layers_):
        starts, targets, weights = (
            arrays[f"{name}_{at}"] for name in ("starts", "targets", "weights")
        )
        own = layer.adjacency[[12]].toarray().ravel()
        found = targets[starts[12] : starts[13]]
        assert set(found) == set(np.flatnonzero(own))
        np.testing.assert_allclose(
            weights[starts[12] : starts[13]] / 65535 * facts["heaviest"][at], own[found], atol=1e-4
        )
    table = model.explain(views).top(5, by_view=True).of_cluster(0)
    assert [row["effect"] for row in facts["clusters"][0]["features"]] == pytest.approx(
        table.effect_size.tolist(), rel=1e-5
    )
    assert facts["own_units"]


def test_nothing_is_loaded_and_names_are_escaped(page):
    text = page.read_text(encoding="utf-8")
    own = text[: text.index('id="data"')]
    assert "<script>window" not in own
    assert "&lt;script&gt;window" in own
    assert not re.search(r'(src|href)="(?!#)', own)
    assert "Content-Security-Policy" in own
    assert LONG[:300] not in own


def test_a_loaded_model_has_a_page_without_its_views(planted_model, planted, tmp_path):
    model, (views, _) = planted_model, planted
    model.save(tmp_path / "m.rmgl")
    RMGL.load(tmp_path / "m.rmgl").to_html(tmp_path / "report.html")
    facts, _ = data_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert not facts["own_units"]
    assert facts["clusters"][0]["features"][0]["values"] is not None
    table = model.explain(views)
    model.to_html(tmp_path / "report.html", features=table)
    facts, _ = data_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert facts["clusters"][0]["features"][0]["inside"] == pytest.approx(
        table.mean_inside[0], rel=1e-5
    )
    assert facts["clusters"][0]["features"][0]["values"] is None


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_few_clusters_one_view_and_row_labels(n_clusters, tmp_path):
    X = pd.DataFrame(
        np.r_[np.zeros((6, 1)), np.ones((6, 1))] + 0.01 * np.arange(12)[:, None],
        index=list("abcdefghijkl"),
        columns=["size"],
    )
    model = RMGL(n_clusters, random_state=0).fit({"only": X})
    model.to_html(tmp_path / "report.html", views={"only": X})
    facts, _ = data_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert facts["ids"] == list("abcdefghijkl")
    assert len(facts["clusters"]) == n_clusters
    assert [row["feature"] for row in facts["clusters"][0]["features"]] == ["size"] * (
        n_clusters > 1
    )


def test_incomplete_views_and_the_model_of_the_paper(tmp_path):
    views, _ = planted_views()
    observed = np.random.default_rng(0).random((90, 2)) < 0.7
    observed[:, 0] |= ~observed.any(axis=1)
    model = RMGL(3, alpha=2.0, beta=1.0, random_state=0).fit(views, observed=observed)
    model.to_html(tmp_path / "report.html", views=views, observed=observed)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    _, arrays = data_of(text)
    absent = np.flatnonzero(~observed[:, 1])
    assert (arrays["named_1"][absent] == 65535).all()
    assert (arrays["own_1"][absent] == 255).all()
    assert f">{absent.size}</td>" in text


def test_the_verdict_warns_before_it_praises(planted_model):
    model = planted_model
    content = content_of(model.fitted_, model.report_, Given())
    original = model.report_
    try:
        for word, start in (
            ("good", "These clusters look reliable"),
            ("fair", "Use these"),
            ("poor", "Do not rely on these"),
        ):
            object.__setattr__(original, "trust", Trust(word, [said("a <reason>")]))
            assert (
                verdict(model.fitted_, model.report_, 0)[0]
                == f"{start}{'' if word == 'good' else ' clusters' + (' with care' if word == 'fair' else '')}. A <reason>."
            )
            assert f'class="badge {word}"' in verdict_section(content)
            assert "A &lt;reason&gt;" in verdict_section(content)
        object.__setattr__(original, "weak_points", [said("it <is> odd")])
        section = verdict_section(content)
        assert section.index("It &lt;is&gt; odd") < section.index("badge")
        object.__setattr__(original, "trust", None)
        assert "was not assessed" in verdict(model.fitted_, model.report_, 1)[0]
        assert "One assignment is doubtful" in verdict(model.fitted_, model.report_, 1)[1]
    finally:
        object.__setattr__(original, "trust", Trust("good", [said("no sign of trouble was found")]))
        object.__setattr__(original, "weak_points", [])


def test_sections_on_clusters_and_their_number(planted_model, digits_shown):
    model = planted_model
    content = content_of(model.fitted_, model.report_, Given())
    assert "You requested 3 clusters" in number_section(content)
    assert supporting(content, 0) == "all 2"
    assert distinguishing(content, 0).split()[0] in ("higher", "lower")
    auto = content_of(digits_shown[0].fitted_, digits_shown[0].report_, Given())
    assert 'id="evidence"' in number_section(auto)
    assert page_of(auto).count('id="evidence"') == 1


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ((0.97, 0.5), "same_day"),
        ((0.5, 0.97), "it's all the same"),
        ((0.901, 0.899), "all equally"),
        ((0.34, 0.33), "all equally"),  # neither has more than chance
    ],
)
def test_the_tile_names_the_view_that_explains_most_whatever_it_is_called(found, answer):
    views, _ = planted_views()
    model = RMGL(3, random_state=0).fit(
        dict(zip(("same_day", "it's all the same"), views.values(), strict=True))
    )
    shares = [Share(share, 0.33, 0.01) for share in found]
    described = [
        replace(view, weight=1 - share, inside=of_view)  # weights have no part in the answer
        for view, share, of_view in zip(model.report_.views, found, shares, strict=True)
    ]
    report = replace(model.report_, views=described)
    content = replace(content_of(model.fitted_, report, Given()), inside=shares)
    shown = re.findall("<strong>(.*?)</strong>", tiles(content))
    assert html.unescape(shown[2]) == answer
    said = verdict(model.fitted_, report, 0)[1]
    assert ("All views explain the clusters equally well" in said) == (answer == "all equally")
    assert (f"View {answer} explains the clusters best: 97% of" in said) == (max(found) == 0.97)


@pytest.mark.parametrize(
    ("by_view", "words"),
    [
        ([0.9, 0.9, 0.9, 0.9], "all 4"),
        ([0.9, 0.9, 0.1, 0.9], "all but c"),
        ([0.1, 0.9, 0.9, 0.9], "all but a"),
        ([0.9, 0.1, 0.1, 0.9], "a and d"),
        ([0.1, 0.1, 0.1, 0.1], "none alone"),
        ([0.9, 0.1, 0.9], "a and c"),  # of three views, two are as short to name
        ([0.9, 0.9, 0.9], "all 3"),
        ([0.9], "a"),
        ([0.7, 0.6999], "a"),  # separated: at least 70 % of the neighbors are inside
    ],
)
def test_the_views_that_separate_a_cluster_are_named_briefly(by_view, words):
    nobody = np.empty(0, dtype=np.intp)
    shares = [Share(found, 0.3, 0.01) for found in by_view]
    cluster = ClusterFacts(10, 0.9, None, shares, typical=nobody, doubtful=nobody)
    content = SimpleNamespace(
        model=SimpleNamespace(view_names=list("abcd")[: len(by_view)]), clusters=[cluster]
    )
    assert supporting(content, 0) == words


def test_ids_and_columns_are_checked():
    assert check_ids(None, None, 3) is None
    assert check_ids(None, np.array(["a", 1], dtype=object), 2) == ["a", "1"]
    assert check_ids(pd.Series(["x", "y" * 300]), None, 2)[1] == "y" * 199 + "…"
    with pytest.raises(ValueError, match="ids has 2 names, but the model has 3 entities"):
        check_ids(["a", "b"], None, 3)
    with pytest.raises(TypeError, match="ids is of type str"):
        check_ids("abc", None, 3)
    numbers, texts = check_columns(pd.DataFrame({"n": [1.0, np.inf, 3.0], "t": ["b", "a", "b"]}), 3)
    assert np.isnan(numbers.values).tolist() == [False, True, False]
    assert (texts.values.tolist(), texts.categories) == ([1, 0, 1], ["a", "b"])
    (many,) = check_columns({"m": [str(i // 2) for i in range(999)]}, 999)
    assert len(many.categories) == 200
    assert many.categories[-1] == "other"
    with pytest.raises(
        ValueError, match=r"columns: 'n' has shape \(2,\), but the model has 3 entities"
    ):
        check_columns({"n": [1, 2]}, 3)
    with pytest.raises(TypeError, match="columns is of type list"):
        check_columns([1, 2], 3)


def test_wrong_features_and_no_bokeh(planted_model, planted, tmp_path, monkeypatch):
    model, (views, _) = planted_model, planted
    with pytest.raises(
        TypeError, match="features is of type dict; pass the table returned by explain"
    ):
        model.to_html(tmp_path / "report.html", features=views)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    monkeypatch.setitem(sys.modules, "bokeh.plotting", None)
    with pytest.raises(
        ImportError, match="the page needs bokeh, which is not installed: pip install bokeh"
    ):
        model.to_html(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_notebooks_show_a_summary(planted_model):
    model = planted_model
    summary = model._repr_mimebundle_()["text/html"]
    assert summary == model._repr_html_()
    assert "3 clusters" in summary
    assert "to_html" in summary
    assert "<script" not in summary
    assert "<" in RMGL(3)._repr_html_()  # not fitted: the diagram of scikit-learn


def test_the_strongest_neighbors_are_kept(monkeypatch):
    rng = np.random.default_rng(0)
    half = sparse.triu(sparse.random(40, 40, density=0.4, random_state=1), 1)
    graph = sparse.csr_array(half + half.T)
    links = strongest(graph, np.arange(40), 3)
    for node in range(40):
        own = graph.toarray()[node]
        found = links.targets[links.starts[node] : links.starts[node + 1]]
        np.testing.assert_allclose(own[found], np.sort(own[own > 0])[::-1][:3])
    monkeypatch.setattr(shown_module, "MOST_POINTS", 20)
    monkeypatch.setattr(shown_module, "MOST_SHOWN", 5)
    layer = type("L", (), {"adjacency": graph, "n_nodes": 40})
    wanted = rng.permutation(40)[:3]
    found = choose_shown([layer], wanted)
    assert set(wanted) <= set(found.entities[: found.n_points])
    assert found.n_points <= 8
    assert len(set(found.entities)) == found.entities.size
    first = found.links[0]
    assert set(found.entities[first.targets[: first.starts[1]]]) == set(
        np.flatnonzero(graph.toarray()[found.entities[0]])
    )


def test_progress_of_the_page_rises(planted_model, tmp_path, monkeypatch):
    monkeypatch.setattr("rmgl.plots.embedding._last_layout", {})  # that of another test
    parts = []
    write_page(
        tmp_path / "page.html",
        planted_model.fitted_,
        planted_model.report_,
        Given(),
        parts.append,
    )
    assert parts == sorted(parts)
    assert len(parts) > 50
    assert parts[-1] == GATHERED < 1


def test_places_beyond_the_sample(monkeypatch):
    monkeypatch.setattr("rmgl.page.shown.LAYOUT_ROWS", 60)
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 4
    embedding = np.eye(4)[labels] + 0.01 * rng.normal(size=(200, 4))
    points = positions(embedding)
    assert points.shape == (200, 2)
    centers = np.array([points[labels == k].mean(axis=0) for k in range(4)])
    nearest = np.square(points[:, None] - centers).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).all()


def test_members_at_one_place_are_spread():
    rng = np.random.default_rng(0)
    points, labels = np.r_[np.zeros((50, 2)), rng.normal(size=(50, 2))], np.repeat([0, 1], 50)
    found, count = spread_out(points, labels)
    assert count == 1
    np.testing.assert_array_equal(found[50:], points[50:])
    assert (
        np.square(found[:50] - found[:50].mean(axis=0)).sum(axis=1).max() ** 0.5
        < 0.06 * np.ptp(points, axis=0).max()
    )
    assert len(np.unique(found[:50].round(9), axis=0)) == 50
    alone, count = spread_out(np.zeros((3, 2)), np.arange(3))
    assert count == 0
    assert (alone == 0).all()


def test_density_counts_every_point():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(500, 2)), rng.integers(0, 3, 500)
    counts, cluster, corners = density(points, labels, 3, 10)
    assert counts.sum() == 500
    edges = [np.linspace(low, high, 11) for low, high in corners.T]
    expected = np.histogram2d(points[:, 1], points[:, 0], bins=[edges[1], edges[0]])[0]
    np.testing.assert_array_equal(counts, expected)
    assert ((cluster < 0) == (counts == 0)).all()
    same, _, _ = density(np.zeros((3, 2)), labels[:3], 3, 4)
    assert same[0, 0] == 3


def test_histograms_are_shares():
    rng = np.random.default_rng(0)
    values, inside = rng.normal(size=300), np.arange(300) < 100
    found = histogram(values, inside)
    assert sum(found["inside"]) == pytest.approx(1, abs=0.02)
    assert len(found["outside"]) == N_BINS
    assert histogram(values, np.ones(300, dtype=bool)) is None
    assert histogram(np.zeros(300), inside) is None
    rare = np.zeros(300)
    rare[5] = 2.0
    assert histogram(rare, inside)["high"] == 2.0


def test_small_parts():
    assert as_bytes(np.array([0.0, 1.0, np.nan, 0.5])).tolist() == [0, 254, 255, 127]
    assert element("p", HOSTILE).count("<") == 2
    assert '"' not in element("p", title='"').replace('title="&quot;"', "")
    assert "width" not in bar(float("nan"), "unknown")
    assert "width:50.0%" in bar(0.5, "half")
    assert shortened("a\ud800b\x00") == "a\ufffdb\ufffd"


def test_chance_stands_beside_what_is_said_about_views():
    views, _ = planted_views(sizes=(40, 40, 40))
    views["noise"] = np.random.default_rng(0).normal(size=(120, 5))
    model = RMGL(3, random_state=0).fit(views)
    content = content_of(model.fitted_, model.report_, Given())
    assert views_table(content).count("(by chance 33%)") == 3
    assert "assignment of an entity if it suggests the entity's cluster" in views_table(content)
    assert (
        "The share expected by chance is "
        f"{round(100 * content.standing.agreement_by_chance)}%" in how_to_read(content)
    )
    for view, layer in enumerate(content.standing.layers[:3]):
        met = np.mean(layer.named == model.labels_)
        assert met > 0.95 if view < 2 else met < 1 / 3 + 3 * np.sqrt(2 / 9 / 120)


def test_the_page_says_where_chance_leaves_no_room():
    model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]})
    shown = views_table(content_of(model.fitted_, model.report_, Given()))
    assert "unknown" in shown
    assert "(by chance" not in shown


def test_further_columns_are_a_section_of_the_page(page, associations):
    text = page.read_text(encoding="utf-8")
    section = re.search(r'<section class="card" id="associations">.*?</section>', text, re.DOTALL)[
        0
    ]
    assert "What else differs between the clusters?" in section
    assert verdict_on(associations) in html.unescape(section)
    for curve in associations.survival.curves:
        assert median_text(curve) in section
    assert "Log-rank test: chi-squared" in section


def test_without_further_columns_there_is_no_such_section(planted_model):
    given = Given(associations=None)
    text = page_of(content_of(planted_model.fitted_, planted_model.report_, given))
    assert "What else differs" not in text


def test_further_columns_of_another_model_are_refused(planted_model, associations):
    model, report = planted_model.fitted_, planted_model.report_
    with pytest.raises(ValueError, match="describes 250 entities in"):
        content_of(model, report, Given(associations=associations))
    with pytest.raises(TypeError, match="associations is of type dict"):
        content_of(model, report, Given(associations={}))


def test_columns_that_cannot_be_compared_are_said_on_the_page(planted_model):
    model = planted_model
    table = {"one": np.ones(90), "days": np.arange(90.0), "died": np.zeros(90)}
    found = model.associate(table, time="days", event="died")
    assert verdict_on(found).endswith("None of them could be compared.")
    content = content_of(model.fitted_, model.report_, Given(associations=found))
    section = associations_section(content)
    assert "Not compared: no event occurred." in section
    assert "not reached" in section


@pytest.mark.parametrize("times", [np.full(90, np.nan), np.zeros(90)])
def test_survival_without_times_has_a_page_and_a_picture(planted_model, times):
    model = planted_model
    found = model.associate({"days": times, "died": np.ones(90)}, time="days", event="died")
    text = page_of(content_of(model.fitted_, model.report_, Given(associations=found)))
    assert "Not compared: " in text
    assert ('id="survival"' in text) == bool(np.isfinite(times).any())
    assert "not compared" in draw_survival(found).axes[0].get_title()


def test_many_times_are_thinned_and_that_is_said(planted_model, monkeypatch):
    model = planted_model
    found = model.associate(
        {"days": np.arange(90.0), "died": np.arange(90) % 2}, time="days", event="died"
    )
    monkeypatch.setattr("rmgl.page.associations.DRAWN_TIMES", 10)
    content = content_of(model.fitted_, model.report_, Given(associations=found))
    assert "Each curve is drawn at 10 of its times." in associations_section(content)


def test_times_at_risk_are_round():
    assert round_times(70.2).tolist() == [0, 20, 40, 60]
    assert round_times(5.0).tolist() == [0, 1, 2, 3, 4, 5]
    for last in (0.013, 1.0, 7.3, 99.0, 3650.0):
        assert 2 <= len(round_times(last)) <= 6
        assert round_times(last)[-1] <= last


def test_the_tree_of_resolutions_is_on_the_page(digits_shown):
    model = digits_shown[0]
    content = content_of(model.fitted_, model.report_, Given())
    section = number_section(content)
    levels = model.hierarchy_
    found = content.resolutions.layout
    assert section.count('class="frame"') == sum(level.n_clusters for level in levels)
    assert section.count("<path") == len(found.bands)
    for at, level in enumerate(levels):
        assert section.count(f'data-level="{at}"') == 2  # in the tree and in the table
        assert f"Show these {level.n_clusters} clusters on the map" in section
    assert section.count('class="level chosen"') == 1
    facts, arrays = data_of(page_of(content))
    assert facts["levels"] == [level.n_clusters for level in levels]
    for at, level in enumerate(levels):
        assert arrays[f"level_{at}"].tolist() == level.labels.tolist()


def test_a_level_without_known_stability_and_placed_entities(digits_shown):
    fitted = digits_shown[0].fitted_
    stability = np.full(fitted.number.candidates.size, np.nan)
    number = replace(fitted.number, stability=stability, parts=fitted.number.parts[:, 2:])
    model = replace(fitted, number=number, placed=np.array([0, 1]))
    content = content_of(model, digits_shown[0].report_, Given())
    assert "nan" not in tree(content.resolutions)
    assert "stability not measured" in tree(content.resolutions)
    assert "<td>not measured</td>" in number_section(content)
    assert "does not include 2 entities that were placed after the fit" in number_section(content)
    _, arrays = data_of(page_of(content))
    other = 1 if content.resolutions.chosen == 0 else 0
    assert arrays[f"level_{other}"][:2].tolist() == [65535, 65535]
