"""What an error says where an optional package is missing."""

from __future__ import annotations


def not_installed(needs: str, package: str, install: str | None = None) -> str:
    """The sentence about a package that is missing, and the command that installs it: the name of
    the package, if `install` is not given.

    The command names the package and not an extra of rmgl, so that it works for any way in which
    rmgl was installed.

    Examples
    --------
    >>> not_installed("plots need", "matplotlib")
    'plots need matplotlib, which is not installed: pip install matplotlib'
    """
    return f"{needs} {package}, which is not installed: pip install {install or package}"
