"""Entry point for `rmgl` and `python -m rmgl`. Each error is one line on standard error."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class StopSignals:
    """Context manager that makes Ctrl-C and SIGTERM end the command with exit code 128 + the signal
    number (130, 143).

    While `at_work` is true, these signals raise a KeyboardInterrupt, so that unfinished files are
    removed. Before that, while modules are being imported, the process exits at once, because no
    file is open and an imported module might swallow the exception. Signals that the caller already
    handles or ignores are left alone.
    """

    def __init__(self) -> None:
        self.at_work = False
        self.received: int | None = None
        self.previous: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number, default in DEFAULTS.items():
                if signal.getsignal(number) is default:
                    self.previous[number] = signal.signal(number, self)
        return self

    def __exit__(self, *error: Any) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        if not self.at_work:
            os.write(2, b"rmgl: stopped\n")
            os._exit(128 + number)
        raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> None:
    """Run the command-line tool."""
    with StopSignals() as signals:
        import click

        from rmgl.command_line.cli import cli

        try:
            signals.at_work = True
            code = cli.main(arguments, prog_name="rmgl", standalone_mode=False, obj=signals)
        except BaseException as error:
            if signals.received is not None or isinstance(error, click.Abort | KeyboardInterrupt):
                click.echo("rmgl: stopped", err=True)
                sys.exit(128 + (signals.received or signal.SIGINT))
            if isinstance(error, click.exceptions.NoArgsIsHelpError):
                error.show()
                sys.exit(2)
            if isinstance(error, click.ClickException):
                click.echo(f"rmgl: {error.format_message()}", err=True)
                sys.exit(error.exit_code)
            raise
        finally:
            signals.at_work = False
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
