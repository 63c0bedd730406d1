"""How much memory there is, asked before a large array is allocated."""

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
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

GIB = 1 << 30
MIB = 1 << 20
PROCESS = Path("/proc/self")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
BUFFERS = 96 * MIB
"""Address space for OpenBLAS, which takes 32 MiB a thread for numpy and as much for scipy, with some to spare."""
THREAD = 144 * MIB
"""Address space of a thread for views and one for rows: a stack and a heap each."""


def available_memory() -> int | None:
    """Bytes that can still be used by this process, or None where the system does not tell."""
    limits = [limit for limit in (_system_memory(), _control_group_memory(), _address_space_beside_buffers()) if limit is not None]
    return min(limits, default=None)


def require_memory(needed: int, purpose: str, way_out: str = "use fewer rows (a sample)") -> None:
    """Raise a MemoryError that says how much is needed and how much there is, if it is too little."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{purpose} need at least {amount(needed)} of memory and {amount(available)} are available; "
            f"{way_out}, or a machine with more memory (or a higher limit of this process)"
        )


def amount(size: int) -> str:
    """A number of bytes for people."""
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{max(size, 0) / MIB:.1f} MiB"


@cache
def take_buffers() -> None:
    """Let linear algebra libraries have the buffers of one thread before anything else takes the address space of the process.

    OpenBLAS ends the process, or tries again for ever, where it does not get them.
    """
    available = address_space()
    if available is not None and available < BUFFERS:
        raise MemoryError(
            f"linear algebra needs {amount(BUFFERS)} of address space and {amount(available)} are left under the limit of this process: "
            "raise the limit (ulimit -v, ulimit -d)"
        )
    some = np.ones((4, 4))
    blas.dgemm(1.0, some, some @ some)


def room_for_threads() -> int | None:
    """How many threads half of the address space that is left will do for; None where there is no limit."""
    available = address_space()
    return None if available is None else max(1, available // 2 // (BUFFERS + THREAD))


def address_space() -> int | None:
    """Bytes that the limits of the process (ulimit -v, ulimit -d) let it still map; None where there are none."""
    if resource is None:
        return None
    try:
        pages = [int(pages) for pages in (PROCESS / "statm").read_text().split()]
    except (OSError, ValueError):
        return None
    used = {resource.RLIMIT_AS: pages[0], resource.RLIMIT_DATA: pages[5]}
    limits = {kind: resource.getrlimit(kind)[0] for kind in used}
    left = [limit - used[kind] * resource.getpagesize() for kind, limit in limits.items() if limit != resource.RLIM_INFINITY]
    return min(left, default=None)


def _address_space_beside_buffers() -> int | None:
    """The same without what other threads may yet ask for. This thread has its buffers, and half of a team waits for the other half."""
    available = address_space()
    return None if available is None else available - (threading.active_count() - 1) * BUFFERS // 2


def _system_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:  # other Unix systems: all of the physical memory
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group_memory() -> int | None:
    """What the limits of a container, or of a job of a batch system, leave: those of the process's groups and of all groups around them."""
    left = []
    for group, (limit_file, used_file, cached) in _control_groups():
        try:
            limit, used = (int((group / name).read_text()) for name in (limit_file, used_file))
            statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            left.append(limit - used + int(statistics.get(cached, 0)))  # cached files make room when asked
        except (OSError, ValueError):  # no such group, or "max": no limit
            continue
    return min(left, default=None)


def _control_groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The groups that count the memory of this process, and the names of their files. In a container its own group may be the root."""
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
