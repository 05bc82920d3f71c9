"""How much memory this process may use, and a Spark of our own: Spark's default of 1 GB suits no machine of today."""

from __future__ import annotations

import os
from pathlib import Path

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_SHARE = 0.4  # the rest is for the Python workers and the system's file cache
_LEAST = 1 << 30
_MOST = 30 << 30  # beyond 32 GB Java doubles the size of its pointers


def memory_for_spark() -> str:
    """The heap of a Spark inside one process, as Spark writes sizes: two fifths of what this process may use."""
    return f"{int(min(max(_LEAST, memory_here() * _SHARE), _MOST)) >> 20}m"


def memory_here() -> int:
    """The bytes of memory that this process may use: the machine's, or its container's where that is less."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_container_limits()])


def _container_limits() -> list[int]:
    texts = (limit.read_text(encoding="ascii").strip() for limit in _LIMITS if limit.is_file())
    return [int(text) for text in texts if text.isdigit()]
