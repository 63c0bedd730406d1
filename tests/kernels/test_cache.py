"""The cache of compiled loops, in one process; tests/robustness/test_compiled_loops.py starts new
ones.
"""

import shutil
import warnings

import numba
import numpy as np
import pytest

from rmgl.kernels import compiling
from rmgl.kernels.compiling import kept_on_disk


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(compiling, "warned", [])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def fresh():
    """A loop as another process has it: not in memory yet."""

    def twice(x):
        return 2 * x

    return kept_on_disk(twice, {})


def n_loaded(loop):
    return sum(loop.stats.cache_hits.values())


def files(folder, suffix):
    return sorted(folder.rglob(f"*.{suffix}"))


def test_a_loop_is_kept_and_found_again_without_a_warning(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loaded in (0, 2):
            loop = fresh()
            assert (loop(1.5), loop(2)) == (3.0, 4)
            assert n_loaded(loop) == loaded


def test_other_sources_are_compiled_anew(folder, monkeypatch):
    fresh()(1.5)
    monkeypatch.setattr(compiling, "all_sources", lambda: "another")
    loop = fresh()
    assert loop(1.5) == 3.0
    assert n_loaded(loop) == 0


def test_the_digest_of_all_sources_follows_every_file(tmp_path, monkeypatch):
    digest = compiling.all_sources.__wrapped__
    (tmp_path / "one.py").write_text("a")
    (tmp_path / "two.py").write_text("b")
    monkeypatch.setattr(compiling, "HERE", tmp_path)
    before = digest()
    assert digest() == before
    (tmp_path / "two.py").write_text("c")
    assert digest() != before


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_replaced_with_one_warning(suffix, kept, folder):
    fresh()(1.5)
    (path,) = files(folder, suffix)
    contents = path.read_bytes()
    path.write_bytes(contents[: int(kept * len(contents))])
    with pytest.warns(
        UserWarning, match=r"cannot be used \(.+\)\. It is compiled again and replaced"
    ) as told:
        assert fresh()(1.5) == 3.0
    assert len(told) == 1
    loop = fresh()
    assert loop(1.5) == 3.0
    assert n_loaded(loop) == 1


def test_a_file_of_other_arguments_is_replaced(folder):
    """Two processes that store two signatures at the same time may give them the same file."""
    loop = fresh()
    assert (loop(1.5), loop(np.int64(2))) == (3.0, 4)
    first, second = files(folder, "nbc")
    shutil.copy(first, second)
    with pytest.warns(UserWarning, match="was compiled for arguments of other types"):
        assert fresh()(np.int64(2)) == 4
    assert fresh()(1.5) == 3.0


def test_a_loop_that_cannot_be_stored_is_told_once(folder, monkeypatch):
    def fail(*names):
        raise OSError("disk full")

    loop = fresh()
    monkeypatch.setattr("os.replace", fail)
    with pytest.warns(
        UserWarning, match=r"compiled loops cannot be stored in .* \(disk full\).*NUMBA_CACHE_DIR"
    ) as told:
        assert (loop(1.5), loop(2)) == (3.0, 4)
    assert len(told) == 1
    assert files(folder, "nb?") == []


def test_without_a_folder_loops_stay_in_memory(monkeypatch):
    def njit(cache=False):
        if cache:
            raise RuntimeError("no locator")
        return numba.njit()

    monkeypatch.setattr(compiling, "njit", njit)
    with pytest.warns(
        UserWarning, match=r"cannot be stored on disk \(no locator\): neither .* is writable"
    ):
        loop = fresh()
    assert loop(1.5) == 3.0
    assert n_loaded(loop) == 0


def test_an_error_of_the_compiler_is_its_own(folder):
    with pytest.raises(numba.TypingError):
        fresh()(object())


def test_functions_that_are_not_compiled_need_no_cache(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert fresh()(1.5) == 3.0


def test_what_is_compiled_is_logged_once(folder, caplog, monkeypatch):
    monkeypatch.undo()  # of the fixture that keeps the commands of other tests silent
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    caplog.set_level("INFO", logger="rmgl")
    loop = fresh()
    assert caplog.messages == []
    for _ in range(2):
        assert loop(1.5) == 3.0
        loop = fresh()
    (path,) = folder.iterdir()
    assert caplog.messages == [
        f"compiling loops once, which takes a few seconds; later runs load them from {path}"
    ]
    assert caplog.records[0].name.startswith("rmgl.")
