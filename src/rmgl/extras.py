"""Error messages about optional packages that are not installed."""

from __future__ import annotations


def not_installed(needs: str, package: str, install: str | None = None) -> str:
    """Return a sentence about a missing package, with the command to install it. The command
    installs `install` (by default, the package itself).

    The command names the package rather than an rmgl extra, so it works however rmgl was installed.

    Examples
    --------
    >>> not_installed("plots need", "matplotlib")
    'plots need matplotlib, which is not installed: pip install matplotlib'
    """
    return f"{needs} {package}, which is not installed: pip install {install or package}"
