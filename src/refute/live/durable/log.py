"""A log of batches: frames that are appended and brought to the disk, one for each commit."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.errors import DataError, EngineError
from refute.live.durable.files import VERSION, refuse_newer

Longs = NDArray[np.int64]

_START = struct.Struct("<8sII")  # magic, version, number of the log
_FRAME = struct.Struct("<4sIQQ")  # magic, checksum of what follows, its length, number of the commit
_MAGIC, _FRAME_MAGIC = b"RFT-LOG\n", b"FRAM"


@dataclass(frozen=True, slots=True)
class Logged:
    """One change of rows: the slots that went, and the rows that came."""

    gone: Longs
    table: pa.Table


@dataclass(frozen=True, slots=True)
class Frame:
    """One commit: facts about the state after it, and its changes in their order."""

    number: int
    facts: dict[str, Any]
    changes: list[Logged]


class Log:
    """A file that is only ever appended to. What a killed process began to write at its end is left out."""

    def __init__(self, path: Path, number: int, length: int) -> None:
        self.path = path
        self.number = number
        self._length = length
        self._handle = os.open(path, os.O_RDWR)
        os.ftruncate(self._handle, length)

    @classmethod
    def create(cls, path: Path, number: int) -> Log:
        """A new log without frames."""
        handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o666)
        try:
            _write(handle, _START.pack(_MAGIC, VERSION, number))
            os.fsync(handle)
        finally:
            os.close(handle)
        sync_folder(path.parent)
        return cls(path, number, _START.size)

    def append(self, number: int, facts: dict[str, Any], changes: Sequence[Logged]) -> int:
        """Appends a commit and waits until it is on the disk; its bytes. Where that fails, the log is as before."""
        payload = _packed(facts, changes)
        frame = _FRAME.pack(_FRAME_MAGIC, zlib.crc32(payload), len(payload), number)
        try:
            os.lseek(self._handle, self._length, os.SEEK_SET)
            _write(self._handle, frame)
            _write(self._handle, payload)
            os.fsync(self._handle)
        except BaseException as error:
            os.ftruncate(self._handle, self._length)
            if isinstance(error, OSError):
                raise EngineError(
                    f"cannot write {self.path}: {error.strerror}. What is on the disk is as before this commit; "
                    "commit again once it can be written"
                ) from error
            raise
        self._length += len(frame) + len(payload)
        return len(frame) + len(payload)

    def close(self) -> None:
        """Lets the file go."""
        os.close(self._handle)


def read_log(path: Path, number: int) -> tuple[list[Frame], int]:
    """The frames of a log, and where the last of them ends; raises DataError where it is damaged before its end."""
    frames = []
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        start = stream.read(_START.size)
        if len(start) < _START.size:
            raise DataError(f"{path} is damaged: it is cut short", file=str(path))
        magic, version, own = _START.unpack(start)
        if magic != _MAGIC or own != number:
            raise DataError(f"{path} is not a log of this monitor", file=str(path))
        refuse_newer(path, version)
        end = _START.size
        while end + _FRAME.size <= size:
            magic, crc, length, commit = _FRAME.unpack(stream.read(_FRAME.size))
            if magic != _FRAME_MAGIC:
                raise DataError(f"{path} is damaged at byte {end:,}", file=str(path))
            if end + _FRAME.size + length > size:
                break
            payload = stream.read(length)
            if zlib.crc32(payload) != crc:
                raise DataError(
                    f"{path} is damaged at byte {end:,}: its checksum is not the one written", file=str(path)
                )
            frames.append(_unpacked(commit, payload))
            end += _FRAME.size + length
    return frames, end


def sync_folder(path: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # not every file system brings names to the disk
        return
    finally:
        os.close(handle)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _packed(facts: dict[str, Any], changes: Sequence[Logged]) -> bytes:
    sizes = []
    parts = []
    for change in changes:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, change.table.schema) as writer:
            writer.write_table(change.table)
        rows = sink.getvalue().to_pybytes()
        gone = change.gone.astype("<i8", copy=False).tobytes()
        sizes.append([len(gone), len(rows)])
        parts += [gone, rows]
    head = json.dumps({**facts, "changes": sizes}).encode()
    return b"".join([struct.pack("<I", len(head)), head, *parts])


def _unpacked(number: int, payload: bytes) -> Frame:
    (length,) = struct.unpack_from("<I", payload)
    facts = json.loads(payload[4 : 4 + length])
    return Frame(number, facts, list(_changes(facts.pop("changes"), payload, 4 + length)))


def _changes(sizes: list[list[int]], payload: bytes, place: int) -> Iterator[Logged]:
    for gone, rows in sizes:
        slots = np.frombuffer(payload, "<i8", gone // 8, place).astype(np.int64)
        table = pa.ipc.open_stream(pa.py_buffer(payload[place + gone : place + gone + rows])).read_all()
        yield Logged(slots, table)
        place += gone + rows
