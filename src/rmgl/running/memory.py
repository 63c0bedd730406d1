"""How much memory there is, asked before a large array is allocated."""

from __future__ import annotations

import os
from pathlib import Path

GIB = 1 << 30


def available_memory() -> int | None:
    """Bytes that can still be used by this process, or None where the system does not tell."""
    limits = [limit for limit in (_system_memory(), _control_group_memory()) if limit is not None]
    return min(limits, default=None)


def require_memory(needed: int, purpose: str, way_out: str = "use fewer rows (a sample)") -> None:
    """Raise a MemoryError that says how much is needed and how much there is, if it is too little."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{purpose} need at least {needed / GIB:.1f} GiB of memory and {available / GIB:.1f} GiB are available; "
            f"{way_out}, or a machine with more memory"
        )


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
    """What a container's limit leaves."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return limit - used + int(statistics.get("inactive_file", 0))  # cached files make room when asked
    except (OSError, ValueError):  # no such group, or "max": no limit
        return None
