"""Locks between processes, in one process: each `take_lock` opens the file anew, so a second one is
refused as another process would be.
"""

import errno
import os

import pytest

from rmgl.archive.atomic import NoLocks, new_file, take_lock
from rmgl.model.run import FolderLock

fcntl = pytest.importorskip("fcntl", reason="changes what the locks of Unix answer")


def fail_with(number):
    def fail(descriptor, operation):
        raise OSError(number, os.strerror(number))

    return fail


def test_one_holder_at_a_time(tmp_path):
    path = tmp_path / "lock"
    first = take_lock(path)
    assert first is not None
    assert take_lock(path) is None
    other = take_lock(tmp_path / "other")
    assert other is not None
    other.release()
    first.release()
    first.release()  # does nothing
    second = take_lock(path)
    assert second is not None
    second.release()


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK])
def test_a_file_system_without_locks_is_told_by_name(number, tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", fail_with(number))
    with pytest.raises(NoLocks) as caught:
        take_lock(tmp_path / "lock")
    assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path / "lock"))


def test_other_errors_reach_the_caller(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", fail_with(errno.EIO))
    with pytest.raises(OSError, match="Input/output error") as caught:
        take_lock(tmp_path / "lock")
    assert not isinstance(caught.value, NoLocks)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_on_a_file_that_was_deleted_meanwhile_is_taken_again(
    replaced, tmp_path, monkeypatch
):
    """The last holder deletes the file between opening and locking: a lock on the deleted file
    would protect nothing.
    """
    path, calls, really = tmp_path / "lock", [], fcntl.flock

    def delete_first(descriptor, operation):
        really(descriptor, operation)
        calls.append(descriptor)
        if len(calls) == 1:
            if replaced:
                (tmp_path / "new").touch()
                os.replace(tmp_path / "new", path)
            else:
                path.unlink()

    monkeypatch.setattr(fcntl, "flock", delete_first)
    lock = take_lock(path, patience=10.0)
    assert len(calls) == 2
    monkeypatch.setattr(fcntl, "flock", really)
    assert take_lock(path) is None  # the lock is on the file that has the name now
    lock.release()


# What uses them


def test_files_are_written_where_there_are_no_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", fail_with(errno.ENOTSUP))
    with new_file(tmp_path / "x") as draft:
        draft.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "whole"


def test_a_folder_lock_does_without_locks_where_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", fail_with(errno.ENOTSUP))
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
