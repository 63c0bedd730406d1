"""How commands answer on a terminal: errors and notes of one line, and signals while they load."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

REFUSED = (ValueError, TypeError, MemoryError, OSError)
"""What bad input raises."""


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
    """Let Ctrl-C and SIGTERM end the process at once (`rmgl.__main__.StopSignals` says why)."""
    signals = click.get_current_context().obj
    if signals is not None:
        signals.at_work = False
    yield
    if signals is not None:
        signals.at_work = True


class Notes(logging.Handler):
    """Prints what is logged on standard error, one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"note: {record.getMessage()}", err=True)


@contextmanager
def notes_shown() -> Iterator[None]:
    """Print what the package logs at the level INFO or above."""
    logger, notes = logging.getLogger("rmgl"), Notes()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.setLevel(level)
