"""Locks between processes, by `filelock`: the system releases them when the process that holds them
ends or is killed.
"""

from __future__ import annotations

import errno
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

UNSUPPORTED = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}


class NoLocks(OSError):
    """The file system does not support locks."""


def take_lock(path: Path, patience: float = 0.0) -> BaseFileLock | None:
    """Lock a file, which is created with its folder; None if this process or another holds it.

    `patience` is in seconds: a holder may be deleting the file, and a lock on a deleted file is
    never taken.
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
