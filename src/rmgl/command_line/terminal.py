"""Print errors and notes from commands on one line each, and handle signals during loading."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import click

from rmgl.extras import not_installed

REFUSED = (ValueError, TypeError, MemoryError, OSError)
"""Exceptions that bad input raises."""


class BadInput(click.ClickException):
    """An error that ends the command with one line and exit code 2."""

    exit_code = 2


@contextmanager
def in_one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds into a `BadInput`."""
    try:
        yield
    except kinds as error:
        raise BadInput(" ".join(str(error).split())) from error


@contextmanager
def loading() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process at once (`rmgl.__main__.StopSignals` explains why)."""
    signals = click.get_current_context().obj
    if signals is not None:
        signals.at_work = False
    yield
    if signals is not None:
        signals.at_work = True


class Notes(logging.Handler):
    """Handler that prints each log message on one line of standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"note: {record.getMessage()}", err=True)


@contextmanager
def notes_shown() -> Iterator[None]:
    """Print the messages that the package logs at level INFO or above."""
    logger, notes = logging.getLogger("rmgl"), Notes()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.setLevel(level)


def pictures_possible() -> bool:
    """Return whether matplotlib is installed. Print a warning if not."""
    return is_installed("matplotlib", "no figures are written because ", "they need")


def page_possible() -> bool:
    """Return whether Bokeh is installed. Print a warning if not."""
    return is_installed("bokeh", "report.html is not written, because ", "it needs")


def is_installed(package: str, effect: str, need: str) -> bool:
    """Return whether a package is installed. Print a warning about the effect if not."""
    if find_spec(package) is not None:
        return True
    click.echo(f"warning: {effect}{not_installed(need, package)}", err=True)
    return False
