"""Locks between processes: files that one process at a time holds, and that the system releases when it ends, however it ends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

HELD = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}
UNSUPPORTED = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class NoLocks(OSError):
    """The file system has no locks."""


class Lock:
    """A lock that is held until `release`, or until the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take_lock(path: Path) -> Lock | None:
    """Lock a file, which is made if there is none; None if somebody else has locked it, in this process or another."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        taken = False
        try:
            _lock(descriptor)
            taken = os.path.samestat(os.fstat(descriptor), os.stat(path))
            if taken:
                return Lock(descriptor)
        except FileNotFoundError:
            pass  # one who held it has deleted it: the lock is that of no file
        except OSError as error:
            if error.errno in HELD:
                return None
            if error.errno in UNSUPPORTED:
                raise NoLocks(error.errno, error.strerror, str(path)) from error
            raise
        finally:
            if not taken:
                os.close(descriptor)
