"""Time and peak memory of one contestant."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: wall and CPU seconds, peak memory above what was held before, and the answer.

    CPU seconds are those of this process and, on Linux, of the processes it started, such as Spark's Java.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None
    answer: Any
    stopped: str = ""  # why it has no answer: the time or the memory it was given did not do


@dataclass(frozen=True, slots=True)
class Measurement:
    """The medians of several runs, and the largest peak."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None
    runs: int
    stopped: str = ""

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
    return Run(wall, cpu, None if before is None or peak is None else max(peak - before, 0), answer)


def run_command(command: Sequence[str]) -> Run:
    """One run of a process of its own; memory is its whole peak, the answer what it printed."""
    with tempfile.TemporaryFile() as complaints:
        wall = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints)
        assert process.stdout is not None
        with process.stdout as stream:
            answer = stream.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - wall
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip()
            raise RuntimeError(f"{command} ended with exit code {process.returncode}: {said[-2000:]}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, answer)


def _cpu_seconds() -> float:
    return time.process_time() + sum(map(_cpu_seconds_of, _descendants(os.getpid())))


def _descendants(process: int) -> Iterator[int]:
    """The processes that a process has started and that still run, and theirs; none where the system is not Linux."""
    for listing in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for child in map(int, listing.read_text(encoding="ascii").split()):
                yield child
                yield from _descendants(child)


def _cpu_seconds_of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")  # in user and in system mode


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
