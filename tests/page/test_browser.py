"""The page in a real browser, without a network: it opens, and pictures and tables follow one
selection.
"""

import csv
import os
import re
import shutil

import numpy as np
import pytest

from rmgl.page import content, shown
from rmgl.results.explain import explain_clusters
from rmgl.results.feature_names import check_feature_names
from tests.page.conftest import HOSTILE
from tests.processes import HANGING

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install playwright"
)
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason="needs a browser: apt-get install chromium, or another one of that name on the PATH",
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        # Chromium refuses to run as root otherwise
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        started = running.chromium.launch(
            executable_path=BROWSER, args=sandbox, timeout=1000 * HANGING
        )
        yield started
        started.close()


def is_trouble(message):
    """Errors, and warnings of Bokeh; browsers also give hints on speed."""
    return message.type == "error" or (message.type == "warning" and "bokeh" in message.text)


def opened(browser, path, width=1280, scheme="light"):
    """The page in a window of its own, which notes errors and requests."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        offline=True,
        accept_downloads=True,
    )
    context.set_default_timeout(1000 * HANGING)
    window = context.new_page()
    window.troubles = []
    window.on(
        "console",
        lambda message: window.troubles.append(message.text) if is_trouble(message) else None,
    )
    window.on("pageerror", lambda error: window.troubles.append(str(error)))
    window.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:"))
            else window.troubles.append(request.url)
        ),
    )
    window.goto(path.as_uri())
    window.wait_for_selector(":root[data-ready]")
    return window


@pytest.fixture(scope="module")
def window(browser, page):
    """One window for all tests that select something; each begins with nothing selected."""
    return opened(browser, page)


@pytest.fixture(autouse=True)
def nothing_selected(request):
    if "window" in request.fixturenames:
        window = request.getfixturevalue("window")
        window.click("#clear")


def rows(window, place):
    """The names in the first column of a table."""
    return window.locator(f"{place} tbody th").all_inner_texts()


def is_at(window, at, other):
    """Whether two points are drawn at nearly the same place, so that a click cannot tell them
    apart.
    """
    first, second = window.evaluate(f"[rmgl.placeOf({at}), rmgl.placeOf({other})]")
    return abs(first[0] - second[0]) + abs(first[1] - second[1]) < 2


def selection(window):
    return window.evaluate("Array.from(rmgl.source.selected.indices)")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "dark"), pytest.param(390, "light", marks=pytest.mark.extended)]
)
def test_it_opens_without_trouble_and_fits_the_window(browser, page, digits_shown, width, scheme):
    window = opened(browser, page, width, scheme)
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        f"{digits_shown[0].n_clusters_} clusters of 250 entities in 3 views"
        in window.inner_text("h1")
    )
    assert window.inner_text("#verdict .badge").startswith("Verdict:")
    assert window.locator(".tile").count() == 4
    assert window.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 27)" if scheme == "dark" else "rgb(245, 246, 248)"
    )
    window.click("#theme")
    assert window.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(245, 246, 248)" if scheme == "dark" else "rgb(20, 23, 27)"
    )
    assert window.troubles == []
    window.context.close()


@pytest.mark.extended
def test_a_click_selects_the_same_entity_everywhere(window, digits_shown):
    window.locator("#scatter").scroll_into_view_if_needed()
    window.mouse.click(*window.evaluate("rmgl.placeOf(100)"))
    window.wait_for_selector("#members h3:has-text('1 selected entity')")
    (at,) = selection(window)
    assert is_at(window, at, 100)
    assert rows(window, "#members") == [f"digit-{at}"]
    assert f"Entity digit-{at}" in window.inner_text("#entity")
    captions = window.locator("#entity caption").all_inner_texts()
    assert captions[0].startswith(
        "For each view alone, the cluster of most of the entity's nearest neighbors"
    )
    assert "neighbors in the learned layers" in captions[1]
    cluster = digits_shown[0].labels_[at]
    assert window.inner_text(f"[data-chosen-cluster='{cluster}']") == "1"
    assert f"Cluster {cluster}:" in window.inner_text("#cluster h3")
    shown_neighbors = window.locator("#entity .scroll").nth(1).locator("tbody th").all_inner_texts()
    neighbors = np.unique(
        np.concatenate([layer.adjacency[[at]].indices for layer in digits_shown[0].layers_])
    )
    assert len(shown_neighbors) == min(40, neighbors.size)
    window.locator("#entity .scroll").nth(1).locator("tbody button").first.click()
    assert selection(window) != [at]
    assert window.troubles == []


@pytest.mark.extended
def test_search_finds_an_id_or_says_that_there_is_none(window):
    window.fill("#query", "digit-42")
    window.press("#query", "Enter")
    assert selection(window) == [42]
    window.fill("#query", "digit-4")
    window.press("#query", "Enter")
    assert selection(window) == [4]
    window.fill("#query", "GIT-24")
    window.press("#query", "Enter")
    assert selection(window) == [24, *range(240, 250)]
    window.fill("#query", HOSTILE)
    window.press("#query", "Enter")
    assert selection(window) == [7]
    window.fill("#query", "nobody")
    window.press("#query", "Enter")
    assert 'No id contains "nobody"' in window.inner_text("#said")


def take(window, wanted):
    """Make a tool of the picture the active one for dragging."""
    window.evaluate(
        """(wanted) => {
            const drags = ["PanTool", "LassoSelectTool", "BoxZoomTool"];
            for (const tool of rmgl.plot.toolbar.tools)
                if (drags.includes(tool.type)) tool.active = tool.type === wanted;
        }""",
        wanted,
    )


def drag(window, corners):
    window.mouse.move(*corners[0])
    window.mouse.down()
    for corner in corners[1:]:
        window.mouse.move(*corner, steps=8)
    window.mouse.up()


@pytest.mark.extended
def test_the_lasso_selects_what_is_inside(window):
    take(window, "LassoSelectTool")
    window.locator("#scatter").scroll_into_view_if_needed()
    places = np.array(window.evaluate("Array.from({length: 250}, (_, at) => rmgl.placeOf(at))"))
    center = places[100]
    corners = [
        center + 60 * np.array(corner) for corner in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))
    ]
    drag(window, corners)
    window.wait_for_selector("#members h3:has-text('selected')")
    inside = np.flatnonzero((np.abs(places - center) < 58).all(axis=1))
    outside = np.flatnonzero((np.abs(places - center) > 62).any(axis=1))
    found = selection(window)
    assert {*inside.tolist()} <= {*found}
    assert not {*outside.tolist()} & {*found}
    assert f"{len(found)} selected" in window.inner_text("#members h3")
    assert len(rows(window, "#members")) == min(200, len(found))
    assert window.troubles == []


@pytest.mark.extended
@pytest.mark.parametrize("beside", ["toolbar", "left", "right", "bottom"])
def test_a_lasso_begun_beside_the_points_selects_them(window, beside):
    take(window, "LassoSelectTool")
    window.locator("#scatter").scroll_into_view_if_needed()
    box = window.locator("#scatter").bounding_box()
    left, top = box["x"], box["y"]
    right, bottom = left + box["width"], top + box["height"]
    begin = {
        "toolbar": (left + 60, top + 12),
        "left": (left + 3, top + 200),
        "right": (right - 3, top + 200),
        "bottom": (left + 200, bottom - 3),
    }[beside]
    around = [(left + 4, top + 34), (right - 4, top + 34), (right - 4, bottom - 4)]
    drag(window, [begin, *around, (left + 4, bottom - 4), around[0], begin])
    window.wait_for_selector("#members h3:has-text('selected')")
    assert len(selection(window)) > 225
    assert window.troubles == []
    take(window, "BoxZoomTool")
    drag(window, [begin, ((left + right) / 2, (top + bottom) / 2)])
    assert window.troubles == []
    window.evaluate("rmgl.plot.reset.emit()")


@pytest.mark.extended
def test_a_cluster_shows_its_features_and_members(window, digits_shown):
    window.locator("[data-cluster='1']").click()
    assert len(selection(window)) == np.count_nonzero(digits_shown[0].labels_ == 1)
    assert "Cluster 1: what distinguishes it" in window.inner_text("#cluster h3 >> nth=0")
    assert window.locator("#cluster svg.histogram").count() == 8
    window.locator("#cluster select").select_option("mor")
    assert window.locator("#cluster svg.histogram").count() == 5
    assert re.fullmatch(r"\d+%, by chance \d+%", window.inner_text("[data-chosen-view='2']"))


def shown_numbers(window):
    """The numbers of clusters that are written in the map, and where."""
    names = window.evaluate("rmgl.names.data")
    return {
        int(text): place for text, *place in zip(names["text"], names["x"], names["y"], strict=True)
    }


@pytest.mark.extended
@pytest.mark.parametrize("by", ["tree", "table", "key"])
def test_a_click_on_a_level_shows_its_labels_in_the_map(window, digits_shown, by):
    model = digits_shown[0]
    coarsest, *_, finest = range(len(model.hierarchy_))
    for at in (coarsest, finest):
        if by == "tree":
            window.locator(f"#tree [data-level='{at}'] .row").click(position={"x": 5, "y": 5})
        elif by == "table":
            window.locator(f"#level-table [data-level='{at}']").click()
        else:
            window.locator(f"#tree [data-level='{at}']").press("Enter")
        level = model.hierarchy_[at]
        colors = np.array(window.evaluate("Array.from(rmgl.source.data.color)"))
        pairs = {*zip(colors.tolist(), level.labels.tolist(), strict=True)}
        assert len(pairs) == level.n_clusters  # one color for each label
        assert len({*colors.tolist()}) == min(30, level.n_clusters)
        numbers = shown_numbers(window)
        assert sorted(numbers) == list(range(level.n_clusters))
        x = np.array(window.evaluate("Array.from(rmgl.source.data.x)"))
        own = np.sort(x[level.labels == 1])
        assert numbers[1][0] == own[own.size // 2]
        pressed = window.locator("#number [aria-pressed='true']")
        assert [pressed.nth(place).get_attribute("data-level") for place in range(2)] == [
            str(at)
        ] * 2
        assert f"The map shows {level.n_clusters} clusters" in window.inner_text("#said")
        assert f"denote the {level.n_clusters} clusters" in window.inner_text("#legend")
        assert (
            window.evaluate("document.getElementById('explore').getBoundingClientRect().top") < 100
        )
    window.locator("#color").select_option("0")
    assert sorted(shown_numbers(window)) == list(range(model.n_clusters_))
    assert window.locator("#number [aria-pressed='true']").count() == 0
    assert window.troubles == []


@pytest.mark.extended
def test_the_download_is_a_table_of_the_selection(window, tmp_path):
    window.evaluate("rmgl.select([9, 7, 3])")
    with window.expect_download() as download:
        window.locator("#members button", has_text="Download CSV").click()
    download.value.save_as(tmp_path / "entities.csv")
    with (tmp_path / "entities.csv").open(newline="", encoding="utf-8") as file:
        table = {row["row"]: row for row in csv.DictReader(file)}
    assert set(table) == {"3", "7", "9"}
    assert table["7"]["id"] == HOSTILE
    assert table["9"]["id"] == "'=1+1"  # a spreadsheet would take it for a formula
    assert 0 <= float(table["3"]["confidence"]) <= 1


@pytest.mark.extended
def test_every_choice_of_colors_and_hostile_names_are_shown_as_text(window):
    for place in ("#color > option", "#color optgroup > option:first-child"):
        for option in window.locator(place).all():
            window.locator("#color").select_option(option.get_attribute("value"))
    window.evaluate("rmgl.select([7])")
    assert HOSTILE in window.inner_text("#entity h3")
    window.evaluate("rmgl.select([8])")
    assert "x" * 100 in window.inner_text("#entity h3")
    window.locator("#scatter").scroll_into_view_if_needed()
    alone = next(
        at
        for at in range(10, 250)
        if not any(is_at(window, at, other) for other in range(250) if other != at)
    )
    window.evaluate(f"rmgl.facts.ids[{alone}] = rmgl.facts.ids[7]")
    window.mouse.move(*window.evaluate(f"rmgl.placeOf({alone})"))
    window.wait_for_selector("#tip:not([hidden])")
    assert window.locator("#tip strong").inner_text() == HOSTILE
    assert window.evaluate("window.hacked") is None
    assert window.evaluate("document.images.length") == 0
    assert window.locator("script").count() == 4
    assert window.evaluate("document.documentElement.scrollWidth") <= 1280
    assert window.troubles == []


@pytest.mark.extended
def test_further_columns_and_survival_are_shown(window, associations):
    section = window.locator("#associations")
    assert section.locator("h2").inner_text() == "What else differs between the clusters?"
    table = section.locator("table").first
    assert table.locator("tbody tr").count() == len(associations) == 5
    noise = table.locator("tbody tr", has_text="noise").inner_text()
    assert "Kruskal-Wallis" in noise
    assert "constant: '1' in all rows" in section.inner_text()
    curves = section.locator("table").nth(1).locator("tbody tr")
    assert curves.count() == len(associations.survival.curves)
    section.locator("#survival canvas").first.wait_for()
    drawn = "Bokeh.documents.map((d) => d.get_model_by_name('survival')).find((m) => m)"
    colors = f"{drawn}.renderers.filter((r) => r.glyph.type === 'Line').map((r) => r.glyph.line_color.value)"
    assert len(set(window.evaluate(colors))) == min(10, curves.count())


@pytest.mark.extended
def test_a_click_on_its_name_hides_a_survival_curve(window, associations):
    window.locator("#survival").scroll_into_view_if_needed()
    hidden = """() => {
        const plot = Bokeh.documents.map((d) => d.get_model_by_name("survival")).find((m) => m);
        return plot.renderers.filter((r) => !r.visible).map((r) => r.tags[0]);
    }"""
    assert window.evaluate(hidden) == []
    item = window.locator("#survival .bk-item").nth(1)
    item.click()
    window.wait_for_function(f"({hidden})().length > 0")
    second = associations.survival.curves[1].cluster
    assert window.evaluate(hidden) == [second] * 3
    item.click()
    window.wait_for_function(f"({hidden})().length === 0")
    assert window.troubles == []


def cells(window, place, column):
    return window.locator(f"{place} tbody tr td:nth-child({column})").all_inner_texts()


@pytest.mark.extended
def test_tables_sort_by_a_click_on_a_title(window):
    entities = window.locator("#cluster-table th button", has_text="Entities")
    entities.click()
    sizes = [int(text) for text in cells(window, "#cluster-table", 2)]
    assert sizes == sorted(sizes, reverse=True)
    assert len({*sizes}) > 1
    entities.click()
    assert [int(text) for text in cells(window, "#cluster-table", 2)] == sizes[::-1]
    window.locator("#cluster-table thead button", has_text="Cluster").click()
    names = rows(window, "#cluster-table")
    assert names == [f"Cluster {number}" for number in range(len(names))]
    window.locator("#cluster thead button", has_text="AUC").first.click()
    assert window.locator("#cluster thead button", has_text="Distribution").count() == 0
    areas = [float(text) for text in cells(window, "#cluster .cards", 6)]
    assert areas == sorted(areas, reverse=True)
    assert window.troubles == []


@pytest.mark.extended
@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["9", "1,200", "-3", ""], ["1,200", "9", "-3", ""]),
        (["< 1e-10", "0.05", "unknown", "0.0100"], ["0.05", "0.0100", "< 1e-10", "unknown"]),
        (["8%", "100% (by chance 9%)", "<1%"], ["100% (by chance 9%)", "8%", "<1%"]),
        (["V 0.2", "V 0.9", "V 0.11"], ["V 0.9", "V 0.2", "V 0.11"]),
        (["+2", "\u221e", "-\u221e"], ["\u221e", "+2", "-\u221e"]),
        (["gene 10", "Gene 9", "b"], ["b", "Gene 9", "gene 10"]),
        (["2024-02-01", "2023-12-31"], ["2023-12-31", "2024-02-01"]),
    ],
)
def test_cells_are_sorted_by_their_numbers_and_empty_ones_are_last(window, texts, order):
    found = window.evaluate(
        """(texts) => {
            const made = document.createElement("table"), body = made.createTBody();
            made.createTHead().insertRow().append(document.createElement("th"));
            made.tHead.rows[0].cells[0].textContent = "title";
            for (const text of texts) {
                const cell = body.insertRow().insertCell();
                cell.textContent = text;
                if (!/^gene|^b/i.test(text)) cell.className = "number";
            }
            makeSortable(made);
            made.querySelector("button").click();
            return [...body.rows].map((row) => row.textContent);
        }""",
        texts,
    )
    assert found == order


@pytest.mark.extended
def test_the_selection_is_compared_with_all_other_entities(window, digits_shown, given):
    model, views, _ = digits_shown
    window.evaluate("rmgl.select([3])")
    assert window.locator("#selection table").count() == 0
    chosen = np.random.default_rng(0).permutation(250)[:60]
    chosen = np.union1d(chosen, np.flatnonzero(model.labels_ == 2))
    window.evaluate("(list) => rmgl.select(list)", chosen.tolist())
    assert f"the {chosen.size} selected entities" in window.inner_text("#selection h3")
    labels = np.isin(np.arange(250), chosen).astype(np.intp)
    checked = model._views_again(views, None)
    names = check_feature_names(checked, given["feature_names"])
    table = explain_clusters(checked, labels, 2, names).of_cluster(1)
    shown = [float(text) for text in cells(window, "#selection", 3)]
    assert len(shown) == 8
    own = [view != "(additional column)" for view in cells(window, "#selection", 2)]
    top = [effect for effect, of_view in zip(shown, own, strict=True) if of_view]
    np.testing.assert_allclose(np.abs(top), np.abs(table.effect_size[: len(top)]), rtol=2e-3)
    areas = np.array(cells(window, "#selection", 6), dtype=float)[own]
    np.testing.assert_allclose(np.sort(areas), np.sort(table.auc[: len(top)]), rtol=2e-3)
    assert window.locator("#selection svg.histogram").count() == 8
    assert window.troubles == []


@pytest.mark.extended
def test_points_are_colored_by_a_feature(window, digits_shown):
    names = window.locator("#color option").all_inner_texts()
    window.locator("#color").select_option(str(names.index("shape 3")))
    colors = np.array(window.evaluate("Array.from(rmgl.source.data.color)"))
    values = digits_shown[1]["mor"][:, 3]
    low, high = np.quantile(values, [0.01, 0.99])
    assert len({*colors[values <= low]}) == len({*colors[values >= high]}) == 1
    assert len({*colors}) > 20
    assert {*colors[values <= low]} != {*colors[values >= high]}
    window.locator("#color").select_option("0")


@pytest.mark.extended
def test_histograms_have_the_color_of_their_cluster(window):
    window.locator("[data-cluster='1']").click()
    swatch = window.locator("#cluster-table [data-swatch='1']").first
    color = swatch.evaluate("(part) => getComputedStyle(part).backgroundColor")
    bar = window.locator("#cluster svg.histogram .inside").first
    assert bar.evaluate("(part) => getComputedStyle(part).fill") == color


@pytest.mark.extended
def test_names_of_clusters_are_kept_in_the_downloaded_page(browser, page, tmp_path):
    window = opened(browser, page)
    window.locator("[data-cluster='1']").click()
    for word in (HOSTILE[:40], "</script><b>"):
        window.fill("#naming input", word)
        window.press("#naming input", "Enter")
        assert word in window.inner_text("#cluster-table")
        assert word in window.evaluate("rmgl.names.data.text")
        assert word in window.inner_text("#survival .bk-item >> nth=1")
    with window.expect_download() as download:
        window.locator("#naming button", has_text="Download page").click()
    download.value.save_as(tmp_path / "named.html")
    again = opened(browser, tmp_path / "named.html")
    assert word in again.inner_text("#cluster-table")
    assert word in again.evaluate("rmgl.names.data.text")
    again.locator("[data-cluster='1']").click()
    assert again.inner_text("#cluster h3 >> nth=0").startswith(word)
    with again.expect_download() as download:
        again.locator("#members button", has_text="Download CSV").click()
    download.value.save_as(tmp_path / "entities.csv")
    with (tmp_path / "entities.csv").open(newline="", encoding="utf-8") as file:
        assert {row["cluster_name"] for row in csv.DictReader(file)} == {word}
    assert again.evaluate("window.hacked") is None
    assert window.troubles == again.troubles == []
    assert (tmp_path / "named.html").stat().st_size < 1.1 * page.stat().st_size
    window.context.close()
    again.context.close()


@pytest.mark.extended
def test_many_entities_are_a_density_and_a_sample(
    browser, digits_shown, given, tmp_path, monkeypatch
):
    monkeypatch.setattr(shown, "MOST_POINTS", 100)
    monkeypatch.setattr(content, "MOST_POINTS", 100)
    monkeypatch.setattr(shown, "MOST_SHOWN", 40)
    monkeypatch.setattr(content, "LISTED_OUTLIERS", 5)
    digits_shown[0].to_html(tmp_path / "many.html", **given)
    window = opened(browser, tmp_path / "many.html")
    assert "There are too many entities (250) to draw each one" in window.inner_text("#explore")
    assert window.evaluate("rmgl.facts.n_points") < 250 == window.evaluate("rmgl.facts.n_entities")
    window.evaluate("rmgl.select([3])")
    assert window.locator("#entity .scroll").nth(1).locator("tbody th").count() > 0
    assert window.troubles == []
    window.context.close()
