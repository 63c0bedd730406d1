"""The cache of compiled loops, in one process; tests/robustness/test_compiled_loops.py starts new ones."""

import warnings

import pytest

from rmgl.kernels import cache
from rmgl.kernels.cache import DIGEST, CheckedCache, CheckedFiles, Damaged, all_sources, keep_on_disk

KEY = ("signature", "processor")


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch, loops_are_known):
    monkeypatch.setattr(cache, "_warned", False)
    monkeypatch.setattr(cache, "_told", False)


@pytest.fixture
def files(tmp_path):
    return CheckedFiles(tmp_path, "loop", ("sources", 1))


def test_what_is_saved_is_loaded(files):
    assert files.load(KEY) is None
    files.save(KEY, {"code": [1, 2]})
    assert files.load(KEY) == {"code": [1, 2]}
    assert files.load(("another", "processor")) is None
    assert [path.suffix for path in files.folder.iterdir()] == [".nbc"]


def test_every_signature_has_its_file(files):
    for number in range(3):
        files.save((number, "processor"), number)
    assert [files.load((number, "processor")) for number in range(3)] == [0, 1, 2]


def test_other_sources_are_compiled_anew(files, tmp_path):
    files.save(KEY, "old")
    changed = CheckedFiles(tmp_path, "loop", ("sources", 2))
    assert changed.load(KEY) is None
    changed.save(KEY, "new")
    assert changed.load(KEY) == "new"
    assert files.load(KEY) is None


@pytest.mark.parametrize("place", [DIGEST, 2 * DIGEST - 1, 2 * DIGEST, -1])
def test_a_changed_byte_is_seen_before_anything_is_unpickled(place, files):
    files.save(KEY, "code")
    content = bytearray(files.path(KEY).read_bytes())
    content[place] ^= 1
    files.path(KEY).write_bytes(content)
    with pytest.raises(Damaged, match=r"loop\..*\.nbc is damaged"):
        files.load(KEY)


@pytest.mark.parametrize("length", [0, 1, DIGEST - 1, DIGEST, 2 * DIGEST, 2 * DIGEST + 1])
def test_a_file_that_was_cut_is_damaged(length, files):
    files.save(KEY, "code")
    files.path(KEY).write_bytes(files.path(KEY).read_bytes()[:length])
    with pytest.raises(Damaged):
        files.load(KEY)


def test_a_failed_write_leaves_what_was_there(files, monkeypatch):
    files.save(KEY, "old")

    def fail(*names):
        raise OSError("disk full")

    monkeypatch.setattr(cache.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        files.save(KEY, "new")
    assert files.load(KEY) == "old"
    assert len(list(files.folder.iterdir())) == 1


def test_flush_deletes_the_files_of_this_loop_alone(files, tmp_path):
    other = CheckedFiles(tmp_path, "other", ())
    for one in (files, other):
        one.save(KEY, "code")
    files.flush()
    assert files.load(KEY) is None
    assert other.load(KEY) == "code"


# Around numba's cache


class Stamped:
    def get_source_stamp(self):
        return "stamp"


class Theirs:
    """As much of numba's cache as is used."""

    def __init__(self, folder):
        self.cache_path = str(folder)
        self._impl = self
        self.locator, self.filename_base = Stamped(), "loop"

    def load_overload(self, signature, target):
        return self._cache_file.load(signature)

    def save_overload(self, signature, compiled):
        self._cache_file.save(signature, compiled)


class Dispatcher:
    """A compiled loop, with numba's way of asking for a cache."""

    def __init__(self, theirs=None, error=None):
        self.theirs, self.error, self._cache = theirs, error, None

    def enable_caching(self):
        if self.error:
            raise self.error
        self._cache = self.theirs


def test_a_loop_is_kept_and_found_again(tmp_path):
    dispatcher = Dispatcher(Theirs(tmp_path))
    keep_on_disk(dispatcher)
    assert isinstance(dispatcher._cache, CheckedCache)
    assert dispatcher._cache.cache_path == str(tmp_path)  # all else is numba's
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dispatcher._cache.load_overload(KEY, None) is None
        dispatcher._cache.save_overload(KEY, "code")
        assert dispatcher._cache.load_overload(KEY, None) == "code"


def test_what_is_compiled_is_logged_once(tmp_path, caplog):
    caplog.set_level("INFO", logger="rmgl")
    checked = CheckedCache(Theirs(tmp_path))
    checked.save_overload(KEY, "code")
    assert checked.load_overload(KEY, None) == "code"
    assert caplog.messages == []
    assert [checked.load_overload(key, None) for key in ("another", "one more")] == [None, None]
    assert caplog.messages == [f"compiling loops once, which takes some seconds; later runs load them from {tmp_path}"]
    assert caplog.records[0].name.startswith("rmgl.")


def test_a_damaged_loop_is_compiled_again_with_one_warning(tmp_path):
    checked = CheckedCache(Theirs(tmp_path))
    checked.save_overload(KEY, "code")
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(UserWarning, match=r"cannot be used \(loop.* is damaged\)\. It is compiled again and replaced") as told:
        found = [checked.load_overload(KEY, None) for _ in range(2)]
    assert found == [None, None]
    assert len(told) == 1
    checked.save_overload(KEY, "code")
    assert checked.load_overload(KEY, None) == "code"


def test_a_loop_that_cannot_be_stored_is_told_once(tmp_path):
    checked = CheckedCache(Theirs(tmp_path / "nowhere"))
    with pytest.warns(UserWarning, match=r"compiled loops cannot be stored in .*nowhere .*NUMBA_CACHE_DIR") as told:
        _ = [checked.save_overload(KEY, "code") for _ in range(2)]
    assert len(told) == 1


@pytest.mark.parametrize("error", [RuntimeError("no locator"), OSError("read-only")])
def test_without_a_folder_loops_stay_in_memory(error):
    dispatcher = Dispatcher(error=error)
    with pytest.warns(UserWarning, match=rf"cannot be stored on disk \({error}\): neither .* can be written"):
        keep_on_disk(dispatcher)
    assert dispatcher._cache is None


def test_functions_that_are_not_compiled_need_no_cache():
    def plain():
        return 1

    keep_on_disk(plain)
    assert plain() == 1


def test_an_unknown_cache_of_numba_is_used_unchanged():
    theirs = object()
    dispatcher = Dispatcher(theirs)
    keep_on_disk(dispatcher)
    assert dispatcher._cache is theirs


def test_the_digest_of_all_sources_follows_every_file(tmp_path, monkeypatch):
    digest = all_sources.__wrapped__
    (tmp_path / "one.py").write_text("a")
    (tmp_path / "two.py").write_text("b")
    monkeypatch.setattr(cache, "HERE", tmp_path)
    before = digest()
    assert digest() == before
    (tmp_path / "two.py").write_text("c")
    assert digest() != before
