"""Entry point of `rmgl` and `python -m rmgl`: every error is one line on standard error."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    import click

    from rmgl.cli import cli

    try:
        code = cli.main(arguments, prog_name="rmgl", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"rmgl: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("rmgl: stopped", err=True)
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
