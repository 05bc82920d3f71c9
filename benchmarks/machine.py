"""Where and on what a result was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import psutil

_ROOT = Path(__file__).parent.parent


@cache
def commit() -> str:
    """The commit of the checkout, with a + where files differ from it."""
    describe = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(describe, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


@cache
def machine() -> dict[str, object]:
    """The machine in a few words: processor, cores, memory, system and Python."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def load() -> float:
    """How busy the machine is with other work, as processes per core."""
    return round(os.getloadavg()[0] / (os.cpu_count() or 1), 2)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
