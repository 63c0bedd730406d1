"""Thousands of edits of single arrays in model files, checkpoints and sparse input, in child
processes: no death, no hang, no odd error.
"""

import os
import subprocess
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz import array_edits

pytestmark = pytest.mark.extended
QUICK = 150
MANY = int(os.environ.get("RMGL_FUZZ_EDITS", 6000))
MOST_SECONDS = 600.0  # only so that an edit that hangs ends


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("material")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array_edits.make_material(folder)
    return folder


def run_edits(material, first, stop):
    """What came of every edit; a child that dies or hangs is replaced by one that begins after the
    edit it died of.
    """
    outcomes = {}
    while first < stop:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.array_edits", str(material), str(first), str(stop)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            last = follow(child, outcomes)
        finally:
            child.kill()
        if child.wait() == 0:
            break
        assert last is not None, child.stderr.read()
        outcomes[last] = f"crashed with code {child.returncode}"
        first = last + 1
    return outcomes


def follow(child, outcomes):
    """Read the lines of a child; the number of the edit that it was at when it ended."""
    last = None
    alarm = threading.Timer(MOST_SECONDS, child.kill)
    alarm.start()
    for line in child.stdout:
        number, _, told = line.partition(" ")
        last = int(number)
        if told.strip() == "begins":
            alarm.cancel()
            alarm = threading.Timer(MOST_SECONDS, child.kill)
            alarm.start()
        else:
            outcomes[last] = told.strip()
    alarm.cancel()
    return last


def assert_unbroken(outcomes, count):
    kinds = Counter(told.split(" ", 1)[0] for told in outcomes.values())
    print(
        f"{count} edits of arrays: "
        + ", ".join(
            f"{kinds[kind]} {kind}" for kind in ("refused", "right", "changed", "failed", "crashed")
        )
    )
    bad = {
        number: told for number, told in outcomes.items() if told.startswith(("failed", "crashed"))
    }
    print(*(f"{number}: {told}" for number, told in bad.items()), sep="\n")
    assert not bad
    assert len(outcomes) == count
    assert kinds["refused"] > 0.25 * count  # not everything is let through,
    assert kinds["right"] > 0.05 * count  # and not everything is refused


def test_a_few_edits(material):
    assert_unbroken(run_edits(material, 0, QUICK), QUICK)


@pytest.mark.fuzz
@pytest.mark.timeout(36000)
def test_thousands_of_edits(material):
    assert MANY >= 5000 or "RMGL_FUZZ_EDITS" in os.environ
    assert_unbroken(run_edits(material, QUICK, QUICK + MANY), MANY)
