"""How much memory a run needs and how much there is: asked before it is taken."""

from __future__ import annotations

import os
from pathlib import Path

from ldssc.exceptions import NotEnoughMemoryError

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_CGROUP_USED = Path("/sys/fs/cgroup/memory.current")


def available_memory() -> int | None:
    """Bytes that this process may still take, or None where the system does not tell."""
    found = [b for b in (_from_proc(), _from_cgroup()) if b is not None]
    if found:
        return min(found)
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def _from_proc() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _from_cgroup() -> int | None:
    try:
        return max(0, int(_CGROUP_LIMIT.read_text()) - int(_CGROUP_USED.read_text()))
    except (OSError, ValueError):  # "max" means no limit
        return None


def readable(n_bytes: float) -> str:
    """1536 -> '1.5 KiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TiB"


def require_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Refuse before allocating: what needs how much, how much there is, and what to do instead."""
    present = available_memory()
    if present is not None and n_bytes > present:
        raise NotEnoughMemoryError(
            f"{what} needs about {readable(n_bytes)} of memory and {readable(present)} are available; {remedy}"
        )
