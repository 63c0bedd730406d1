"""Hostile surroundings: folders that cannot be written, damaged caches, forks, limits of memory, many threads."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import rmgl
from rmgl.kernels.cache import CheckedFiles, Damaged, keep_on_disk
from rmgl.new_rows import near

LONG = 240  # seconds: only against hangs


def python(code, *, environment=None, timeout=LONG, check=True):
    """Run some code in a process of its own, in which all warnings are shown."""
    command = [sys.executable, "-W", "always::UserWarning", "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=check, timeout=timeout, env={**os.environ, **(environment or {})})


# The cache of compiled loops

CALL_A_LOOP = """
import numpy as np
from rmgl import kernels

counts = np.empty(2, dtype=np.int64)
assert kernels.count_positive(np.array([[1.0, -1.0, 2.0], [-1.0, 0.0, 3.0]]), counts) == 3
assert counts.tolist() == [2, 1]
statistics = kernels.count_positive.stats
print("loaded" if sum(statistics.cache_hits.values()) else "compiled")
"""


def call_a_loop(folder):
    done = python(CALL_A_LOOP, environment={"NUMBA_CACHE_DIR": str(folder)})
    return done.stdout.strip(), done.stderr


def test_loops_are_loaded_from_disk(tmp_path):
    assert call_a_loop(tmp_path) == ("compiled", "")
    assert call_a_loop(tmp_path) == ("loaded", "")


def test_no_folder_can_be_written(tmp_path):
    """Loops are compiled in memory, and one warning says which folders were tried and what to do."""
    package = tmp_path / "rmgl"
    shutil.copytree(Path(rmgl.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "kernels" / "__pycache__").write_text("not a folder")
    nowhere = os.devnull + "/nowhere"
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": nowhere, "XDG_CACHE_HOME": nowhere, "HOME": nowhere}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "LOCALAPPDATA": nowhere}
    done = python(CALL_A_LOOP, environment=environment)
    assert done.stdout.strip() == "compiled"
    assert done.stderr.count("Warning") == 1
    assert f"neither {nowhere} nor {package / 'kernels' / '__pycache__'} nor the user's cache folder can be written" in done.stderr
    assert "some seconds" in done.stderr
    assert "NUMBA_CACHE_DIR to a folder that can be written" in done.stderr


@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
def test_damaged_files_are_compiled_anew(tmp_path, kept):
    """Empty files, half of them, and one changed bit of the machine code, which would be executed as it is."""
    call_a_loop(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert files
    for path in files:
        contents = path.read_bytes()
        middle = len(contents) // 2
        changed = contents[:middle] + bytes([contents[middle] ^ 1]) + contents[middle + 1 :]
        path.write_bytes(changed[: int(kept * len(contents))])
    found, errors = call_a_loop(tmp_path)
    assert found == "compiled"
    assert errors.count("Warning") == 1
    assert str(tmp_path) in errors
    assert "compiled anew" in errors
    assert call_a_loop(tmp_path) == ("loaded", "")


def test_no_changed_byte_of_a_compiled_loop_goes_unseen(tmp_path):
    files = CheckedFiles(tmp_path, "loop", ("sources", 1))
    files.save("key", [1.0, "machine code"])
    assert files.load("key") == [1.0, "machine code"]
    assert files.load("another key") is None
    assert CheckedFiles(tmp_path, "loop", ("sources", 2)).load("key") is None
    path = files.path("key")
    contents = path.read_bytes()
    for place in range(len(contents)):
        path.write_bytes(contents[:place] + bytes([contents[place] ^ 4]) + contents[place + 1 :])
        if place < 32:  # of unknown origin
            assert files.load("key") is None
        else:
            with pytest.raises(Damaged, match=path.name):
                files.load("key")
        path.write_bytes(contents[:place])
        with pytest.raises(Damaged, match=path.name):
            files.load("key")
    files.save("key", 2.0)
    assert files.load("key") == 2.0
    files.flush()
    assert not list(tmp_path.iterdir())


def test_a_cache_of_another_build_is_used_as_it_is():
    """A later numba may keep its files in another way."""
    dispatcher = SimpleNamespace(_cache=None)
    dispatcher.enable_caching = lambda: setattr(dispatcher, "_cache", "of another build")
    keep_on_disk(dispatcher)
    assert dispatcher._cache == "of another build"


@pytest.mark.skipif(os.name == "nt", reason="limits the size of files")
def test_a_disk_without_room_for_compiled_loops(tmp_path):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
    done = python(limit + CALL_A_LOOP, environment={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.stdout.strip() == "compiled"
    assert done.stderr.count("Warning") == 1
    assert str(tmp_path) in done.stderr
    assert "make room there" in done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_loops_are_compiled_anew_when_another_file_of_loops_changes(tmp_path):
    """Loops are compiled into one another, and the cache of numba looks at one file alone."""
    package = tmp_path / "rmgl"
    shutil.copytree(Path(rmgl.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    found = [python(CALL_A_LOOP, environment=environment).stdout.strip() for _ in range(2)]
    with open(package / "kernels" / "compiling.py", "a") as file:
        file.write("# changed\n")
    found += [python(CALL_A_LOOP, environment=environment).stdout.strip() for _ in range(2)]
    assert found == ["compiled", "loaded", "compiled", "loaded"]


# Forks

FORK = """
import os, signal, sys
import numpy as np
from sklearn.cluster import KMeans
from rmgl import RMGL

def in_a_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(100)  # ends the child if it hangs
        np.testing.assert_array_equal(*work())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the child did not end as it should"

def fitted():
    return RMGL(3, alpha=1.0, beta=1.0, scale="none", candidates=10, max_iter=1, tol=1.0, random_state=0).fit(X)

rng = np.random.default_rng(0)
centers = 20 * rng.normal(size=(3, 2))
X = centers[rng.integers(3, size=6000)] + rng.normal(size=(6000, 2))
new = centers[rng.integers(3, size=100)] + rng.normal(size=(100, 2))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize(
    "work",
    [
        "model = fitted(); known = model.predict(new); in_a_child(lambda: (model.predict(new), known))",
        "KMeans(3, n_init=1).fit(X); known = fitted().labels_; in_a_child(lambda: (fitted().labels_, known))",
    ],
    ids=["predict", "fit"],
)
def test_a_forked_process_goes_on(work):
    """OpenMP, once it has been used with several threads, hangs in a child."""
    python(FORK + work, environment={"OMP_NUM_THREADS": "2"})


def test_nearest_rows_of_others_are_the_nearest(rng):
    X, asking = rng.normal(size=(1300, 3)), rng.normal(size=(600, 3))
    X[7], asking[:5] = X[8], X[5:10]
    distances = np.square(asking[:, None] - X).sum(axis=2)
    for left, right in ((X, asking), (sparse.csr_array(X), sparse.csr_array(asking))):
        for length in (1, 40, 1300):
            found, squares = near(left, right, length)
            assert all(len(set(row)) == length for row in found.tolist())
            np.testing.assert_allclose(np.sort(squares, axis=1), np.sort(distances, axis=1)[:, :length], atol=1e-14)
            np.testing.assert_allclose(squares, np.take_along_axis(distances, found, axis=1), atol=1e-14)
