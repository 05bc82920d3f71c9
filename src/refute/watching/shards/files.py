"""The files of shards: what changed in them, one file for each task and batch, and which of these a shard is in."""

from __future__ import annotations

import os
import socket
import struct
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from refute.durable.log import sync_folder
from refute.errors import DataError, EngineError, ended

_HEAD = struct.Struct("<16sQQ")  # the token of a change, the bytes of the keys that go, of the rows that come
SUFFIX = ".changes"


class KeyedChange(NamedTuple):
    """What changed in a shard: the keys of rows that went, rows that came, and a name that no other change has."""

    token: str
    gone: pa.Table
    came: pa.Table


class Region(NamedTuple):
    """Some changes of one shard, in their order, as bytes of a file."""

    file: str
    start: int
    length: int
    changes: int
    crc: int


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """Where a shard is: all its rows at some moment, and changes since.

    Two that have the same `start`, `changes` and `token` have the same rows.
    """

    start: str  # the token of the rows at the beginning; the name of the layout where there were none
    base: Region | None = None
    tail: tuple[Region, ...] = ()
    changes: int = 0  # since then
    token: str = ""  # of the last one
    rows: int = 0  # that it has
    late: int = 0  # that came or went since the beginning

    def to_list(self) -> list[Any]:
        """The same as what JSON holds."""
        base = None if self.base is None else list(self.base)
        return [self.start, base, [list(one) for one in self.tail], self.changes, self.token, self.rows, self.late]

    @classmethod
    def of(cls, said: list[Any]) -> ShardFiles:
        """What was written."""
        start, base, tail, *others = said
        return cls(start, None if base is None else Region(*base), tuple(Region(*one) for one in tail), *others)

    @property
    def regions(self) -> list[Region]:
        """All that it is in."""
        return [*([] if self.base is None else [self.base]), *self.tail]

    def after(self, folder: Path, done: int) -> Iterator[KeyedChange]:
        """The changes since the beginning, without the first so many; the last of these comes too, if there is one."""
        place = 0
        for region in self.tail:
            place += region.changes
            if place >= max(done, 1):
                changes = list(read_region(folder, region))
                yield from changes[max(done - 1 - (place - region.changes), 0) :]


def packed(table: pa.Table) -> pa.Buffer:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpacked(data: Any) -> pa.Table:
    """The table that bytes are."""
    return pa.ipc.open_stream(data).read_all()


def change_parts(gone: pa.Table, came: pa.Table) -> tuple[str, list[Any]]:
    """A change with a new token, and as bytes, in parts."""
    token = uuid.uuid4()
    keys, rows = packed(gone), packed(came)
    return token.hex, [_HEAD.pack(token.bytes, len(keys), len(rows)), keys, rows]


class ChangesFile:
    """What a task writes: the changes of all its shards, in one new file."""

    def __init__(self, folder: Path, version: int) -> None:
        self.folder = folder
        self.name = f"{version:012}-{uuid.uuid4().hex}{SUFFIX}"
        self._held: list[Any] = []
        self._length = 0

    def put(self, data: Sequence[Any], changes: int) -> Region:
        """Takes changes in as bytes, in parts; where these will be."""
        start, crc = self._length, 0
        for part in data:
            crc = zlib.crc32(part, crc)
            self._length += len(part)
        self._held += data
        return Region(self.name, start, self._length - start, changes, crc)

    def write(self) -> None:
        """Brings the file to the disk, unless there is nothing to write."""
        if not self._length:
            return
        path = self.folder / self.name
        try:
            with open(path, "xb") as stream:
                for part in self._held:
                    stream.write(part)
                stream.flush()
                os.fsync(stream.fileno())
            sync_folder(self.folder)
        except FileNotFoundError as error:
            raise not_shared(self.folder) from error


def bytes_of(folder: Path, region: Region) -> pa.Buffer:
    """The bytes of some changes; raises DataError where they are not as they were written."""
    path = folder / region.file
    try:
        with pa.memory_map(str(path)) as file:
            data = file.read_at(region.length, region.start) if region.length else b""
            found = pa.py_buffer(data)
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise not_shared(folder) from error
        raise DataError(f"{path} is missing; the watch cannot go on without it.", path=str(path)) from error
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {ended(str(error))}", path=str(path)) from error
    if len(found) != region.length or zlib.crc32(found) != region.crc:
        raise DataError(f"{path} is damaged: its checksum does not match.", path=str(path))
    return found


def read_region(folder: Path, region: Region) -> Iterator[KeyedChange]:
    """Some changes, in their order."""
    data = bytes_of(folder, region)
    place = 0
    while place < len(data):
        token, keys, rows = _HEAD.unpack(data.slice(place, _HEAD.size))
        place += _HEAD.size
        gone, came = data.slice(place, keys), data.slice(place + keys, rows)
        place += keys + rows
        yield KeyedChange(uuid.UUID(bytes=token).hex, unpacked(gone), unpacked(came))


def not_shared(folder: Path) -> EngineError:
    """The error where a task does not see the folder of a watch."""
    host = socket.gethostname()
    return EngineError(
        f"{host} does not see {folder}: rows on the executors need a folder that all machines of the cluster share, "
        "under the same path. Choose such a folder, or keep the rows in the driver with a larger driver_bytes.",
        path=str(folder),
        value=host,
    )


def not_written(path: Path) -> EngineError:
    """The error where a file that a task has written is not seen here."""
    return EngineError(
        f"A task has written {path.name}, which is not in {path.parent} here: rows on the executors need a folder that "
        "all machines of the cluster share, under the same path. Nothing was changed.",
        path=str(path),
    )
