"""A cache of compiled loops on disk, so that the next process need not compile them. A cache that cannot be used never stops a run.

The cache of numba raises an error if no folder can be written, if a file is damaged or if the disk is full, and it runs the machine code
of a file without checking it. Here every file holds two digests: of the sources of the loop, and of the file's contents. A file that does
not match them is compiled again and replaced. If nothing can be written, loops are compiled in memory. Each process warns about such
problems once, and logs once, at the level INFO, that it compiles loops that are not on disk yet.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import uuid
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config as numba_config
from numba.core import serialize

DIGEST = hashlib.sha256().digest_size
HERE = Path(__file__).parent
config: Any = numba_config
dump: Callable[[Any], bytes] = serialize.dumps
ANOTHER_FOLDER = "set the environment variable NUMBA_CACHE_DIR to a folder that can be written"
FIRST_USE = "compiling loops once, which takes some seconds; later runs load them from %s"
COMPILING = "Every process compiles them again, which takes some seconds"


class Damaged(Exception):
    """The contents of a cache file differ from what was written."""


def keep_on_disk(dispatcher: Any) -> None:
    """Load a loop from disk if it was compiled before, and store it there once it is compiled, if the disk allows it."""
    if not hasattr(dispatcher, "enable_caching"):  # NUMBA_DISABLE_JIT
        return
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError) as error:
        folders = [folder for folder in (config.CACHE_DIR, HERE / "__pycache__", "the user's cache folder") if folder]
        tried = " nor ".join(map(str, folders))
        _warn_once(f"compiled loops cannot be stored on disk ({error}): neither {tried} can be written. {COMPILING}; {ANOTHER_FOLDER}")
        return
    try:
        dispatcher._cache = CheckedCache(dispatcher._cache)
    except AttributeError:  # a version of numba whose cache has other attributes: use it unchanged
        return


class CheckedCache:
    """The cache of one loop: numba's cache, with warnings in place of errors."""

    def __init__(self, ours: Any) -> None:
        implementation = ours._impl
        sources = (numba.__version__, config.BOUNDSCHECK, implementation.locator.get_source_stamp(), all_sources())
        ours._cache_file = CheckedFiles(Path(ours.cache_path), implementation.filename_base, sources)
        self._ours = ours

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ours, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load the compiled loop for a signature (None: it must be compiled)."""
        try:
            loaded = self._ours.load_overload(signature, target)
            if loaded is None:
                _tell_once(self._ours.cache_path)
            return loaded
        except Exception as error:
            problem = f"a compiled loop in {self._ours.cache_path} cannot be used ({error or type(error).__name__})"
        _warn_once(f"{problem}. It is compiled again and replaced, which takes some seconds; if this happens again, {ANOTHER_FOLDER}")
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store a compiled loop, or warn if it cannot be stored."""
        try:
            self._ours.save_overload(signature, compiled)
            return
        except Exception as error:
            problem = f"compiled loops cannot be stored in {self._ours.cache_path} ({error or type(error).__name__})"
        _warn_once(f"{problem}. {COMPILING}; free some space there, or {ANOTHER_FOLDER}")


class CheckedFiles:
    """The cache files of one loop, one for each signature and processor.

    A file holds the digest of the loop's origin (its key and sources), the digest of its contents, and the contents.
    """

    def __init__(self, folder: Path, name: str, sources: tuple[Any, ...]) -> None:
        self.folder, self.name, self.sources = folder, name, sources

    def path(self, key: Any) -> Path:
        return self.folder / f"{self.name}.{_digest(repr(key).encode()).hex()[:16]}.nbc"

    def origin(self, key: Any) -> bytes:
        return _digest(repr((key, self.sources)).encode())

    def load(self, key: Any) -> Any:
        """Load what was saved under a key (None: there is no file, or it was compiled from other sources)."""
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
        """Write a file completely or not at all."""
        contents, path = dump(data), self.path(key)
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
    """A digest of the sources of all loops: loops are compiled into one another, but numba checks only the file of each loop."""
    return _digest(b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py"))))


def _digest(contents: bytes) -> bytes:
    return hashlib.sha256(contents).digest()


_told = False
_warned = False


def _tell_once(folder: str) -> None:
    global _told
    if not _told:
        _told = True
        logging.getLogger(__name__).info(FIRST_USE, folder)


def _warn_once(message: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(message, UserWarning, stacklevel=3)
