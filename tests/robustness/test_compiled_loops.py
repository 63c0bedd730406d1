"""The cache of compiled loops in new processes: damaged, without a folder, without room, with other
sources.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rmgl
from tests.processes import HANGING, python

pytestmark = pytest.mark.extended

CALL_A_LOOP = """
import numpy as np
from rmgl import kernels

pairs = np.zeros((2, 6), dtype=np.int32)
exact = np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0)
assert kernels.positive_entries(np.array([[1.0, -1.0, 2.0], [-1.0, 0.0, 3.0]]), np.arange(2), 5, *pairs, *exact) == 3
assert pairs[:, :3].tolist() == [[0, 0, 1], [5, 7, 7]]
statistics = kernels.positive_entries.stats
print("loaded" if sum(statistics.cache_hits.values()) else "compiled")
"""


def call_a_loop(folder):
    done = python(CALL_A_LOOP, environment={"NUMBA_CACHE_DIR": str(folder)})
    return done.stdout.strip(), done.stderr


def test_loops_are_loaded_from_disk(tmp_path):
    assert call_a_loop(tmp_path) == ("compiled", "")
    assert call_a_loop(tmp_path) == ("loaded", "")


def test_the_command_says_that_it_compiles_loops_the_first_time_alone(tmp_path):
    np.save(tmp_path / "view.npy", np.random.default_rng(0).normal(size=(30, 3)))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "loops")}
    said = []
    for turn in ("first", "second"):
        command = [
            sys.executable,
            "-m",
            "rmgl",
            "cluster",
            tmp_path / "view.npy",
            "-k",
            "2",
            "--no-plots",
            "-o",
            tmp_path / turn,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=HANGING, env=environment
        )
        said.append([line for line in done.stderr.splitlines() if "compil" in line])
    assert len(said[0]) == 1
    assert said[0][0].startswith(
        "note: compiling loops once, which takes a few seconds; later runs load them from "
    )
    assert said[1] == []


def test_no_folder_can_be_written(tmp_path):
    """Loops are compiled in memory, and one warning says which folders were tried and what to do."""
    package = tmp_path / "rmgl"
    shutil.copytree(
        Path(rmgl.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "kernels" / "__pycache__").write_text("not a folder")
    nowhere = os.devnull + "/nowhere"
    environment = {
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "HOME": nowhere,
    }
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "LOCALAPPDATA": nowhere}
    done = python(CALL_A_LOOP, environment=environment)
    assert done.stdout.strip() == "compiled"
    assert done.stderr.count("Warning") == 1
    assert (
        f"neither {nowhere} nor {package / 'kernels' / '__pycache__'} nor the user's cache "
        "folder is writable"
    ) in done.stderr
    assert "a few seconds" in done.stderr
    assert "NUMBA_CACHE_DIR to a writable folder" in done.stderr


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_files_that_were_cut_off_are_compiled_anew(tmp_path, kept):
    """As a machine leaves them that lost its power."""
    call_a_loop(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert files
    for path in files:
        contents = path.read_bytes()
        path.write_bytes(contents[: int(kept * len(contents))])
    found, errors = call_a_loop(tmp_path)
    assert found == "compiled"
    assert errors.count("Warning") == 1
    assert str(tmp_path) in errors
    assert "compiled again" in errors
    assert call_a_loop(tmp_path) == ("loaded", "")


@pytest.mark.skipif(os.name == "nt", reason="limits the size of files")
def test_a_disk_without_room_for_compiled_loops(tmp_path):
    limit = (
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
    )
    done = python(
        limit + CALL_A_LOOP,
        environment={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout.strip() == "compiled"
    assert done.stderr.count("Warning") == 1
    assert str(tmp_path) in done.stderr
    assert "free some space there" in done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_loops_are_compiled_anew_when_another_file_of_loops_changes(tmp_path):
    """Loops are compiled into one another, and the cache of numba looks at one file alone."""
    package = tmp_path / "rmgl"
    shutil.copytree(
        Path(rmgl.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    found = [python(CALL_A_LOOP, environment=environment).stdout.strip() for _ in range(2)]
    with open(package / "kernels" / "compiling.py", "a") as file:
        file.write("# changed\n")
    found += [python(CALL_A_LOOP, environment=environment).stdout.strip() for _ in range(2)]
    assert found == ["compiled", "loaded", "compiled", "loaded"]
