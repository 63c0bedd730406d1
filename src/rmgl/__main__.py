"""Entry point of `rmgl` and `python -m rmgl`: every error is one line on standard error."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Stops:
    """Ctrl-C and SIGTERM while the command runs, as a context: they end it with exit code 128 + the number of the signal (130, 143).

    While `at_work` they raise a KeyboardInterrupt, so that whatever is half written is removed. Before, while modules are loaded, the
    process ends at once: nothing is open, and an exception might be lost in somebody's module. A signal that the caller handles or
    ignores is left to it.
    """

    def __init__(self) -> None:
        self.at_work = False
        self.received: int | None = None
        self.previous: dict[int, Any] = {}

    def __enter__(self) -> Stops:
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
    with Stops() as stops:
        import click

        from rmgl.cli import cli

        try:
            stops.at_work = True
            code = cli.main(arguments, prog_name="rmgl", standalone_mode=False)
        except BaseException as error:
            if stops.received is not None or isinstance(error, click.Abort | KeyboardInterrupt):
                click.echo("rmgl: stopped", err=True)
                sys.exit(128 + (stops.received or signal.SIGINT))
            if isinstance(error, click.exceptions.NoArgsIsHelpError):
                error.show()
                sys.exit(2)
            if isinstance(error, click.ClickException):
                click.echo(f"rmgl: {error.format_message()}", err=True)
                sys.exit(error.exit_code)
            raise
        finally:
            stops.at_work = False
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
