"""Survival curves of the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmgl.matrix import Floats
from rmgl.plots.drawing import MOST_ENTITIES, axes_of, color_of, new_figure, short, write_number
from rmgl.plots.models import fitted_model
from rmgl.results.associate import associate_clusters
from rmgl.results.associations import Associations
from rmgl.results.survival import Survival

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = ("-", "--", ":", "-.")
"""Line styles of curves, for readers who cannot distinguish their colors."""
DRAWN_TIMES = 2_000
"""Number of times at which a curve is drawn if there are many entities."""


def survival_data(
    model: Any, table: Any = None, time: str | None = None, event: str | None = None
) -> dict[int, dict[str, Floats]]:
    """Compute the Kaplan-Meier curve for each cluster, as the corner points of the step function.

    Parameters
    ----------
    model : fitted RMGL, or the result of its `associate`
    table, time, event : as for `RMGL.associate`
        A table and the names of its time and event columns. Not needed if `model` is the result of
        `associate`.

    Returns
    -------
    dict
        For each cluster, the arrays "time" and "survival", and the limits "lower" and "upper" of
        its 95% confidence band.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> clinic = {"months": [1, 3, 4, 7, 8, 9], "died": [1, 1, 1, 0, 1, 0]}
    >>> data = survival_data(model, clinic, time="months", event="died")
    >>> [len(curve["time"]) for curve in data.values()]
    [7, 7]
    """
    _, survival = survival_in(model, table, time, event)
    return {curve.cluster: curve.corners() for curve in survival.curves}


def survival_in(
    given: Any, table: Any, time: str | None, event: str | None
) -> tuple[Associations, Survival]:
    """Return the survival of the clusters, from a model and a table, or from earlier
    associations.
    """
    found = given
    if not isinstance(given, Associations):
        model = fitted_model(given)
        if table is None or time is None or event is None:
            raise ValueError(
                "a model alone has no survival data; also pass the table, time= and "
                "event=, as for associate, or pass the result of associate instead"
            )
        found = associate_clusters(model, table, time=time, event=event)
    if found.survival is None:
        raise ValueError("there are no survival data; call associate with time= and event=")
    return found, found.survival


def plot_survival(
    model: Any,
    table: Any = None,
    time: str | None = None,
    event: str | None = None,
    *,
    ax: Axes | None = None,
    band: bool = True,
) -> Axes:
    """Plot the Kaplan-Meier curve for each cluster: the share without an event.

    Ticks on a curve mark entities that were no longer observed (censored). With more than 100,000
    entities, curves are drawn at 2000 of their times, and the axis label says so.

    Parameters
    ----------
    model : fitted RMGL, or the result of its `associate`
    table, time, event : as for `survival_data`
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.
    band : bool, default True
        Whether to draw the 95% confidence bands.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> clinic = {"months": [1, 3, 4, 7, 8, 9], "died": [1, 1, 1, 0, 1, 0]}
    >>> ax = plot_survival(model, clinic, time="months", event="died")
    """
    associations, survival = survival_in(model, table, time, event)
    ax = axes_of(ax)
    many = associations.n_entities > MOST_ENTITIES
    for curve in survival.curves:
        drawn = curve.thinned(DRAWN_TIMES) if many else curve
        own, color = drawn.corners(), color_of(curve.cluster)
        name = f"cluster {curve.cluster} (n = {curve.n:,}, {curve.n_events:,} events)"
        line = LINES[curve.cluster % len(LINES)]
        ax.plot(own["time"], own["survival"], line, color=color, linewidth=1.8, label=name)
        if band:
            ax.fill_between(
                own["time"], own["lower"], own["upper"], color=color, alpha=0.12, linewidth=0
            )
        marks = drawn.censored
        ax.plot(marks, curve.survival_at(marks), "|", color=color, markersize=6)
        write_number(ax, own["time"][-1], own["survival"][-1], curve.cluster, edge=color)
    row = next(row for row in associations if row.kind == "survival")
    tested = f"log-rank p = {row.p_value:.2g}" if row.test else row.note
    said = f" (curves at {DRAWN_TIMES:,} of their times)" if many else ""
    ax.set(
        title=f"Survival of the clusters ({tested})",
        xlabel=f"{short(survival.time)}{said}",
        ylabel="share without an event",
        ylim=(0, 1.03),
    )
    ax.set_xlim(left=0)
    if survival.curves:
        ax.legend(frameon=False)
    return ax


def draw_survival(
    model: Any, table: Any = None, time: str | None = None, event: str | None = None
) -> Figure:
    """Draw the survival curves of the clusters in a new figure, without opening a window.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> clinic = {"months": [1, 3, 4, 7, 8, 9], "died": [1, 1, 1, 0, 1, 0]}
    >>> draw_survival(model, clinic, "months", "died").savefig("survival.png")  # doctest: +SKIP
    """
    figure = new_figure(6, 4.2)
    plot_survival(model, table, time, event, ax=figure.add_subplot())
    return figure
