"""Locks between processes: files that one process at a time can hold. The system releases them when the process ends or is killed."""

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
    """The file system does not support locks."""


class Lock:
    """A lock that is held until `release`, or until the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take_lock(path: Path) -> Lock | None:
    """Lock a file, which is created if it does not exist; None if it is locked already, by this process or another."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        taken = False
        try:
            _lock(descriptor)
            taken = os.path.samestat(os.fstat(descriptor), os.stat(path))
            if taken:
                return Lock(descriptor)
        except FileNotFoundError:
            pass  # the previous holder has deleted the file, so the lock protects nothing: try again
        except OSError as error:
            if error.errno in HELD:
                return None
            if error.errno in UNSUPPORTED:
                raise NoLocks(error.errno, error.strerror, str(path)) from error
            raise
        finally:
            if not taken:
                os.close(descriptor)
