"""Top of the page: title, name of the data, date, and table of contents."""

from __future__ import annotations

from datetime import date

from rmgl.page.content import Content
from rmgl.page.elements import Html, element
from rmgl.page.words import plural


def heading(content: Content) -> str:
    """Return the title of the page."""
    model = content.model
    return (
        f"{plural(model.n_clusters, 'cluster')} of {len(model.labels):,} entities in "
        f"{plural(len(model.view_names), 'view')}"
    )


def page_title(content: Content) -> str:
    """Return the title of the browser window: the result, after the name of the data if there is
    one.
    """
    return f"{content.name}: {heading(content)}" if content.name else heading(content)


def about_data(content: Content, written: date) -> Html:
    """Return the name of the data and the date of the page."""
    day = element("time", written.isoformat(), datetime=written.isoformat())
    named = [element("b", content.name), ", "] if content.name else []
    return element("p", *named, "generated on ", day, class_="about")


def contents(content: Content) -> Html:
    """Return links to the sections of the page."""
    found = [
        ("#explore", "Entities"),
        ("#clusters", "Clusters"),
        ("#associations", "What else differs"),
        ("#views", "Views"),
        ("#number", "Number of clusters"),
        ("#how", "How it was found"),
    ]
    links = [
        element("li", element("a", title, href=place))
        for place, title in found
        if place != "#associations" or content.associations is not None
    ]
    return element("ul", *links)
