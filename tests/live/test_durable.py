"""A monitor on disk: one writer, whole batches, and no loss where the disk or the input is bad."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refute as rf
from committing import MORE, RULES, carry_out, check_whole, table_of
from refute.durable import directory
from refute.errors import DataError, EngineError, OptionError, RefuteError
from refute.live.overview import described


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "monitor"


def begun(folder: Path, batches: int = 2, **options: int) -> rf.Monitor:
    """A monitor to which some batches were committed."""
    monitor = rf.Monitor.open(folder, list(RULES), key="id", **options)  # type: ignore[arg-type]
    for batch in range(1, batches + 1):
        carry_out(monitor, batch)
        monitor.commit()
    return monitor


def full(*arguments: Any, **options: Any) -> Any:
    """A disk without room."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_monitor_opens_as_it_was_committed_again_and_again(folder: Path) -> None:
    begun(folder, 5).close()
    for _ in range(3):
        assert check_whole(folder, 5) == 5


def test_what_was_not_committed_is_gone(folder: Path) -> None:
    monitor = begun(folder)
    carry_out(monitor, 3)
    monitor.close()
    assert check_whole(folder, 2) == 2
    with pytest.raises(DataError), rf.Monitor.open(folder) as monitor:
        _two_batches(monitor, 3, 2)
    assert check_whole(folder, 2) == 2


def _two_batches(monitor: rf.Monitor, first: int, second: int) -> None:
    carry_out(monitor, first)
    carry_out(monitor, second)


def test_a_second_writer_is_refused(folder: Path) -> None:
    monitor = begun(folder)
    with pytest.raises(EngineError, match="already open"):
        rf.Monitor.open(folder)
    code = f"import refute as rf; rf.Monitor.open({str(folder)!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert "EngineError: The monitor in" in other.stderr
    carry_out(monitor, 3)
    monitor.commit()
    monitor.close()
    assert check_whole(folder, 3) == 3


def test_a_monitor_that_nobody_has_any_more_lets_its_folder_go(folder: Path) -> None:
    monitor = begun(folder)
    del monitor
    gc.collect()
    assert check_whole(folder, 2) == 2


def test_a_process_that_ends_without_close_keeps_all_commits(folder: Path) -> None:
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
import refute as rf
from committing import RULES, carry_out
monitor = rf.Monitor.open({str(folder)!r}, list(RULES), key="id", log_rows=0)
for batch in range(1, 4):
    carry_out(monitor, batch)
    monitor.commit()
carry_out(monitor, 4)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert check_whole(folder, 3) == 3


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_fails_the_commit_and_keeps_what_was_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monitor = begun(folder)
    carry_out(monitor, 3)
    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        for _ in range(2):
            with pytest.raises(EngineError, match="No space left"):
                monitor.commit()
    assert check_whole(Path(shutil.copytree(folder, tmp_path / "copy")), 2) == 2
    monitor.commit()
    monitor.close()
    assert check_whole(folder, 3) == 3


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_keeps_the_rules_that_were_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monitor = begun(folder, 3)
    carry_out(monitor, 4)  # which adds a rule
    before = sorted(folder.iterdir())
    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        for _ in range(5):
            with pytest.raises(EngineError, match="No space left"):
                monitor.commit()
    assert len(list(folder.iterdir())) <= len(before) + 1  # a log may have been begun
    assert check_whole(Path(shutil.copytree(folder, tmp_path / "copy")), 3) == 3
    monitor.commit()
    monitor.close()
    assert check_whole(folder, 4) == 4


def test_what_was_never_acknowledged_is_gone_before_another_log_is_begun(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(folder, 3).close()
    log = next(folder.glob("log-*"))
    log.write_bytes(log.read_bytes() + b"FRAM and no more")
    monitor = rf.Monitor.open(folder)
    carry_out(monitor, 4)  # which adds a rule
    with monkeypatch.context() as patched:
        patched.setattr(directory, "write_manifest", full)
        with pytest.raises(EngineError, match="No space left"):
            monitor.commit()
    assert len(list(folder.glob("log-*"))) == 2
    assert check_whole(Path(shutil.copytree(folder, tmp_path / "copy")), 3) == 3
    monitor.close()


def test_files_that_may_grow_no_more_fail_the_commit_and_keep_what_was_there(folder: Path) -> None:
    code = f"""
import resource, sys
sys.path[:0] = {sys.path!r}
import refute as rf
from committing import RULES, carry_out
from refute.errors import EngineError
monitor = rf.Monitor.open({str(folder)!r}, list(RULES), key="id")
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
failed = 0
for batch in range(1, 4):
    carry_out(monitor, batch)
    try:
        monitor.commit()
    except EngineError as error:
        assert "File too large" in str(error)
        failed += 1
assert failed, "the limit was not met"
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
monitor.commit()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert check_whole(folder, 3) == 3


def test_a_state_that_cannot_be_written_is_told_and_tried_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = begun(folder, 1, log_rows=20)
    written = sorted(folder.glob("rows-*"))
    told = []
    with monkeypatch.context() as patched:
        patched.setattr(directory, "write_manifest", full)
        for batch in range(2, 4):
            carry_out(monitor, batch)
        for batch in range(5, 30):
            monitor.insert(pa.table({"id": [-batch], "zip": [0], "city": [""], "pay": [0], "tax": [0]}))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                monitor.commit()
            told += [str(one.message) for one in caught]
            monitor._directory._wait()  # type: ignore[union-attr]
    assert told
    assert all("No space left" in one for one in told)
    assert sorted(folder.glob("rows-*")) == written
    assert len(list(folder.glob("log-*"))) < 5
    with rf.Monitor.open(Path(shutil.copytree(folder, tmp_path / "copy"))) as copy:
        assert copy.table().equals(monitor.table())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        monitor.delete([-batch for batch in range(5, 30)])
        monitor.commit()
    monitor.close()
    assert len(list(folder.glob("log-*"))) == 1
    assert check_whole(folder, 3) == 3


def test_a_commit_of_most_of_what_there_is_is_written_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a state, and not in a log first. Where that fails, nothing is committed, and it is tried again."""

    def copied(name: str) -> rf.Monitor:
        return rf.Monitor.open(Path(shutil.copytree(folder, tmp_path / name)))

    monitor = rf.Monitor.open(folder, list(RULES), key="id", log_rows=100)
    monitor.insert(table_of([(n, n % 9, f"city {n % 7}", n, n % 3) for n in range(500)]))
    with monkeypatch.context() as patched:
        patched.setattr(directory, "write_manifest", full)
        with pytest.raises(EngineError, match="No space left"):
            monitor.commit()
    with copied("before") as copy:
        assert copy.schema is None
    for number in (1, 2):
        monitor.commit()
        assert (sum(path.stat().st_size for path in folder.glob("log-*")) < 100) == (number == 1)
        with copied(f"after {number}") as copy:
            assert copy.table().equals(monitor.table())
            assert copy.counts == monitor.counts
        monitor.insert(table_of([(-number, 0, "", 0, 0)]))
    monitor.close()


def test_a_commit_stands_where_no_thread_can_be_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        monitor = begun(folder, 1, log_rows=0)
    carry_out(monitor, 2)
    with pytest.warns(RuntimeWarning, match="can't start new thread"):
        monitor.commit()
    monitor.close()
    assert check_whole(folder, 2) == 2


def test_files_do_not_pile_up(folder: Path) -> None:
    most = 0
    monitor = begun(folder, 1, log_rows=0)
    for batch in range(2, 60):
        carry_out(monitor, batch)
        monitor.commit()
        most = max(most, len(list(folder.iterdir())))
    monitor.close()
    assert most < 100
    assert check_whole(folder, 59) == 59


def test_rules_that_come_and_go_are_kept_with_what_their_columns_held(folder: Path) -> None:
    with begun(folder, 3) as monitor:
        assert monitor.add(MORE) == {"city_fixes_zip": rf.count(monitor.table(), MORE)}
        monitor.commit()
        assert described(folder)["commits"] == 4
        monitor.drop("city_fixes_zip")
        monitor.commit()
        monitor.drop("zip_fixes_city")
        monitor.commit()
        monitor.add("zip -> city")
    assert described(folder)["commits"] == 7
    with rf.Monitor.open(folder) as monitor:
        assert [rule.name for rule in monitor.rules][-1] == "zip_fixes_city"
        monitor.insert(pa.table({"id": [-1], "zip": [1], "city": ["city 1"], "pay": [0], "tax": [0]}))
        for rule in monitor.rules:
            assert monitor.count(rule) == rf.count(monitor.table(), rule)


def test_a_rule_that_is_added_sees_nulls_that_came_before_it() -> None:
    monitor = rf.Monitor("not(s.z == t.z and s.a < t.a)", key="id")
    monitor.insert(pa.table({"id": [1, 2], "z": [1, 1], "a": pa.array([None, 1]), "b": [1, 2]}))
    monitor.add("not(s.z == t.z and s.b < t.b)")
    monitor.insert(pa.table({"id": [3], "z": [1], "a": [1], "b": [9]}))
    assert list(monitor.counts.values()) == [0, 3]


def test_keys_are_known_under_new_rules() -> None:
    monitor = rf.Monitor("zip -> city", key="id")
    row = pa.table({"id": [1], "zip": [1], "city": ["a"]})
    monitor.insert(row)
    monitor.add("city -> zip")
    with pytest.raises(DataError, match="already exist"):
        monitor.insert(row)
    monitor.delete([1])
    assert len(monitor) == 0


def bad_inputs(monitor: rf.Monitor) -> list[Callable[[], object]]:
    row = pa.table({"id": [0], "zip": [1], "city": ["a"], "pay": [1], "tax": [1]})
    new = row.set_column(0, "id", pa.array([-5]))
    return [
        lambda: monitor.insert(row),
        lambda: monitor.insert(pa.concat_tables([new, new])),
        lambda: monitor.insert(new.drop_columns(["city"])),
        lambda: monitor.insert(new.set_column(1, "zip", pa.array(["no number"]))),
        lambda: monitor.insert(new.set_column(0, "id", pa.array([None], pa.int64()))),
        lambda: monitor.update(new),
        lambda: monitor.delete([0, -5]),
        lambda: monitor.delete([0, 0]),
        lambda: monitor.apply(new.append_column("op", pa.array(["upsert"]))),
        lambda: monitor.add("zip -> town"),
        lambda: monitor.add("zip -> city"),
        lambda: monitor.drop("no such rule"),
    ]


def test_bad_input_loses_nothing(folder: Path) -> None:
    monitor = begun(folder, 2)
    carry_out(monitor, 3)
    for bad in bad_inputs(monitor):
        with pytest.raises(RefuteError):
            bad()
    monitor.commit()
    for bad in bad_inputs(monitor):
        with pytest.raises(RefuteError):
            bad()
    monitor.close()
    with pytest.raises(OptionError, match="closed"):
        monitor.commit()
    assert check_whole(folder, 3) == 3


def test_readers_see_whole_batches_while_others_write(folder: Path) -> None:
    """Every batch is of three rows in a group of their own, of which two clash: four pairs, in both orders."""
    monitor = rf.Monitor.open(folder, "zip -> city", key="id", log_rows=20)
    wrong: list[object] = []
    numbers = iter(range(10**6))
    ended = threading.Event()

    def batch(number: int) -> pa.Table:
        return pa.table({"id": [3 * number + n for n in range(3)], "zip": [number] * 3, "city": ["a", "a", "b"]})

    def write() -> None:
        for _ in range(25):
            number = next(numbers)
            monitor.insert(batch(number))
            if number % 3 == 0:
                monitor.delete([3 * number, 3 * number + 1, 3 * number + 2])
            monitor.commit()

    def read() -> None:
        while not ended.is_set():
            rows, marked = monitor.table().num_rows, monitor.rows.num_rows
            count = monitor.report().results[0].finding.violations or 0
            clashes = len(list(monitor.violations("zip_fixes_city")))
            if rows % 3 or len(monitor) % 3 or marked % 3 or clashes % 4 or count % 4:
                wrong.append((rows, marked, clashes, count))

    monitor.insert(batch(next(numbers)))
    writers = [threading.Thread(target=write) for _ in range(3)]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join()
    ended.set()
    for thread in readers:
        thread.join()
    monitor.close()
    assert not wrong
    with rf.Monitor.open(folder) as monitor:
        assert len(monitor) == 3 * (76 - 25)
        assert monitor.count("zip_fixes_city") == rf.count(monitor.table(), "zip -> city") == 4 * (76 - 25)
