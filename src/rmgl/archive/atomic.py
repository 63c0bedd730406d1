"""Write files and folders completely or not at all. The old versions remain until the new ones are
complete.

Both are written to a hidden folder, the draft, next to their target and are renamed when complete:

    .NAME.rmgl-0123456789abcdef/lock    held while the process runs
                                new     what is being written
                                old/    what it replaces, between the two renames

The system releases the lock of a process that was killed, so the next writer of the same name
recognizes its draft, restores what the killed process had moved away, and deletes everything else.
Files get the permissions that `open` would give them.

`os.replace` and `filelock` do most of the work. This module adds what they lack: `os.replace`
cannot replace a nonempty folder (`_exchanged`), it always replaces files (`_claim`), and nothing
deletes the temporary files of a killed process (`clear_leftovers`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

LONGEST_NAME = 200
"""Longest target name, in bytes, that is repeated in the name of its draft. Most systems allow 255
bytes, and a draft adds 23.
"""
DRAFT = re.compile(r"\..+\.rmgl-[0-9a-f]{16}", re.DOTALL)
PARTS = {"lock", "new", "old"}
UNSUPPORTED = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}


class NoLocks(OSError):
    """The file system does not support locks."""


def take_lock(path: Path, patience: float = 0.0) -> BaseFileLock | None:
    """Lock a file, creating it and its folder. None if this process or another holds the lock.

    `patience` is the time to wait in seconds. The holder may be deleting the file, and a lock on a
    deleted file is never taken.
    """
    # a soft lock would outlive a killed process
    lock = FileLock(path, timeout=patience, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    # held, or its holder is deleting its folder
    except (Timeout, FileExistsError, FileNotFoundError):
        return None
    except OSError as error:
        if error.errno in UNSUPPORTED:
            raise NoLocks(error.errno, error.strerror, str(path)) from error
        raise
    return lock


@contextmanager
def new_file(path: str | os.PathLike[str], *, exclusive: bool = False) -> Iterator[Path]:
    """Yield a path to write a file to. The file gets its name at the end, unless an error occurs.

    It replaces a file of that name or, with `exclusive`, raises a FileExistsError.
    """
    target = _named(path)
    with _draft(target) as draft:
        new = draft / "new"
        yield new
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        if exclusive:
            _claim(new, target)
        os.replace(new, target)


@contextmanager
def new_folder(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty folder to write into. It gets its name at the end, unless an error occurs.

    With `replace`, it replaces a folder of that name. The old folder is restored if the second of
    the two renames fails.
    """
    target = _named(path)
    with _draft(target) as draft:
        new = draft / "new"
        new.mkdir()
        yield new
        if not replace and (os.path.lexists(target) or not _moved(new, target)):
            raise FileExistsError(f"{target} already exists: choose another name, or delete it")
        while replace and not _exchanged(new, target, draft / "old"):
            pass  # another process has created a folder there in the meantime


def check_writable(path: str | os.PathLike[str]) -> None:
    """Try to write next to a path. Raise a ValueError with the reason if that fails."""
    target = _named(path)
    try:
        with suppress(FileNotFoundError):
            os.lstat(target)  # fails if the name is too long
        with _draft(target) as draft:
            (draft / "new").write_bytes(b"\0")
    except OSError as error:
        raise ValueError(
            f"{target} cannot be written ({error.strerror or error}): choose another name or folder"
        ) from error


def clear_leftovers(path: str | os.PathLike[str]) -> None:
    """Restore what killed processes had moved away from a path, and delete their drafts."""
    target = _named(path)
    prefix = _prefix(target)
    for draft in _drafts(target.parent):
        if draft.name.startswith(prefix):
            _clear_dead(draft)


def clear_leftovers_in(folder: Path) -> None:
    """Clean up after killed processes that were writing anything in a folder."""
    for draft in _drafts(folder):
        _clear_dead(draft)


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Create a hidden folder next to the target, locked during the block and deleted at its end."""
    clear_leftovers(target)
    draft, lock = _locked_draft(target)
    try:
        yield draft
    except OSError as error:
        # the error of a full disk does not name the file
        if error.errno is not None and error.filename is None:
            error.filename = str(target)
        raise
    finally:
        _clear(draft, lock)


def _locked_draft(target: Path) -> tuple[Path, BaseFileLock | None]:
    """Create a draft and its lock. Without locks in the file system, the lock is None."""
    while True:
        draft = target.parent / f"{_prefix(target)}{secrets.token_hex(8)}"
        draft.mkdir(mode=0o700)
        try:
            lock = take_lock(draft / "lock")
        except NoLocks:
            return draft, None
        if lock is not None:  # else another process is deleting it as a leftover
            return draft, lock


def _exchanged(new: Path, target: Path, old: Path) -> bool:
    """Move the target away and the new folder into place. False if another process was first."""
    shutil.rmtree(old, ignore_errors=True)
    old.mkdir()
    with suppress(FileNotFoundError):
        target.rename(old / target.name)
    if not _moved(new, target):
        return False
    shutil.rmtree(old, ignore_errors=True)
    return True


def _moved(path: Path, target: Path) -> bool:
    """Rename a folder. Return False if the target exists."""
    try:
        path.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _claim(new: Path, target: Path) -> None:
    """Create the target from a complete file. Raise a FileExistsError if it exists."""
    try:
        os.link(new, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        target.touch(exist_ok=False)


def _named(path: str | os.PathLike[str]) -> Path:
    """Return the path, resolved if it ends in "." or "..", so that it has a name."""
    target = Path(path)
    return target if target.name not in ("", "..") else Path(os.path.realpath(target))


def _prefix(target: Path) -> str:
    """Return the prefix of the draft names of a target."""
    name = os.fsencode(target.name)
    return (
        f".{target.name if len(name) <= LONGEST_NAME else hashlib.sha256(name).hexdigest()}.rmgl-"
    )


def _drafts(folder: Path) -> list[Path]:
    """List the drafts in a folder, from both running and killed processes."""
    try:
        names = [
            entry.name
            for entry in os.scandir(folder)
            if DRAFT.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        ]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _clear_dead(draft: Path) -> None:
    """Clear a draft, unless it belongs to a running process or holds foreign files."""
    with suppress(OSError):
        if {path.name for path in draft.iterdir()} <= PARTS:
            lock = take_lock(draft / "lock")
            if lock is not None:
                _clear(draft, lock)


def _clear(draft: Path, lock: BaseFileLock | None) -> None:
    """Restore what was moved away, unless its name is taken, and delete the draft. Repeatable."""
    try:
        old = draft / "old"
        for moved in old.iterdir() if old.is_dir() else ():
            if not os.path.lexists(draft.parent / moved.name):
                _moved(moved, draft.parent / moved.name)
        shutil.rmtree(draft, ignore_errors=True)
    finally:
        if lock is not None:
            lock.release()
    # Windows cannot delete an open file; elsewhere another process may be about to use the folder
    if os.name == "nt":
        shutil.rmtree(draft, ignore_errors=True)
