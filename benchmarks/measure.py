"""Time and peak memory of one contestant."""

from __future__ import annotations

import ctypes
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Told:
    """An answer with figures of its own beside time and memory."""

    answer: Any
    facts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Run:
    """One run: wall and CPU seconds, peak memory above what was held before, and the answer.

    CPU seconds are those of this process and of the processes it started, such as Spark's Java.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None
    answer: Any
    stopped: str = ""  # why it has no answer: the time or the memory it was given did not do
    facts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The medians of several runs, and the largest peak."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None
    runs: int
    stopped: str = ""
    facts: dict[str, float] = field(default_factory=dict)  # those of the last run

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Measurement:
        """The medians of these runs."""
        peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
        return cls(
            statistics.median(run.seconds for run in runs),
            statistics.median(run.cpu_seconds for run in runs),
            max(peaks, default=None),
            len(runs),
            next((run.stopped for run in runs if run.stopped), ""),
            runs[-1].facts,
        )


def run_call(call: Callable[[], Any], *, memory: bool = True) -> Run:
    """One run of a function in this process; memory is what Linux tells of the peak (None elsewhere).

    Runs that are timed go without: memory that was given back has to be had again from the system, which takes time.
    """
    gc.collect()
    before = _reset_peak() if memory else None
    cpu, wall = _cpu_seconds(), time.perf_counter()
    answer = call()
    wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu
    peak = _peak() if memory else None
    told = answer if isinstance(answer, Told) else Told(answer, {})
    more = None if before is None or peak is None else max(peak - before, 0)
    return Run(wall, cpu, more, told.answer, facts=told.facts)


# A process of few megabytes that starts the one to be measured: Linux counts the peak of who started a process, too.
_RELAY = """
import os, resource, subprocess, sys, time
wall = time.perf_counter()
code = subprocess.call(sys.argv[2:])
wall = time.perf_counter() - wall
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(int(sys.argv[1]), f"{wall} {used.ru_utime + used.ru_stime} {used.ru_maxrss}".encode())
sys.exit(code)
"""


def run_command(command: Sequence[str]) -> Run:
    """One run of a process of its own; memory is its whole peak, the answer what it printed."""
    with tempfile.TemporaryFile() as complaints, tempfile.TemporaryFile() as used:
        relay = [sys.executable, "-ISc", _RELAY, str(used.fileno()), *command]
        done = subprocess.run(relay, stdout=subprocess.PIPE, stderr=complaints, pass_fds=[used.fileno()], check=False)
        if done.returncode:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip()
            raise RuntimeError(f"{command} ended with exit code {done.returncode}: {said[-2000:]}")
        used.seek(0)
        wall, cpu, peak = map(float, used.read().split())
    return Run(wall, cpu, int(peak) * 1024, done.stdout)


def _cpu_seconds() -> float:
    children = psutil.Process().children(recursive=True)
    return time.process_time() + sum(map(_cpu_seconds_of, children))


def _cpu_seconds_of(process: psutil.Process) -> float:
    """Those of a process and of the ones that it started and that have ended."""
    try:
        return float(sum(process.cpu_times()[:4]))
    except psutil.Error:
        return 0.0


def _reset_peak() -> int | None:
    """Have Linux forget the peak so far; the memory held now, or None where that cannot be done.

    Memory that was freed but kept for later is given back first: a run that could use it again would seem to need none.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    try:
        _CLEAR.write_text("5", encoding="ascii")
    except OSError:
        return None
    return _status("VmRSS:")


def _peak() -> int | None:
    return _status("VmHWM:")


def _status(name: str) -> int | None:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return None
