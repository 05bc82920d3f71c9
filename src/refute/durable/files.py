"""Files of arrays: Arrow IPC with one row of lists, which are mapped rather than read."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.errors import DataError, ended

FORMAT = b"refute.format"
VERSION = 1
PACKED = pa.ipc.IpcWriteOptions(compression="zstd")
_CHUNK = 1 << 20  # bytes at a time, which a processor has at hand still when they are used a second time


def write_file(path: Path, table: pa.Table, facts: Mapping[str, Any], *, packed: bool = False) -> dict[str, Any]:
    """Writes a table to a new file, which is on the disk when this returns; its size and checksum.

    A `packed` file is compressed: a third of the size, but read rather than mapped when it is opened.
    """
    stated = json.dumps({"version": VERSION, **facts}).encode()
    marked = table.replace_schema_metadata({FORMAT: stated})
    with open(path, "wb", buffering=0) as stream:
        summed = _Summed(stream.fileno())
        with (
            pa.PythonFile(summed, "w") as sink,
            pa.ipc.new_file(sink, marked.schema, options=PACKED if packed else None) as writer,
        ):
            writer.write_table(marked)
        os.fsync(stream.fileno())
    return {"bytes": summed.size, "crc": summed.crc}


class _Summed:
    """A file that is summed up while it is written, so nothing is read again for that: what Arrow calls on a file."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._room = bytearray()
        self.size = self.crc = 0
        self.closed = False

    def write(self, data: Any) -> int:
        """Appends all of some bytes.

        They are copied first: Arrow pads a column with what lies behind it in memory, which others may be filling.
        """
        whole = memoryview(data).cast("B")
        if len(self._room) < min(_CHUNK, len(whole)):
            self._room = bytearray(min(_CHUNK, len(whole)))
        for start in range(0, len(whole), _CHUNK):
            left = memoryview(self._room)[: min(_CHUNK, len(whole) - start)]
            left[:] = whole[start : start + _CHUNK]
            self.crc = zlib.crc32(left, self.crc)
            while left:
                left = left[os.write(self._handle, left) :]
        self.size += len(whole)
        return len(whole)

    def tell(self) -> int:
        """How many bytes were written."""
        return self.size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Hears that no more comes; who has opened the stream closes it."""
        self.closed = True


def read_file(path: Path, expected: Mapping[str, Any], *, verify: bool) -> tuple[pa.Table, dict[str, Any]]:
    """The table of a file, mapped, and its facts; raises DataError that names a file which is not as it was written."""
    try:
        size = path.stat().st_size
        if size != expected["bytes"]:
            raise DataError(
                f"{path} is damaged: it has {size:,} bytes instead of {expected['bytes']:,}.", path=str(path)
            )
        if verify and checksum(path) != expected["crc"]:
            raise DataError(f"{path} is damaged: its checksum does not match.", path=str(path))
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        facts = json.loads((table.schema.metadata or {})[FORMAT])
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; the folder cannot be opened without it.", path=str(path)) from error
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise DataError(f"{path} cannot be read as a file of Refute: {ended(str(error))}", path=str(path)) from error
    refuse_newer(path, facts.get("version"))
    return table, facts


def refuse_newer(path: Path, version: Any) -> None:
    """Raises DataError for a file of a later format, or of none."""
    if not isinstance(version, int) or version < 1:
        raise DataError(f"{path} is not a file of Refute.", path=str(path))
    if version > VERSION:
        raise DataError(
            f"{path} has format {version}, and this version of Refute reads formats up to {VERSION}. Upgrade Refute.",
            path=str(path),
        )


def checksum(path: Path) -> int:
    """The CRC-32 of a file."""
    found = 0
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def lists(arrays: Mapping[str, NDArray[Any]]) -> pa.Table:
    """Arrays of any lengths as one row of lists."""
    columns = {}
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        values = pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [None, pa.py_buffer(flat)])
        columns[name] = pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), values)
    return pa.table(columns)


def unlisted(table: pa.Table, name: str, dtype: Any) -> NDArray[Any]:
    """One array of such a row. It may be written to, and the file is not: kernels are made for arrays of that kind."""
    values = table.column(name).chunk(0).values
    buffer = values.buffers()[1]
    if len(values) == 0 or buffer is None:
        return np.empty(0, dtype)
    found = np.frombuffer(buffer, dtype, len(values), values.offset * np.dtype(dtype).itemsize)
    address = found.__array_interface__ | {"data": (found.__array_interface__["data"][0], False)}
    return np.asarray(_BufferMemory(address, buffer))


class _BufferMemory:
    """Memory of a buffer as an array, which keeps the buffer."""

    def __init__(self, interface: dict[str, Any], buffer: pa.Buffer) -> None:
        self.__array_interface__ = interface
        self._buffer = buffer
