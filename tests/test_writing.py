"""Files appear whole or not at all, whatever kills the writer, and whatever the disk says."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from refute import writing
from refute.cli.app import run
from refute.errors import OptionError
from refute.writing import replacing, replacing_folder, write_text

OLD, NEW = "old\n" * 3, "new and much longer\n" * 20_000
REPORT = rf.check(pa.table({"zip": [1, 1], "city": ["a", "b"]}), "zip -> city")


def leftovers(folder: Path) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.name.endswith(".part")]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path, sign: signal.Signals) -> None:
    target = tmp_path / "report.txt"
    for moment in range(25):
        write_text(target, OLD)
        child = _writing_for_ever(target, sign)
        time.sleep(0.001 * moment)
        _end(child, sign)
        assert target.read_text(encoding="utf-8") in (OLD, NEW)
        if sign == signal.SIGINT:
            assert not leftovers(tmp_path)


def _end(child: int, sign: signal.Signals) -> None:
    """Send the signal until the process has ended: Python drops an interrupt that comes while it collects garbage.

    It gets long enough to tidy up, so that no second one comes while it does.
    """
    while True:
        os.kill(child, sign)
        for _ in range(500):
            if os.waitpid(child, os.WNOHANG)[0]:
                return
            time.sleep(0.01)


def _writing_for_ever(target: Path, sign: signal.Signals) -> int:
    """The number of a process that writes a file again and again; it meets no signal before it can answer to it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [sign])
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return child
    try:
        if sign == signal.SIGTERM:
            signal.signal(sign, signal.SIG_DFL)
        elif sign == signal.SIGINT:  # which processes in the background may have been told to ignore
            signal.signal(sign, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [sign])
        while True:
            write_text(target, NEW)
            write_text(target, OLD)
    finally:
        os._exit(3)


def in_child(code: str, *, most: int, folder: Path) -> str:
    """What a process says on stderr that can write no file of more than some bytes."""
    # The child limits itself: what runs between fork and exec meets the threads of other libraries.
    prelude = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
"""
    done = subprocess.run(
        [sys.executable, "-c", prelude + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


@pytest.mark.parametrize("existing", [True, False])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, existing: bool) -> None:
    if existing:
        (tmp_path / "out.txt").write_text(OLD, encoding="utf-8")
    code = "from refute.writing import write_text; write_text('out.txt', 'x' * 9999)"
    told = in_child(code, most=4096, folder=tmp_path)
    assert "Cannot write to 'out.txt': File too large" in told
    assert [file.name for file in tmp_path.iterdir()] == ["out.txt"] * existing
    assert not existing or (tmp_path / "out.txt").read_text(encoding="utf-8") == OLD


def test_a_full_disk_leaves_no_violations_rather_than_some(tmp_path: Path) -> None:
    pq.write_table(pa.table({"zip": [1] * 600, "city": list(range(600))}), tmp_path / "data.parquet")
    command = ["check", "data.parquet", "zip -> city", "--engine", "local", "-q"]
    command += ["--violations", "out", "--json", "r.json"]
    code = f"import sys; from refute.cli.app import run; sys.exit(run({command}))"
    assert "Cannot write to 'out/zip_fixes_city.parquet': " in in_child(code, most=20_000, folder=tmp_path)
    assert (tmp_path / "r.json").exists()
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["to_json", "to_html", "to_junit"])
def test_reports_and_rule_files_keep_what_was_there_when_they_cannot_be_written(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report"
    target.write_text(OLD, encoding="utf-8")

    def full(handle: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OptionError, match="No space left"):
        getattr(REPORT, name)(target)
    with pytest.raises(OptionError, match="No space left"):
        rf.RuleBook.of("zip -> city").to_yaml(target)
    assert target.read_text(encoding="utf-8") == OLD
    assert not leftovers(tmp_path)


def test_an_interrupted_listing_leaves_no_file_with_some_of_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"zip": [1] * 600, "city": list(range(600))}), tmp_path / "data.parquet")
    command = ["check", str(tmp_path / "data.parquet"), "zip -> city", "--engine", "local", "--violations"]
    assert run([*command, str(tmp_path / "out")]) == 1
    whole = (tmp_path / "out" / "zip_fixes_city.parquet").read_bytes()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["_SUCCESS", "zip_fixes_city.parquet"]
    write = pq.ParquetWriter.write_batch
    written = []

    def interrupted(writer: pq.ParquetWriter, batch: pa.RecordBatch) -> None:
        write(writer, batch)
        written.append(batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", interrupted)
    for folder in ("out", "other"):
        assert run([*command, str(tmp_path / folder)]) == 3
    assert len(written) == 2
    assert (tmp_path / "out" / "zip_fixes_city.parquet").read_bytes() == whole
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["zip_fixes_city.parquet"]  # and nothing says: all
    assert not list((tmp_path / "other").iterdir())


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_a_killed_command_leaves_all_violations_or_none(tmp_path: Path, sign: signal.Signals) -> None:
    pq.write_table(pa.table({"zip": [1] * 2_000, "city": list(range(2_000))}), tmp_path / "data.parquet")
    command = ["check", "data.parquet", "zip -> city", "--engine", "local", "-q", "--violations", "out"]
    code = f"import sys; from refute.cli.app import run; sys.exit(run({command}))"
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
    )
    while child.poll() is None and not (tmp_path / "out").exists():
        time.sleep(0.01)
    time.sleep(0.15)  # while four million pairs are written
    child.send_signal(sign)
    child.communicate()
    file = tmp_path / "out" / "zip_fixes_city.parquet"
    assert not file.exists() or pq.read_table(file).num_rows == 2_000 * 1_999
    assert file.exists() or not (tmp_path / "out" / "_SUCCESS").exists()
    if sign == signal.SIGINT:
        assert not leftovers(tmp_path)


def test_permissions_and_links_stay_as_they_are(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text(OLD, encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to("target.txt")
    write_text(link, NEW)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == NEW
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new.txt", NEW)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


def test_pipes_and_devices_are_written_as_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text(encoding="utf-8")))
    reader.start()
    REPORT.to_json(tmp_path / "pipe")
    reader.join(timeout=60)
    assert read == [REPORT.to_json()]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    REPORT.to_json("/dev/stdout")
    assert capfd.readouterr().out == REPORT.to_json()
    REPORT.to_json("/dev/null")


@pytest.mark.parametrize(("name", "problem"), [("no/such/file", "No such file"), (".", "Is a directory")])
def test_what_cannot_be_written_is_said(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(OptionError, match=f"Cannot write .*{problem}"):
        write_text(tmp_path / name, NEW)


def test_names_as_long_as_the_file_system_takes_can_be_written(tmp_path: Path) -> None:
    write_text(tmp_path / ("n" * 255), OLD)
    assert (tmp_path / ("n" * 255)).read_text(encoding="utf-8") == OLD


def test_a_folder_takes_the_place_of_another_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    for number in (1, 2):
        with replacing_folder(target) as draft:
            draft.mkdir()
            (draft / f"file{number}").touch()
        assert [file.name for file in target.iterdir()] == [f"file{number}"]
    with pytest.raises(KeyboardInterrupt), replacing_folder(target) as draft:
        _made_and_interrupted(draft)
    with pytest.raises(OptionError, match="Cannot write"), replacing_folder(target):
        pass  # nothing was made
    assert [file.name for file in target.iterdir()] == ["file2"]
    assert not leftovers(tmp_path)


def test_a_killed_process_leaves_the_folder_of_before_or_the_new_one(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    ways = set()
    for step in range(1, 20):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        (target / "file").write_text("old")
        child = os.fork()
        if child == 0:
            try:
                _killed_at(step, target)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        found = [file.read_text() for file in sorted(target.iterdir())]
        assert found in (["old"], ["new", "new"])
        ways.add((os.WIFSIGNALED(status), len(found)))
        if not os.WIFSIGNALED(status):
            break
    assert ways == {(True, 1), (True, 2), (False, 2)}
    assert not leftovers(tmp_path)  # the last one swept up after those that were killed


def test_a_writer_leaves_the_draft_of_another_that_is_alive(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with replacing_folder(target) as slow:
        slow.mkdir()
        with replacing_folder(target) as fast:
            fast.mkdir()
            (fast / "fast").touch()
        (slow / "slow").touch()
    assert [file.name for file in target.iterdir()] == ["slow"]
    assert not leftovers(tmp_path)


def test_a_folder_of_a_writer_that_was_killed_before_it_wrote_goes(tmp_path: Path) -> None:
    (tmp_path / ".folder-0123456789abcdef.part").mkdir()
    with replacing_folder(tmp_path / "folder") as draft:
        draft.mkdir()
    assert not leftovers(tmp_path)


def test_a_writer_whose_folder_was_swept_before_it_was_locked_takes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[Path] = []
    locked = writing._locked

    def late(folder: Path, *, wait: bool = False) -> int | None:
        if not swept:
            swept.append(folder)
            writing._sweep(tmp_path / "folder")
        return locked(folder, wait=wait)

    monkeypatch.setattr(writing, "_locked", late)
    with replacing_folder(tmp_path / "folder") as draft:
        assert not swept[0].exists()
        draft.mkdir()
        (draft / "file").touch()
    assert [file.name for file in (tmp_path / "folder").iterdir()] == ["file"]
    assert not leftovers(tmp_path)


def _killed_at(step: int, target: Path) -> None:
    """Replace a folder by one of two files; the process is killed before its given step that touches a file."""
    left = step

    def killing(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **more)

        return called

    os.rename, writing._to_disk = killing(os.rename), killing(writing._to_disk)
    writing._exchanged = killing(writing._exchanged)
    shutil.rmtree = killing(shutil.rmtree)  # type: ignore[assignment]
    with replacing_folder(target) as draft:
        draft.mkdir()
        for name in ("one", "two"):
            (draft / name).write_text("new")


def test_a_link_to_a_folder_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "above" / "folder", tmp_path / "link"
    link.symlink_to(target)
    for number in (1, 2):
        with replacing_folder(link) as draft:
            draft.mkdir()
            (draft / f"file{number}").touch()
        assert link.is_symlink()
        assert [file.name for file in target.iterdir()] == [f"file{number}"]
    assert not leftovers(tmp_path)
    assert not leftovers(target.parent)


def _made_and_interrupted(folder: Path) -> None:
    folder.mkdir()
    raise KeyboardInterrupt


def test_an_error_in_the_block_leaves_what_was_there(tmp_path: Path) -> None:
    write_text(tmp_path / "file", OLD)
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file") as draft:
        draft.write_text("half" * (1 // 0), encoding="utf-8")
    assert (tmp_path / "file").read_text(encoding="utf-8") == OLD
    assert not leftovers(tmp_path)
