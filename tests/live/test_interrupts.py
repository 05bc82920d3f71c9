"""An interrupt at any line of a change or of a commit leaves a monitor that is right, and goes on to be."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import refute as rf
from committing import RULES, batches_in, carry_out, check_whole, rows_after, table_of
from thorough import THOROUGH

FILES = ("/refute/live/", "/refute/durable/", "/refute/api/monitor.py", "/refute/api/lasting.py", "/refute/index/")
pytestmark = pytest.mark.filterwarnings(  # of a file that was opened when the interrupt came
    "ignore::pytest.PytestUnraisableExceptionWarning"
)
STRIDE = 5 if THOROUGH else 29


class Interrupt:
    """Raises KeyboardInterrupt at some line, counted from now, of the code that changes and keeps monitors."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __enter__(self) -> Interrupt:
        sys.settrace(self._enters)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _enters(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if any(part in frame.f_code.co_filename for part in FILES) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun") / "monitor"
    with rf.Monitor.open(folder, list(RULES), key="id") as monitor:
        for batch in (1, 2):
            carry_out(monitor, batch)
            monitor.commit()
    return folder


def test_an_interrupted_change_is_whole_or_not_at_all(begun: Path, tmp_path: Path) -> None:
    """It is tried at many lines of one update; the change is then done if it was not, and all that follows is right."""
    rows = rows_after(2)
    before, after = dict(rows), rows | {11: (11, 3, "city 1", 9, 9), 12: (12, 3, "city 9", 0, 1)}
    change = table_of([after[11], after[12]])
    line = 0
    while True:
        line += STRIDE
        folder = Path(shutil.copytree(begun, tmp_path / str(line)))
        monitor = rf.Monitor.open(folder)
        interrupt = Interrupt(line)
        try:
            with interrupt:
                monitor.update(change)
        except KeyboardInterrupt:
            pass
        found = {row["id"]: tuple(row.values()) for row in monitor.table().to_pylist()}
        assert found in (before, after)
        assert_right(monitor)
        monitor.update(table_of([before[11], before[12]]))
        assert_right(monitor)
        carry_out(monitor, 3)
        assert_right(monitor)
        monitor.commit()
        monitor.close()
        assert check_whole(folder, 3) == 3
        shutil.rmtree(folder)
        if interrupt.left > 0:
            break
    assert line > 3 * STRIDE


@pytest.mark.parametrize("batch", [3, 4])
def test_an_interrupted_commit_is_whole_or_not_at_all(begun: Path, tmp_path: Path, batch: int) -> None:
    """Of a batch that a log takes, and of one that changes the rules."""
    line = 0
    while True:
        line += STRIDE if batch == 4 else 1 + STRIDE // 8
        folder = Path(shutil.copytree(begun, tmp_path / str(line)))
        monitor = rf.Monitor.open(folder)
        for number in range(3, batch + 1):
            carry_out(monitor, number)
        interrupt = Interrupt(line)
        try:
            with interrupt:
                monitor.commit()
        except KeyboardInterrupt:
            pass
        with rf.Monitor.open(Path(shutil.copytree(folder, tmp_path / "copy"))) as copy:
            assert batches_in(copy) in (2, batch)
        shutil.rmtree(tmp_path / "copy")
        carry_out(monitor, batch + 1)
        monitor.commit()
        monitor.close()
        assert check_whole(folder, batch + 1) == batch + 1
        shutil.rmtree(folder)
        if interrupt.left > 0:
            break
    assert line > 3 * STRIDE


def assert_right(monitor: rf.Monitor) -> None:
    table = monitor.table()
    assert len(monitor) == len(table)
    for rule in monitor.rules:
        assert monitor.count(rule) == rf.count(table, rule)
        assert sorted(monitor.violations(rule)) == sorted(rf.violations(table, rule, key="id"))
