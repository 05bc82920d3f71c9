"""Processes that commit batch after batch to a folder, and are killed: at some moment, or inside some step.

`Committers` starts a script that ends in `serve`. It imports all once, and forks one child for each request, before any
thread starts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import parquet

import refute as rf


class Committing(Protocol):
    """What is committed to: how it is opened, what a batch does to it, and how many batches it says that it has."""

    def open(self, folder: str) -> Any: ...

    def batches_in(self, opened: Any, /) -> int: ...

    def carry_out(self, opened: Any, batch: int, /) -> None: ...

    def warm_up(self) -> None: ...


class Committers:
    """Processes that commit to folders until they are killed."""

    def __init__(self, script: str | Path) -> None:
        self._server = subprocess.Popen(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(rf.__file__).parents[1]), *sys.path])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, folder: Path, *, batches: int, step: int = 0, half: bool = False, kill: tuple[int, float] | None = None
    ) -> tuple[int, bool]:
        """Commits more batches to a folder; the last that was acknowledged, 0 for none, and whether it was killed.

        It is killed before its step of some number, or in the middle of it, or some seconds after it has acknowledged
        some batches, or not at all.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        asked = {"folder": str(folder), "batches": batches, "step": step, "half": half}
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        acknowledged = heard = child = 0
        while True:
            word, number = self._server.stdout.readline().split()
            if word == "end":
                assert number in ("0", "9"), "the process failed by itself; see its stderr"
                return acknowledged, number == "9"
            if word == "begin":
                child = int(number)
            else:
                acknowledged, heard = int(number), heard + 1
            if kill is not None and kill[0] == heard:
                time.sleep(kill[1])
                os.kill(child, signal.SIGKILL)

    def close(self) -> None:
        """Ends all."""
        self._server.communicate()


def serve(subject: Committing) -> None:
    """Forks a child for each request, and tells how it ended."""
    subject.warm_up()
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _commit(subject, asked)
        _, status = os.waitpid(child, 0)
        _tell(f"end {abs(os.waitstatus_to_exitcode(status))}\n")


def _commit(subject: Committing, asked: dict[str, Any]) -> None:
    """Commits batches, and tells each that was acknowledged; ends the process."""
    status = 1
    try:
        _tell(f"begin {os.getpid()}\n")
        os.fsync = lambda fd: None  # what a process wrote outlives it in any case: only machines need the disk
        if asked["step"]:
            Steps(asked["step"], half=asked["half"]).watch()
        opened = subject.open(asked["folder"])
        first = subject.batches_in(opened) + 1
        for batch in range(first, first + asked["batches"]):
            subject.carry_out(opened, batch)
            opened.commit()
            _tell(f"ack {batch}\n")
        opened.close()
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        os._exit(status)


_write = os.write


def _tell(text: str) -> None:
    _write(1, text.encode())


class Steps:
    """Counts all calls that change files, and kills the process at one of them: before it, or when it is half done."""

    def __init__(self, last: int, *, half: bool) -> None:
        self._left = last
        self._half = half

    def watch(self) -> None:
        """Counts from now on."""
        for name in ("write", "fsync", "replace", "unlink", "open", "ftruncate", "link", "symlink", "rename"):
            setattr(os, name, self._counted(getattr(os, name)))
        pa.OSFile = self._counted(pa.OSFile)
        pa.ipc.new_file = self._counted(pa.ipc.new_file)
        parquet.write_table = self._counted(parquet.write_table)
        parquet.ParquetWriter = self._counted(parquet.ParquetWriter)

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                try:
                    if self._half and call is _write:
                        call(arguments[0], arguments[1][: len(arguments[1]) // 2])
                    elif self._half:
                        call(*arguments, **options)
                finally:
                    os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return counted
