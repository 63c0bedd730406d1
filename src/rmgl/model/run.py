"""One run of a fit: its callback, its time limit, and the checkpoint to resume from."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from filelock import BaseFileLock
from numpy.typing import NDArray

from rmgl.archive.archive import Arrays, encode, read_archive, write_archive
from rmgl.archive.atomic import NoLocks, clear_leftovers_in, take_lock
from rmgl.checks import expect, sound_generator_state
from rmgl.running.checkpoint import Found
from rmgl.running.progress import Stage
from rmgl.version import __version__

FORMAT = "rmgl checkpoint"
SUFFIX = ".step"
LOCK, HOLDER = ".lock", ".holder"
Result = TypeVar("Result")


class OtherRun(ValueError):
    """The checkpoint belongs to another run."""


class Run:
    """One fit. With a checkpoint folder, it stores expensive results there and reads them again.

    Expensive results are exact searches and eigenvectors. All other steps are computed again. They
    are deterministic, given the initial state of the random generator, so a resumed run ends with
    the same numbers as an uninterrupted one. Every file carries the fingerprint of its run. A lock
    keeps other processes out of the folder during the run: use it in a `with` block.
    """

    def __init__(
        self,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        max_seconds: float | None = None,
        checkpoint: Any = None,
        stage: Stage = lambda name, part=0.0: None,
    ) -> None:
        self.callback = callback
        self.stage = stage
        self.max_seconds = max_seconds
        self.folder = None if checkpoint is None else Path(checkpoint)
        self.began = perf_counter()
        self.asked_to_stop = False
        self.fingerprint = ""
        self._lock: FolderLock | None = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def begin(
        self, parameters: dict[str, Any], views: Any, random_state: np.random.RandomState
    ) -> None:
        """Open the checkpoint, or raise an error if it belongs to another run.

        A generator without a seed resumes from its stored state.
        """
        if self.folder is None:
            return
        self.folder.mkdir(exist_ok=True)
        found = sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("."))
        foreign = [name for name in found if not name.endswith(SUFFIX)]
        if foreign:
            raise ValueError(
                f"checkpoint={str(self.folder)!r} contains {foreign[0]!r}, which is not part of a "
                "checkpoint: choose another folder"
            )
        self._lock = FolderLock(self.folder)
        self._lock.acquire()
        self.fingerprint = fingerprint(parameters, views)
        if not self._path("run").exists():
            with suppress(FileExistsError):  # if locks do not work, another run may be faster
                self._write("run", {"random_state": random_state.get_state()}, exclusive=True)
        random_state.set_state(
            self._read(
                "run",
                lambda kept: sound_generator_state("the random generator", kept["random_state"]),
            )
        )

    @property
    def checkpoint(self) -> Run | None:
        """The checkpoint of expensive results: this run, if it has a folder."""
        return None if self.folder is None else self

    def step(self, name: str, work: Callable[[], Found], check: Callable[[Found], None]) -> Found:
        """Return the result of `work`, from the checkpoint if stored there (see `Checkpoint`).

        Several threads may call this at once.
        """

        def sound(kept: dict[str, Any]) -> Found:
            found: Found = expect("what was found", kept["found"], dict[str, NDArray[Any]])
            check(found)
            return found

        if self._path(name).exists():
            return self._read(name, sound)
        found = work()
        self._write(name, {"found": found})
        return found

    def _read(self, name: str, take: Callable[[dict[str, Any]], Result]) -> Result:
        """Read a stored result; `take` validates it, because files are not trusted."""
        path = self._path(name)
        try:
            kept = expect("the content", read_archive(path, format=FORMAT), dict[str, Any])
            if kept["run"] != self.fingerprint:
                raise OtherRun(
                    f"checkpoint={str(self.folder)!r} has a run with different data, parameters "
                    f"or versions ({path.name}): choose another folder, or delete it"
                )
            return take(kept)
        except OtherRun:
            raise
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
            OverflowError,
        ) as error:
            told = (
                str(error)
                if str(path) in str(error)
                else f"{path}: the file is inconsistent ({error})"
            )
            raise ValueError(f"{told}; delete it to recompute this step") from error

    def _write(self, name: str, kept: dict[str, Any], *, exclusive: bool = False) -> None:
        """Store a result under a name; with `exclusive`, only if the name is new."""
        write_archive(
            self._path(name), {"run": self.fingerprint, **kept}, format=FORMAT, exclusive=exclusive
        )

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{name}{SUFFIX}"

    def tell(self, row: dict[str, Any]) -> None:
        """Call the callback after a step. It can request a stop by returning True."""
        if self.callback is not None:
            answer = self.callback({**row, "seconds": self.seconds})
            self.asked_to_stop |= isinstance(answer, bool | np.bool_) and bool(answer)

    @property
    def seconds(self) -> float:
        return perf_counter() - self.began

    @property
    def over(self) -> bool:
        """Whether to end the fit with the best result so far."""
        return self.asked_to_stop or (
            self.max_seconds is not None and self.seconds >= self.max_seconds
        )


class FolderLock:
    """A lock on a checkpoint folder, held by one run at a time and released when its process ends.

    A second file names the process that holds the lock.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / LOCK
        self._lock: BaseFileLock | None = None

    def acquire(self) -> None:
        """Take the lock, or raise a ValueError that names the process holding it."""
        try:
            self._lock = take_lock(self.path, patience=0.2)
        except NoLocks:  # not supported by this file system
            return
        if self._lock is None:
            raise ValueError(
                f"checkpoint={str(self.folder)!r} is in use by another run "
                f"({self._holder()}): wait for it to finish, or choose another folder"
            )
        (self.folder / HOLDER).write_text(
            f"process {os.getpid()} on {platform.node()}", encoding="utf-8"
        )

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _holder(self) -> str:
        try:
            return (self.folder / HOLDER).read_text(encoding="utf-8")[:200] or "another process"
        except (OSError, ValueError):
            return "another process"


def remove_checkpoint(folder: Path) -> None:
    """Delete the files of a finished run, and the folder if it is empty.

    If another run has started there, nothing is deleted.
    """
    if not folder.is_dir():
        return
    lock = FolderLock(folder)
    try:
        lock.acquire()
    except ValueError:
        return
    try:
        clear_leftovers_in(folder)
        for path in (*folder.glob(f"*{SUFFIX}"), folder / HOLDER):
            path.unlink(missing_ok=True)
    finally:
        lock.path.unlink(missing_ok=True)
        lock.release()
    with suppress(OSError):  # the folder holds other files
        folder.rmdir()


def fingerprint(parameters: dict[str, Any], views: Any) -> str:
    """Return a digest that identifies the parameters, data and versions."""
    arrays = Arrays()
    described = encode(
        {**parameters, "views": views, "versions": [__version__, np.__version__]}, arrays
    )
    digest = hashlib.sha256(json.dumps(described).encode())
    for array in arrays.listed:
        digest.update(f"{array.shape} {array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
