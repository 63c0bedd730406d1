"""Locks between processes, in one process: each `take_lock` opens the file anew, so a second one is refused as another process would be."""

import errno
import os
from contextlib import suppress

import pytest

from rmgl.archive import locks
from rmgl.archive.atomic import new_file
from rmgl.archive.locks import Lock, NoLocks, take_lock
from rmgl.model.run import FolderLock


def times_open(path):
    """How often this process has a file open."""
    links = [os.path.join("/proc/self/fd", number) for number in os.listdir("/proc/self/fd")]
    return sum(os.path.exists(link) and os.path.samefile(link, path) for link in links)


def test_one_holder_at_a_time(tmp_path):
    path = tmp_path / "lock"
    first = take_lock(path)
    assert isinstance(first, Lock)
    assert take_lock(path) is None
    other = take_lock(tmp_path / "other")
    assert isinstance(other, Lock)
    other.release()
    first.release()
    second = take_lock(path)
    assert isinstance(second, Lock)
    second.release()


def test_a_second_release_does_nothing(tmp_path):
    lock = take_lock(tmp_path / "lock")
    lock.release()
    other = os.open(tmp_path / "mine", os.O_CREAT | os.O_RDWR)  # may get the number that the lock had
    lock.release()
    os.fstat(other)
    os.close(other)


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        take_lock(tmp_path / "nowhere" / "lock")


def fail_with(number):
    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", sorted(locks.HELD))
def test_every_way_of_saying_that_it_is_held(number, tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_lock", fail_with(number))
    assert take_lock(tmp_path / "lock") is None


@pytest.mark.parametrize("number", sorted(locks.UNSUPPORTED))
def test_a_file_system_without_locks_is_told_by_name(number, tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_lock", fail_with(number))
    with pytest.raises(NoLocks) as caught:
        take_lock(tmp_path / "lock")
    assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path / "lock"))


def test_other_errors_reach_the_caller(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_lock", fail_with(errno.EIO))
    with pytest.raises(OSError, match="Input/output error") as caught:
        take_lock(tmp_path / "lock")
    assert not isinstance(caught.value, NoLocks)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_on_a_file_that_was_deleted_meanwhile_is_taken_again(replaced, tmp_path, monkeypatch):
    """The last holder deletes the file between opening and locking: a lock on the deleted file would protect nothing."""
    path, calls, really = tmp_path / "lock", [], locks._lock

    def delete_first(descriptor):
        really(descriptor)
        calls.append(descriptor)
        if len(calls) == 1:
            if replaced:
                (tmp_path / "new").touch()
                os.replace(tmp_path / "new", path)
            else:
                path.unlink()

    monkeypatch.setattr(locks, "_lock", delete_first)
    lock = take_lock(path)
    assert len(calls) == 2
    monkeypatch.setattr(locks, "_lock", really)
    assert take_lock(path) is None  # the lock is on the file that has the name now
    lock.release()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux does")
def test_no_file_stays_open(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    lock = take_lock(path)
    assert times_open(path) == 1
    assert take_lock(path) is None
    assert times_open(path) == 1
    lock.release()
    for number in (errno.EAGAIN, errno.ENOTSUP, errno.EIO):
        monkeypatch.setattr(locks, "_lock", fail_with(number))
        with suppress(OSError):
            take_lock(path)
    assert times_open(path) == 0


# What uses them


def test_files_are_written_where_there_are_no_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_lock", fail_with(errno.ENOTSUP))
    with new_file(tmp_path / "x") as draft:
        draft.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "whole"


def test_a_folder_lock_does_without_locks_where_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_lock", fail_with(errno.ENOTSUP))
    lock = FolderLock(tmp_path)
    lock.acquire()
    FolderLock(tmp_path).acquire()
    lock.release()


def test_a_folder_lock_names_its_holder(tmp_path):
    lock = FolderLock(tmp_path)
    lock.acquire()
    with pytest.raises(ValueError, match=rf"is in use by another run \(process {os.getpid()} on "):
        FolderLock(tmp_path).acquire()
    (tmp_path / ".holder").unlink()
    with pytest.raises(ValueError, match=r"is in use by another run \(another process\)"):
        FolderLock(tmp_path).acquire()
    lock.release()
    lock.release()


def test_a_folder_that_was_just_deleted_is_made_again(tmp_path):
    lock = FolderLock(tmp_path / "steps")
    lock.acquire()
    assert (tmp_path / "steps" / ".lock").exists()
    lock.release()
