"""A process that commits batch after batch to a monitor on disk, and is killed: at some moment, or inside some step.

`Committers` starts it. It imports all once, and forks one child for each request, before any thread starts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import refute as rf

COLUMNS = ("id", "zip", "city", "pay", "tax")
RULES = ("zip -> city", "not(s.zip == t.zip and s.pay < t.pay and s.tax > t.tax)")
MORE = "city -> zip"
Row = tuple[Any, ...]


def rows_of(batch: int) -> list[Row]:
    """The rows that a batch inserts."""
    return [(10 * batch + n, (batch + n) % 4, f"city {(batch * n) % 7}", (7 * batch + n) % 11, n) for n in range(1, 6)]


def rows_after(batches: int) -> dict[int, Row]:
    """All rows by key after so many batches. The one with key 0 tells their number."""
    rows: dict[int, Row] = {}
    for batch in range(1, batches + 1):
        rows |= {row[0]: row for row in rows_of(batch)}
        rows |= {row[0]: row for row in updated_by(batch)}
        rows = {key: row for key, row in rows.items() if key not in deleted_by(batch)}
    return rows


def updated_by(batch: int) -> list[Row]:
    """The rows that a batch puts in the place of others."""
    counter = [(0, -1, "", batch, 0)]
    return counter if batch == 1 else [*counter, (10 * batch - 9, 1, f"moved {batch % 3}", batch % 5, 3)]


def deleted_by(batch: int) -> list[int]:
    """The keys that a batch deletes."""
    return [] if batch < 3 else [10 * batch - 20 + 2, 10 * batch - 20 + 3]


def rules_after(batches: int) -> list[str]:
    """The rules after so many batches: one comes and goes."""
    return [*RULES, MORE] if batches % 8 >= 4 else list(RULES)


def table_of(rows: list[Row]) -> pa.Table:
    """Rows as a table."""
    return pa.table({name: [row[n] for row in rows] for n, name in enumerate(COLUMNS)})


def carry_out(monitor: rf.Monitor, batch: int) -> None:
    """Changes a monitor as a batch says, in several steps."""
    first = updated_by(batch) if batch == 1 else []
    monitor.insert(table_of([*rows_of(batch), *first]))
    if batch > 1:
        monitor.update(table_of(updated_by(batch)))
        monitor.delete(deleted_by(batch))
    if batch % 8 == 4:
        monitor.add(MORE)
    elif batch % 8 == 0:
        monitor.drop("city_fixes_zip")


def batches_in(monitor: rf.Monitor) -> int:
    """How many batches a monitor says that it has."""
    if monitor.schema is None:
        return 0
    return next((row["pay"] for row in monitor.table().to_pylist() if row["id"] == 0), 0)


def check_whole(folder: Path, acknowledged: int) -> int:
    """Opens a monitor and holds it against a check of the rows of its batches; how many these are.

    All that were acknowledged are there. So may be one more, but only whole: a process can be killed when a batch is on
    the disk and it could not say so yet. Nobody could tell that from a kill just after it said so.
    """
    if not (folder / "manifest.json").exists():
        assert acknowledged == 0
        return 0
    with rf.Monitor.open(folder) as monitor:
        batches = batches_in(monitor)
        assert batches in (acknowledged, acknowledged + 1)
        rows = rows_after(batches)
        found = [] if monitor.schema is None else monitor.table().to_pylist()
        assert {row["id"]: tuple(row.values()) for row in found} == rows
        table = table_of(list(rows.values()))
        assert len(monitor.rules) == len(rules_after(batches))
        for rule in monitor.rules if rows else ():
            clashes = sorted(rf.violations(table, rule, key="id"))
            assert monitor.count(rule) == len(clashes)
            assert sorted(monitor.violations(rule)) == clashes
    return batches


class Committers:
    """Processes that commit to folders until they are killed."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__],
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


def _serve() -> None:
    """Forks a child for each request, and tells how it ended."""
    with tempfile.TemporaryDirectory() as folder:  # what is loaded when it is first used is then there for all
        for first in (1, 7):
            with rf.Monitor.open(folder, list(RULES) if first == 1 else None, key="id") as monitor:
                for batch in range(first, first + 6):
                    carry_out(monitor, batch)
                    monitor.commit()
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _commit(asked)
        _, status = os.waitpid(child, 0)
        _tell(f"end {abs(os.waitstatus_to_exitcode(status))}\n")


def _commit(asked: dict[str, Any]) -> None:
    """Commits batches, and tells each that was acknowledged; ends the process."""
    status = 1
    try:
        _tell(f"begin {os.getpid()}\n")
        os.fsync = lambda fd: None  # what a process wrote outlives it in any case: only machines need the disk
        if asked["step"]:
            Steps(asked["step"], half=asked["half"]).watch()
        rules = None if _exists(asked["folder"]) else list(RULES)
        monitor = rf.Monitor.open(asked["folder"], rules, key="id", log_rows=12)
        first = batches_in(monitor) + 1
        for batch in range(first, first + asked["batches"]):
            carry_out(monitor, batch)
            monitor.commit()
            _tell(f"ack {batch}\n")
        monitor.close()
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        os._exit(status)


def _exists(folder: str) -> bool:
    return (Path(folder) / "manifest.json").exists()


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
        for name in ("write", "fsync", "replace", "unlink", "open", "ftruncate"):
            setattr(os, name, self._counted(getattr(os, name)))
        pa.OSFile = self._counted(pa.OSFile)
        pa.ipc.new_file = self._counted(pa.ipc.new_file)

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


if __name__ == "__main__":
    _serve()
