"""Compiled loops kept on disk, so that the next process need not compile them. A cache that cannot be used never stops a run.

The cache of numba raises an error where no folder can be written, where a file is damaged and where the disk is full, and it runs the
machine code of a file as it finds it. Here every file carries two digests: of what the loop was compiled from, and of the contents. What
does not agree with them is compiled anew and written over. Where nothing can be written, loops are compiled in memory. A warning says so
once in a process.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import uuid
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config as numba_config
from numba.core.serialize import dumps

DIGEST = hashlib.sha256().digest_size
HERE = Path(__file__).parent
config: Any = numba_config
ANOTHER_FOLDER = "set the environment variable NUMBA_CACHE_DIR to a folder that can be written"
COMPILING = "Each process compiles them anew, which takes some seconds"


class Damaged(Exception):
    """A file does not hold what was written."""


def keep_on_disk(dispatcher: Any) -> None:
    """Let a loop be loaded from disk, and kept there once it is compiled, where that is possible."""
    if not hasattr(dispatcher, "enable_caching"):  # NUMBA_DISABLE_JIT
        return
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError) as error:
        folders = [folder for folder in (config.CACHE_DIR, HERE / "__pycache__", "the user's cache folder") if folder]
        tried = " nor ".join(map(str, folders))
        _warn_once(f"compiled loops cannot be kept on disk ({error}): neither {tried} can be written. {COMPILING}; {ANOTHER_FOLDER}")
        return
    try:
        dispatcher._cache = CheckedCache(dispatcher._cache)
    except AttributeError:  # another numba, with a cache of another build: it is used as it is
        return


class CheckedCache:
    """The cache of one loop, around that of numba; what goes wrong with its files is a warning."""

    def __init__(self, ours: Any) -> None:
        implementation = ours._impl
        sources = (numba.__version__, config.BOUNDSCHECK, implementation.locator.get_source_stamp(), all_sources())
        ours._cache_file = CheckedFiles(Path(ours.cache_path), implementation.filename_base, sources)
        self._ours = ours

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ours, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled loop for a signature, None if it has to be compiled."""
        try:
            return self._ours.load_overload(signature, target)
        except Exception as error:
            problem = f"a compiled loop in {self._ours.cache_path} cannot be used ({error or type(error).__name__})"
        _warn_once(f"{problem}. It is compiled anew and written over, which takes some seconds; if this comes back, {ANOTHER_FOLDER}")
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            return self._ours.save_overload(signature, compiled)
        except Exception as error:
            problem = f"compiled loops cannot be kept in {self._ours.cache_path} ({error or type(error).__name__})"
        _warn_once(f"{problem}. {COMPILING}; make room there, or {ANOTHER_FOLDER}")


class CheckedFiles:
    """The files of one loop, one for each signature and processor: the digest of its origin, that of its contents, and the contents."""

    def __init__(self, folder: Path, name: str, sources: tuple[Any, ...]) -> None:
        self.folder, self.name, self.sources = folder, name, sources

    def path(self, key: Any) -> Path:
        return self.folder / f"{self.name}.{_digest(repr(key).encode()).hex()[:16]}.nbc"

    def origin(self, key: Any) -> bytes:
        return _digest(repr((key, self.sources)).encode())

    def load(self, key: Any) -> Any:
        """What was saved under a key; None if there is nothing, or it was compiled from something else."""
        try:
            found = self.path(key).read_bytes()
        except FileNotFoundError:
            return None
        origin, digest, contents = found[:DIGEST], found[DIGEST : 2 * DIGEST], found[2 * DIGEST :]
        if len(found) >= DIGEST and origin != self.origin(key):
            return None
        if digest != _digest(contents):
            raise Damaged(f"{self.path(key).name} is damaged")
        return pickle.loads(contents)

    def save(self, key: Any, data: Any) -> None:
        """Write a file, complete or not at all."""
        contents, path = dumps(data), self.path(key)
        unfinished = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            unfinished.write_bytes(self.origin(key) + _digest(contents) + contents)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.name}.*.nbc"):
            path.unlink(missing_ok=True)


@cache
def all_sources() -> bytes:
    """A digest of all files of loops: they are compiled into one another, and numba looks at one file alone."""
    return _digest(b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py"))))


def _digest(contents: bytes) -> bytes:
    return hashlib.sha256(contents).digest()


_warned = False


def _warn_once(message: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(message, UserWarning, stacklevel=3)
