"""How much memory is available; checked before a large array is allocated."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import numpy as np
from scipy.linalg import blas

try:
    import resource
except ImportError:  # Windows has no such module
    resource = None  # type: ignore[assignment]

GIB = 1 << 30
MIB = 1 << 20
PROCESS = Path("/proc/self")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
UNLIMITED = 1 << 60
"""Control groups of version 1 state a limit of this order where there is none."""
BUFFERS = 96 * MIB
"""Address space that OpenBLAS needs per thread: 32 MiB each for numpy and scipy, and a reserve."""
THREAD = 144 * MIB
"""Address space of two threads, one for views and one for rows: a stack and a heap each."""


def available_memory() -> int | None:
    """Bytes of memory that this process can still use (None: unknown)."""
    limits = (_system_memory(), _control_group_memory(), _address_space_beside_buffers())
    return min((limit for limit in limits if limit is not None), default=None)


def require_memory(needed: int, purpose: str, way_out: str = "use fewer rows (a sample)") -> None:
    """Raise a MemoryError if less than `needed` is available; `way_out` says how to need less."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{purpose} need at least {amount(needed)} of memory and {amount(available)} are "
            f"available: {way_out}, use a machine with more memory, or raise the memory limit of "
            "this process"
        )


def amount(size: int) -> str:
    """A number of bytes in GiB or MiB, for messages."""
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{max(size, 0) / MIB:.1f} MiB"


@cache
def take_buffers() -> None:
    """Allocate the buffers of linear algebra for one thread, while there is address space.

    OpenBLAS ends the process, or retries forever, if it cannot allocate them.
    """
    available = address_space()
    if available is not None and available < BUFFERS:
        raise MemoryError(
            f"linear algebra needs {amount(BUFFERS)} of address space, but the limit of this "
            f"process leaves {amount(available)}: raise the limit (ulimit -v, ulimit -d)"
        )
    ones = np.ones((4, 4))
    blas.dgemm(1.0, ones, ones @ ones)


def room_for_threads() -> int | None:
    """Number of threads that fit into half of the remaining address space (None: no limit)."""
    available = address_space()
    return None if available is None else max(1, available // 2 // (BUFFERS + THREAD))


def address_space() -> int | None:
    """Bytes of address space that the limits of the process leave (None: no limits)."""
    if resource is None:
        return None
    try:
        pages = [int(pages) for pages in (PROCESS / "statm").read_text().split()]
    except (OSError, ValueError):
        return None
    used = {resource.RLIMIT_AS: pages[0], resource.RLIMIT_DATA: pages[5]}
    limits = {kind: resource.getrlimit(kind)[0] for kind in used}
    left = [
        limit - used[kind] * resource.getpagesize()
        for kind, limit in limits.items()
        if limit != resource.RLIM_INFINITY
    ]
    return min(left, default=None)


def _address_space_beside_buffers() -> int | None:
    """The remaining address space, less the buffers that the other threads may still allocate.

    This thread has its buffers already, and half of the threads of a team wait while the other half
    works.
    """
    available = address_space()
    return None if available is None else available - (threading.active_count() - 1) * BUFFERS // 2


def _system_memory() -> int | None:
    """Available memory of the system."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:  # other Unix systems: the physical memory
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group_memory() -> int | None:
    """Memory that the limits of a container or batch job leave (None: no limits).

    The limits are those of the control groups of the process and of their parents.
    """
    left = []
    for group, (limit_file, used_file, cached) in _control_groups():
        try:
            limit = int((group / limit_file).read_text())
            if limit >= UNLIMITED:
                continue
            used = int((group / used_file).read_text())
            lines = (group / "memory.stat").read_text().splitlines()
            # the system frees cached files when memory is needed
            left.append(limit - used + int(dict(map(str.split, lines)).get(cached, 0)))
        except (OSError, ValueError):  # no such group, or "max": no limit
            continue
    return min(left, default=None)


def _control_groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The control groups of this process, with the names of their files.

    In a container the group of the process may be the root.
    """
    try:
        lines = (PROCESS / "cgroup").read_text().splitlines()
    except OSError:
        lines = ["0::/"]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = PurePosixPath(path).relative_to("/")
        for group in (inside, *inside.parents):
            if not controllers:
                yield CONTROL_GROUPS / group, VERSION_2
                yield CONTROL_GROUPS / "unified" / group, VERSION_2
            elif "memory" in controllers.split(","):
                yield CONTROL_GROUPS / "memory" / group, VERSION_1
