"""A log of batches: frames that are appended and brought to the disk, one for each commit."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import weakref
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.durable.files import VERSION, refuse_newer
from refute.errors import DataError, EngineError, ended
from refute.writing import replacing

Longs = NDArray[np.int64]
Bytes = bytes | memoryview

_START = struct.Struct("<8sII")  # magic, version, number of the log
START = _START.size  # bytes of a log without frames
_FRAME = struct.Struct("<4sIQQI")  # magic, checksum of what follows, its length, number of the commit, own checksum
_MAGIC, _FRAME_MAGIC = b"RFT-LOG\n", b"FRAM"
_UNWRITTEN = bytes(8)  # how no frame ends: an Arrow stream has other bytes there


@dataclass(frozen=True, slots=True)
class Logged:
    """One change of rows: the slots that went, and the rows that came."""

    gone: Longs
    table: pa.Table

    @property
    def rows(self) -> int:
        """How many rows go and come."""
        return len(self.gone) + len(self.table)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: facts about the state after it, its changes in their order, and what these do not show."""

    number: int
    facts: dict[str, Any]
    changes: list[Logged]
    beside: bytes  # an Arrow stream, or nothing


class Tail(NamedTuple):
    """How far a log reaches: bytes, commits, and the version of the state that these give."""

    length: int
    commits: int
    version: int


class Log:
    """A file that is only ever appended to. What a killed process began to write at its end is left out.

    `tail` changes at once, so a commit that is interrupted at any point is written, or will be by the next one.
    """

    def __init__(self, path: Path, number: int, tail: Tail) -> None:
        self.path = path
        self.number = number
        self.tail = tail
        self._handle = os.open(path, os.O_RDWR)
        self.close = weakref.finalize(self, os.close, self._handle)  # lets the file go, once
        self.cut()

    @classmethod
    def create(cls, path: Path, number: int, commits: int, version: int) -> Log:
        """A new log without frames; raises OptionError where it cannot be written."""
        with replacing(path) as draft:
            draft.write_bytes(_START.pack(_MAGIC, VERSION, number))
        return cls(path, number, Tail(START, commits, version))

    def append(self, version: int, facts: dict[str, Any], changes: Sequence[Logged], beside: bytes = b"") -> int:
        """Appends a commit and waits until it is on the disk; its bytes. Where that fails, the log is as before."""
        length, commits = self.tail.length, self.tail.commits + 1
        frame = _framed(_packed(facts, changes, beside), commits)
        try:
            self.cut()
            os.lseek(self._handle, length, os.SEEK_SET)
            for part in frame:
                _write(self._handle, part)
            os.fsync(self._handle)
        except BaseException as error:
            with contextlib.suppress(OSError):  # the next commit tries again
                self.cut()
            if isinstance(error, OSError):
                raise EngineError(
                    f"Cannot write {self.path}: {error.strerror}. What is on disk is as it was before this commit. "
                    "Commit again once it can be written.",
                    path=str(self.path),
                    reason=str(error.strerror),
                ) from error
            raise
        size = sum(map(len, frame))
        self.tail = Tail(length + size, commits, version)
        return size

    def cut(self) -> None:
        """Takes away what is beyond the last commit, if something is."""
        if os.fstat(self._handle).st_size != self.tail.length:
            os.ftruncate(self._handle, self.tail.length)
            os.fsync(self._handle)


def read_log(path: Path, number: int, *, last: bool) -> tuple[list[Commit], int]:
    """The frames of a log, and where the last of them ends; raises DataError where it is damaged.

    In the last log of a folder, a frame that was not written to its end is left out: its commit was never
    acknowledged. In others all frames were.
    """
    frames = []
    try:
        held = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; the folder cannot be opened without it.", path=str(path)) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {ended(error.strerror or str(error))}", path=str(path)) from error
    if len(held) < START:
        raise DataError(f"{path} is damaged: it ends too early.", path=str(path))
    magic, version, own = _START.unpack_from(held)
    if magic != _MAGIC or own != number:
        raise DataError(f"{path} is not a log of this folder.", path=str(path))
    refuse_newer(path, version)
    end = START
    while end < len(held):
        frame = _frame_at(path, held, end)
        if frame is None:
            break
        frames.append(frame[0])
        end = frame[1]
    if end < len(held) and not last:
        raise DataError(f"{path} is damaged at byte {end:,}: it ends too early.", path=str(path))
    return frames, end


def _frame_at(path: Path, held: bytes, start: int) -> tuple[Commit, int] | None:
    """A frame and where it ends; None if it was not written to its end; raises DataError where it is damaged."""
    body = start + _FRAME.size
    if body > len(held):
        return None
    magic, crc, length, commit, own = _FRAME.unpack_from(held, start)
    if magic != _FRAME_MAGIC or own != zlib.crc32(held[start : body - 4]):
        if not any(held[start:]):  # the machine stopped when there was room for it, and no more
            return None
        raise DataError(f"{path} is damaged at byte {start:,}.", path=str(path))
    end = body + length
    if end > len(held):
        return None
    payload = held[body:end]
    if zlib.crc32(payload) != crc:
        if end == len(held) and payload.endswith(_UNWRITTEN):  # the machine stopped, and part of the frame is missing
            return None
        raise DataError(f"{path} is damaged at byte {start:,}: its checksum does not match.", path=str(path))
    return _unpacked(commit, payload), end


def _framed(payload: Sequence[Bytes], commit: int) -> list[Bytes]:
    """A frame in parts, which are written one after the other: large ones are not copied for it."""
    crc = 0
    for part in payload:
        crc = zlib.crc32(part, crc)
    head = _FRAME.pack(_FRAME_MAGIC, crc, sum(map(len, payload)), commit, 0)[:-4]
    return [head + struct.pack("<I", zlib.crc32(head)), *payload]


def sync_folder(path: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # not every file system brings names to the disk
        return
    finally:
        os.close(handle)


def _write(handle: int, data: Bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _packed(facts: dict[str, Any], changes: Sequence[Logged], beside: bytes) -> list[Bytes]:
    sizes = []
    parts: list[Bytes] = [beside]
    for change in changes:
        rows = _stream_of(change.table)
        gone = change.gone.astype("<i8", copy=False).tobytes()
        sizes.append([len(gone), len(rows)])
        parts += [gone, rows]
    told = {**facts, "changes": sizes, **({"beside": len(beside)} if beside else {})}
    head = json.dumps(told).encode()
    return [struct.pack("<I", len(head)) + head, *parts]


def _stream_of(table: pa.Table) -> memoryview:
    """A table as an Arrow stream, in memory that is fetched at once: what grows is copied as often as it does."""
    sized = pa.MockOutputStream()
    _write_stream(sized, table)
    found = pa.allocate_buffer(sized.size())
    with pa.FixedSizeBufferWriter(found) as sink:
        _write_stream(sink, table)
    return memoryview(found)


def _write_stream(sink: pa.NativeFile, table: pa.Table) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _unpacked(number: int, payload: bytes) -> Commit:
    (length,) = struct.unpack_from("<I", payload)
    facts = json.loads(payload[4 : 4 + length])
    place = 4 + length
    beside = payload[place : place + facts.pop("beside", 0)]
    return Commit(number, facts, list(_changes(facts.pop("changes"), payload, place + len(beside))), beside)


def _changes(sizes: list[list[int]], payload: bytes, place: int) -> Iterator[Logged]:
    for gone, rows in sizes:
        slots = np.frombuffer(payload, "<i8", gone // 8, place).astype(np.int64)
        table = pa.ipc.open_stream(pa.py_buffer(payload[place + gone : place + gone + rows])).read_all()
        yield Logged(slots, table)
        place += gone + rows
