"""What the tasks of one batch leave for each other: files in a folder that all of them see. Spark moves names alone.

A task that runs again, after a loss or beside an attempt that is slow, leaves a file of its own. Whoever waits for it
reads the one that Spark names.

Tasks choose which shards they take: a process that has a shard in memory asks for it, as Spark runs tasks in any of its
processes. A task that runs again takes what it has taken before.
"""

from __future__ import annotations

import os
import struct
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.errors import EngineError
from refute.watching.shards.files import not_shared

Message = tuple[int, Sequence[Any]]  # the shard that it is for, and what it says, as buffers that belong together
SUFFIX = ".step"

_ENTRY = struct.Struct("<qQQ")  # a shard, and where its bytes are
_COUNT = struct.Struct("<Q")
_ALIGNED = 64
_LOOKS, _PAUSE_S = 100, 0.05  # at places that are taken, before a task gives up


class Exchange:
    """The files of one batch, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, sender: str, messages: Iterable[Message]) -> str:
        """Leaves the messages of a sender; the name that they are under, which no other attempt has."""
        place, entries = 0, []
        name = f"{sender}-{uuid.uuid4().hex}"
        try:
            with open(self.folder / name, "xb") as stream:
                for shard, parts in messages:
                    start = place
                    for part in parts:
                        place += stream.write(part)
                    entries.append(_ENTRY.pack(shard, start, place - start))
                    place += stream.write(bytes(-place % _ALIGNED))
                stream.write(b"".join([*entries, _COUNT.pack(len(entries))]))
        except FileNotFoundError as error:
            raise not_shared(self.folder) from error
        return name

    def read(self, name: str, wanted: Callable[[int], bool]) -> Iterator[tuple[int, pa.Buffer]]:
        """The messages under a name for the shards that are wanted."""
        try:
            with open(self.folder / name, "rb") as stream:
                end = stream.seek(-_COUNT.size, os.SEEK_END)
                (count,) = _COUNT.unpack(stream.read(_COUNT.size))
                stream.seek(end - count * _ENTRY.size)
                for shard, start, length in list(_ENTRY.iter_unpack(stream.read(count * _ENTRY.size))):
                    if wanted(shard):
                        stream.seek(start)
                        yield shard, pa.py_buffer(stream.read(length))
        except FileNotFoundError as error:
            raise not_shared(self.folder) from error

    def place(self, stage: str, part: int, order: Sequence[int]) -> int:
        """The place of a task among those of its stage, the first in an order that nobody else has.

        It is the same one when the task runs again, at once or later.
        """
        own = self.folder / f"{stage}-part-{part}"
        draft = self.folder / f".{uuid.uuid4().hex}"
        try:
            for _ in range(_LOOKS):
                if own.exists():
                    return int(own.read_text())
                for place in order:
                    taken = self.folder / f"{stage}-place-{place}"
                    draft.write_text(str(place))
                    if not _linked(draft, taken):
                        continue
                    draft.unlink()  # two files from here on
                    draft.write_text(str(place))
                    if _linked(draft, own):
                        return place
                    taken.unlink()  # as another attempt was quicker
                    break
                else:
                    time.sleep(_PAUSE_S)
        except FileNotFoundError as error:
            raise not_shared(self.folder) from error
        finally:
            draft.unlink(missing_ok=True)
        raise EngineError(
            "A task of the batch found no shards left to work on, as happens when an executor is lost. Nothing was "
            "changed. Start the watch again.",
            value=part,
        )


def sender_of(name: str) -> str:
    """Who has left the messages under a name."""
    return name.rpartition("-")[0]


def _linked(draft: Path, path: Path) -> bool:
    """Gives a file that is whole its name; False where another one has it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    return True
