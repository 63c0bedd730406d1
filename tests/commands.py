"""The command line in this process, and what it wrote."""

import pandas as pd
import pytest

from rmgl.__main__ import main


def run(*arguments):
    """Exit code of one call."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


def cluster(*arguments):
    """Exit code of a call that looks for two clusters."""
    return run("cluster", *arguments, "-k", 2, "--no-plots", "--jobs", 1)


def refusal(capsys, *parts):
    """The one line on standard error, which holds all the parts."""
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, error
    for part in parts:
        assert part in lines[0], error
    return lines[0]


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def labels(folder):
    return pd.read_csv(folder / "labels.csv")
