"""A contestant in a process of its own: it loads its data once, then runs whenever told to, within limits.

A peer that needs minutes, or all the memory of the machine, ends by itself and takes nothing else with it.
"""

from __future__ import annotations

import importlib
import json
import resource
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measure import Run, run_call

LOADING = 300.0  # seconds that loading may take


@dataclass(slots=True)
class Worker:
    """A process that runs `factory(*arguments)()`; the factory, given as `module:function`, loads the data."""

    factory: str
    arguments: Sequence[str]
    limit: float = 30.0  # seconds of one run
    memory_gb: float = 8.0
    prepared: float | None = None
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def run(self, *, memory: bool = False) -> Run:
        """One run, for its time or for its memory; the process is started by the first."""
        if self._process is None:
            self._start()
            ready = self._answer(LOADING)
            if isinstance(ready, str):
                return Run(LOADING, 0.0, None, None, f"loading {ready}")
            self.prepared = ready.get("loaded")
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write("memory\n" if memory else "time\n")
        self._process.stdin.flush()
        started = time.perf_counter()
        found = self._answer(self.limit)
        if isinstance(found, str):
            return Run(time.perf_counter() - started, 0.0, None, None, found)
        return Run(
            found["seconds"], found["cpu_seconds"], found["peak_bytes"], found["answer"], facts=found.get("facts", {})
        )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.worker", str(self.memory_gb), self.factory]
        self._process = subprocess.Popen(
            [*command, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def _answer(self, limit: float) -> dict[str, Any] | str:
        """What the process answers, or why it does not."""
        assert self._process is not None
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], limit)
        line = self._process.stdout.readline() if readable else ""
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        self.close()
        return "ran out of memory or failed" if readable else f"stopped after {limit:g} s"


def main(memory_gb: str, factory: str, *arguments: str) -> None:
    """Serve runs on standard input and output."""
    most = int(float(memory_gb) * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    module, _, name = factory.partition(":")
    started = time.perf_counter()
    call = getattr(importlib.import_module(module), name)(*arguments)
    loaded = time.perf_counter() - started
    print(json.dumps({"loaded": loaded}), flush=True)
    for asked in sys.stdin:
        run = run_call(call, memory=asked.strip() == "memory")
        print(
            json.dumps(
                {
                    "seconds": run.seconds,
                    "cpu_seconds": run.cpu_seconds,
                    "peak_bytes": run.peak_bytes,
                    "answer": run.answer,
                    "facts": run.facts,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
