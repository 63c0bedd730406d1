"""Sections of the page in plain HTML, which readers can see without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmgl.page.content import Content, shown_as
from rmgl.page.elements import Html, bar, element, joined, shortened, table
from rmgl.page.words import (
    LONGEST_NAME_SHOWN,
    about_agreement,
    about_confidence,
    about_places,
    choices,
    explain_alike,
    one_line,
    own_share,
    percent,
    plural,
    ranked,
    trust_word,
    verdict,
    warnings_of,
    what_trust_rests_on,
)
from rmgl.results.findings import listed
from rmgl.results.standing import agreement_of_views

DIRECTIONS = {
    "number": ("higher", "lower"),
    "share": ("more often", "less often"),
    "date": ("later", "earlier"),
}
"""Words for a positive and a negative effect, by how the values are displayed."""


def names_of(content: Content) -> list[str]:
    """Return the names of the views as displayed."""
    return [one_line(name) for name in content.model.view_names]


def verdict_section(content: Content) -> Html:
    """Return the section with the warnings, the verdict and the result."""
    report, word = content.report, trust_word(content.report)
    sentences = verdict(content.model, content.report, content.standing.doubtful.size)
    warnings = [element("li", warning) for warning in warnings_of(report)]
    heading = element("h3", f"{plural(len(warnings), 'warning')}")
    return joined(
        [
            element("div", heading, element("ul", *warnings), class_="warnings")
            if warnings
            else "",
            element(
                "p",
                element("span", f"Verdict: {word}", class_=f"badge {word}"),
                " ",
                sentences[0],
                class_="verdict",
            ),
            element("p", sentences[1], class_="verdict"),
        ]
    )


def tiles(content: Content) -> Html:
    """Return the four tiles that answer the first questions."""
    model, doubtful = content.model, content.standing.doubtful.size
    order, names = ranked(content.inside), names_of(content)
    chosen = (
        "the number that you requested"
        if model.number is None
        else (
            f"chosen from the data, confidence {model.number.confidence}; range "
            f"{model.number.range[0]} to {model.number.range[1]}"
        )
    )
    if content.report.n_clusters != model.n_clusters:
        chosen = f"{content.report.n_clusters} in the fit; some were refitted"
    most, why = "unknown", ""
    if explain_alike(content.inside):
        most = "all equally"
    elif order:
        most, why = names[order[0]], own_share(content.inside[order[0]])
    return joined(
        [
            tile("How many clusters?", f"{model.n_clusters}", chosen, "#number"),
            tile(
                "Can I trust them?",
                trust_word(content.report).capitalize(),
                what_trust_rests_on(content.report),
                "#verdict",
            ),
            tile("Which view matters most?", most, why, "#views"),
            tile(
                "Which assignments are doubtful?",
                f"{doubtful:,}",
                first_doubtful(content),
                "#explore",
            ),
        ]
    )


def first_doubtful(content: Content) -> str:
    """Return the number of entities and the names of the most doubtful ones."""
    first = content.standing.doubtful[:3].tolist()
    names = [
        str(entity) if content.ids is None else shortened(content.ids[entity], 20)
        for entity in first
    ]
    said = f"of {len(content.model.labels):,} entities"
    return f"{said}; most doubtful: {listed(names)}" if names else said


def tile(question: str, answer: str, detail: str, link: str) -> Html:
    """Return a tile with a question, its answer, and a link to the details."""
    parts = (
        element("span", question, class_="question"),
        element("strong", answer),
        element("span", detail, class_="detail"),
    )
    return element("a", *parts, class_="tile", href=link)


def clusters_table(content: Content) -> Html:
    """Return the table of clusters."""
    largest = max(cluster.size for cluster in content.clusters)
    rows = []
    for number, cluster in enumerate(content.clusters):
        button = element(
            "button",
            swatch(number),
            cluster_name(number),
            type="button",
            class_="link",
            data_cluster=number,
        )
        stable = float("nan") if cluster.stability is None else cluster.stability
        rows.append(
            [
                button,
                bar(cluster.size / largest, f"{cluster.size:,}"),
                bar(cluster.cohesion, percent(cluster.cohesion)),
                bar(stable, "not measured" if cluster.stability is None else percent(stable)),
                supporting(content, number),
                distinguishing(content, number),
                element("td", "", class_="number chosen", data_chosen_cluster=number),
            ]
        )
    titles = (
        "Cluster",
        "Entities",
        "Cohesion",
        "Recovered",
        "Views that separate it",
        "Most distinctive feature",
        "Selected",
    )
    return table(
        titles,
        rows,
        "All clusters. Select one to see the features that distinguish it.",
        class_="cards",
        id="cluster-table",
    )


def cluster_name(number: int) -> Html:
    """Return the name of a cluster, which readers of the page can change."""
    return element("span", f"Cluster {number}", data_name=number)


def swatch(cluster: int) -> Html:
    return element("span", class_="swatch", data_swatch=cluster, aria_hidden="true")


def supporting(content: Content, number: int) -> str:
    """Return the views that separate a cluster from the others."""
    names, found = names_of(content), content.clusters[number].separated_by
    if len(found) == len(names) > 1:
        return f"all {len(names)}"
    if len(names) > 3 and len(found) == len(names) - 1:
        missing = next(view for view in range(len(names)) if view not in found)
        return f"all but {names[missing]}"
    return listed([names[view] for view in found], "none alone")


def distinguishing(content: Content, number: int) -> str:
    """Return the feature with the largest effect."""
    table = None if content.explanation is None else content.explanation.of_cluster(number)
    if content.explanation is None or table is None or not len(table):
        return ""
    if np.isnan(table.effect_size[0]):
        return ""
    row = int(np.flatnonzero(content.explanation.cluster == number)[0])
    more, less = DIRECTIONS[shown_as(content, row)]
    direction = more if table.effect_size[0] > 0 else less
    view = (
        f" ({shortened(table.view[0], LONGEST_NAME_SHOWN)})"
        if len(content.model.view_names) > 1
        else ""
    )
    return f"{direction} {shortened(table.feature[0], LONGEST_NAME_SHOWN)}{view}"


def views_table(content: Content) -> Html:
    """Return the table of views."""
    names = names_of(content)
    only = [
        [
            number
            for number, cluster in enumerate(content.clusters)
            if cluster.separated_by == [view]
        ]
        for view in range(len(names))
    ]
    rows = []
    for view, report in enumerate(content.report.views):
        inside = content.inside[view]
        rough = float("nan") if report.roughness is None else report.roughness
        rows.append(
            [
                names[view],
                bar(report.weight, percent(report.weight)),
                bar(rough, "not measured" if report.roughness is None else f"{rough:.2f}"),
                bar(inside.found, f"{percent(inside.found)} (by chance {percent(inside.chance)})")
                if inside.leaves_room
                else bar(float("nan"), "unknown"),
                element("td", f"{report.edges_per_node:.1f}", class_="number"),
                element("td", f"{report.n_missing + report.n_empty:,}", class_="number"),
                only_these(only[view]) if len(names) > 1 else "",
                element("td", "", class_="number chosen", data_chosen_view=view),
            ]
        )
    order = np.argsort([-report.weight for report in content.report.views], kind="stable")
    titles = (
        "View",
        "Weight",
        "Roughness",
        "Nearest neighbors in the same cluster",
        "Edges per entity",
        "Missing entities",
        "Only this view separates",
        "Agreement for selection",
    )
    caption = (
        "The views, largest weight first. Roughness is 0 if neighbors in the view have the same "
        "position in the common embedding, and 1 if they are unrelated. The nearest neighbors "
        "of an entity are the 12 entities that are closest to it in the view, before anything "
        'is learned. "By chance" is the share expected if clusters were assigned at random. A '
        "view suggests the most common cluster among these neighbors, and agrees with the "
        "assignment of an entity if it suggests the entity's cluster."
    )
    return table(titles, [rows[view] for view in order], caption, class_="cards")


def only_these(clusters: Sequence[int]) -> Html:
    """Return the names of clusters."""
    return Html(", ".join(cluster_name(number) for number in clusters) or "none")


def agreement_table(content: Content) -> Html:
    """Return the table of how often two views name the same cluster."""
    names = names_of(content)
    if len(names) < 2:
        return Html("")
    of_views = [
        shares
        for shares, layer in zip(content.standing.layers, content.model.layers, strict=True)
        if layer.role == "view"
    ]
    matrix, chance = agreement_of_views(of_views)
    rows = [
        [name, *map(agreement_cell, row, by_chance)]
        for name, row, by_chance in zip(names, matrix, chance, strict=True)
    ]
    caption = (
        "Agreement between views: for each pair of views, the share of entities for which both "
        "views suggest the same cluster. The share expected by chance is in parentheses."
    )
    return table(["", *names], rows, caption, class_="matrix")


def agreement_cell(value: float, chance: float) -> Html:
    """Return the table cell with the agreement of two views, and the one expected by chance."""
    return element(
        "td",
        f"{percent(value)} ({percent(chance)})",
        class_="cell",
        style=f"--share:{0 if value != value else value:.3f}",
    )


def layer_pictures(content: Content) -> Html:
    """Return placeholders for the figures of the layers, which the page draws."""
    pictures = []
    for at, layer in enumerate(content.model.layers):
        name = one_line(layer.name)
        text = (
            f"Layer {name}: edge weight between entities ordered by cluster. Blocks on "
            "the diagonal are clusters."
        )
        canvas = element("canvas", width=64, height=64, data_block=at, role="img", aria_label=text)
        pictures.append(element("figure", canvas, element("figcaption", name)))
    return joined(pictures)


def certificates(content: Content) -> Html:
    """Return the table of certificates."""
    rows = []
    for layer in content.model.layers:
        kind = {
            "view": "one view",
            "consensus": "the concatenated views",
            "neighbors": "not learned: nearest neighbors",
        }[layer.role]
        exact = (
            "not learned, so nothing to prove"
            if layer.given
            else "yes"
            if layer.exact
            else f"no: {layer.doubt}"
        )
        proof = ["-", "-"] if layer.given else [f"{layer.kkt_residual:.1e}", f"{layer.gap:.1e}"]
        rows.append([one_line(layer.name), kind, f"{layer.n_edges:,}", exact, *proof, layer.status])
    titles = (
        "Layer",
        "Learned from",
        "Edges",
        "Exact over all pairs",
        "KKT residual",
        "Relative gap",
        "Status",
    )
    return table(titles, rows, "The certificate of each layer", class_="cards")


def choices_list(content: Content) -> Html:
    """Return the list of choices and the reasons for them."""
    return element("ul", *(element("li", line) for line in choices(content.report)))


def how_to_read(content: Content) -> Html:
    """Return notes on how to read the page, including how it shows large data."""
    n, shown = len(content.model.labels), content.shown
    said = [about_places(n, content.model.n_clusters)]
    if content.sampled:
        said.append(
            f"There are too many entities ({n:,}) to draw each one. The background shows "
            "their density, in the color of the most common cluster at each place. The "
            f"points are a sample of {shown.n_points:,} entities that includes the most "
            "doubtful ones."
        )
    if content.n_spread:
        said.append(
            "Clusters whose members are at nearly the same place in the embedding are drawn "
            "as disks to make every point visible."
        )
    said += [about_confidence(), about_agreement(content.standing.agreement_by_chance)]
    if not shown.complete:
        most = (
            "neighbor with the largest weight"
            if shown.most_neighbors == 1
            else f"{shown.most_neighbors} neighbors with the largest weights"
        )
        said.append(f"For each entity and layer, the page contains the {most}.")
    return joined(element("p", sentence, class_="note") for sentence in said)
