"""A file of a monitor that is damaged, cut short, foreign, missing or newer is refused by its name."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import refute as rf
from committing import RULES, carry_out, check_whole
from refute.durable.files import VERSION, read_file, write_file
from refute.durable.log import read_log
from refute.durable.manifest import read_manifest, write_manifest
from refute.errors import DataError
from refute.live.overview import described

KINDS = ("manifest", "rules", "rows", "alive", "pairs", "run", "values", "log")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A monitor with files of every kind, and a log of several commits."""
    folder = tmp_path_factory.mktemp("kept") / "monitor"
    with rf.Monitor.open(folder, list(RULES), key="id") as monitor:
        for batch in range(1, 9):
            carry_out(monitor, batch)
            monitor.commit()
    with rf.Monitor.open(folder) as monitor:
        for batch in range(9, 12):
            carry_out(monitor, batch)
            monitor.commit()
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(kept, tmp_path / "monitor"))


def a_file(folder: Path, kind: str) -> Path:
    """The largest file of a kind."""
    return max(folder.glob(f"{kind}*"), key=lambda path: (path.stat().st_size, path.name))


def assert_refused(folder: Path, file: Path) -> None:
    with pytest.raises(DataError) as refused:
        rf.Monitor.open(folder)
    assert file.name in str(refused.value)
    with pytest.raises(DataError):  # and the folder has been let go
        rf.Monitor.open(folder)


def as_killed(folder: Path) -> None:
    """Leaves a folder as one who was killed does, who said nothing of an end."""
    body = read_manifest(folder, "monitor")
    del body["sealed"]
    write_manifest(folder, body)


def flipped(held: bytes, place: int) -> bytes:
    return held[:place] + bytes([held[place] ^ 1]) + held[place + 1 :]


@pytest.mark.parametrize("kind", KINDS)
def test_a_byte_that_is_not_as_it_was_written_is_found(folder: Path, kind: str) -> None:
    file = a_file(folder, kind)
    held = file.read_bytes()
    for place in sorted({0, 9, 14, *range(0, len(held), len(held) // 12 + 1), len(held) - 1}):
        file.write_bytes(flipped(held, place))
        assert_refused(folder, file)
    file.write_bytes(held)
    rf.Monitor.open(folder).close()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "log"])
def test_a_file_that_was_cut_short_is_found(folder: Path, kind: str) -> None:
    file = a_file(folder, kind)
    held = file.read_bytes()
    for length in (0, 1, len(held) // 2, len(held) - 2):
        file.write_bytes(held[:length])
        assert_refused(folder, file)


@pytest.mark.parametrize("kind", KINDS)
def test_a_foreign_file_is_found(folder: Path, kind: str) -> None:
    file = a_file(folder, kind)
    others = [a_file(folder, other) for other in KINDS if other != kind]
    for foreign in (b"", b"{}", b"\0" * 4096, b"[" * 100_000, *(other.read_bytes() for other in others)):
        file.write_bytes(foreign)
        assert_refused(folder, file)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "manifest"])
def test_a_file_that_is_missing_is_found(folder: Path, kind: str) -> None:
    file = a_file(folder, kind)
    file.unlink()
    assert_refused(folder, file)
    file.mkdir()
    assert_refused(folder, file)


def test_a_monitor_whose_manifest_is_missing_is_not_begun_anew(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    before = sorted(folder.iterdir())
    for rules in (None, list(RULES)):
        with pytest.raises(DataError, match=r"manifest\.json"):
            rf.Monitor.open(folder, rules, key="id")
    assert sorted(folder.iterdir()) == before


def test_any_byte_of_a_log_that_is_not_as_written_is_found(folder: Path) -> None:
    file = a_file(folder, "log")
    held = file.read_bytes()
    number = int(file.stem[4:])
    for place in range(len(held)):
        file.write_bytes(flipped(held, place))
        with pytest.raises(DataError, match=file.name):
            read_log(file, number, last=True)


def test_the_end_of_a_log_that_was_never_acknowledged_is_left_out(folder: Path) -> None:
    file = a_file(folder, "log")
    held = file.read_bytes()
    number = int(file.stem[4:])
    whole, end = read_log(file, number, last=True)
    assert (len(whole), end) == (3, len(held))
    lengths = set()
    for length in range(16, len(held)):
        file.write_bytes(held[:length])
        frames, end = read_log(file, number, last=True)
        assert [frame.number for frame in frames] == [frame.number for frame in whole][: len(frames)]
        lengths.add(end)
        if end < length:
            with pytest.raises(DataError, match=file.name):  # others follow it, so all of it was
                read_log(file, number, last=False)
    assert len(lengths) == 3
    for zeros in (held + bytes(5000), held[: len(held) - 700] + bytes(700)):  # room was made, and nothing written
        file.write_bytes(zeros)
        assert len(read_log(file, number, last=True)[0]) == (3 if len(zeros) > len(held) else 2)
    as_killed(folder)
    with rf.Monitor.open(folder) as monitor:
        carry_out(monitor, 11)
    assert check_whole(folder, 11) == 11


def test_a_log_that_was_cut_short_after_it_was_closed_is_found(folder: Path) -> None:
    file = a_file(folder, "log")
    held = file.read_bytes()
    for length in (*range(16, len(held), len(held) // 10), len(held) - 1):
        file.write_bytes(held[:length])
        assert_refused(folder, file)
        with pytest.raises(DataError, match=file.name):
            described(folder)
    file.write_bytes(held)
    rf.Monitor.open(folder).close()


def test_a_log_between_others_that_is_missing_is_found(folder: Path) -> None:
    file = a_file(folder, "log")
    number = int(file.stem[4:])
    start = file.read_bytes()[:12]
    (folder / f"log-{number + 2:06}.frames").write_bytes(start + struct.pack("<I", number + 2))
    assert_refused(folder, folder / f"log-{number + 1:06}.frames")


def newer_manifest(folder: Path) -> Path:
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"refute": VERSION + 1}))
    return file


def newer_log(folder: Path) -> Path:
    file = a_file(folder, "log")
    held = file.read_bytes()
    file.write_bytes(held[:8] + struct.pack("<I", VERSION + 1) + held[12:])
    return file


def newer_rows(folder: Path) -> Path:
    body = read_manifest(folder, "monitor")
    entry = body["rows"][0]
    table = pa.ipc.open_file(folder / entry["file"]).read_all()
    entry |= write_file(folder / entry["file"], table, {"version": VERSION + 1})
    write_manifest(folder, body)
    return Path(folder / entry["file"])


def test_a_file_is_whole_although_room_behind_its_values_is_filled_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = np.frombuffer(b"value" + bytes(59), np.uint8).copy()  # a dictionary that grows has such room
    starts = pa.py_buffer(np.array([0, 5], np.int64))
    values = pa.Array.from_buffers(pa.large_binary(), 1, [None, starts, pa.py_buffer(held)])
    write = os.write

    def filling(handle: int, part: Any) -> int:
        held[5:] += 1
        return write(handle, part)

    monkeypatch.setattr(os, "write", filling)
    entry = write_file(tmp_path / "values.arrow", pa.table({"values": values}), {})
    assert held[5] > 0
    assert read_file(tmp_path / "values.arrow", entry, verify=True)[0].column("values").to_pylist() == [b"value"]


@pytest.mark.parametrize("newer", [newer_manifest, newer_log, newer_rows])
def test_a_newer_format_is_refused(folder: Path, newer: Callable[[Path], Path]) -> None:
    file = newer(folder)
    assert_refused(folder, file)
    with pytest.raises(
        DataError, match=f"has format {VERSION + 1}, and this version of Refute reads .* up to {VERSION}"
    ):
        rf.Monitor.open(folder)


def test_a_folder_with_other_files_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(DataError, match=r"letters\.txt"):
        rf.Monitor.open(tmp_path, list(RULES), key="id")
    assert (tmp_path / "letters.txt").read_text() == "dear"
    with pytest.raises(DataError, match="does not hold a monitor"):
        rf.Monitor.open(tmp_path)


def test_what_a_folder_holds_can_be_told_while_it_is_open(folder: Path) -> None:
    with rf.Monitor.open(folder) as monitor:
        told = described(folder)
        assert (told["rows"], told["counts"]) == (len(monitor), monitor.counts)
