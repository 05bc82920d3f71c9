"""The text of a JSON file, looked over before Arrow's parser gets it, which trusts that every line is an object."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.faults import unreadable

MOST_LEVELS = 500  # of nesting: Arrow's parser calls itself for each, and dies where its stack ends
LONG_NUMBER = 16  # digits from which on a float may not hold a whole number
ONE_A_LINE = "A JSON file holds one object per line."
_PIECE = 16 << 20  # bytes that are looked at together
_LARGEST_BLOCK = 2**31 - 2
_BLANK = b" \t\r\n"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
_OPENS = ord("{")


@dataclass(frozen=True, slots=True)
class JsonText:
    """The bytes of a file without a byte order mark, and what a look at all lines showed."""

    data: bytes
    longest: int  # bytes of the longest line
    objects: int  # lines that are not blank
    has_long_numbers: bool  # whether there is a run of so many digits that a float may not hold them

    @classmethod
    def of(cls, file: Path) -> JsonText:
        """The text of a file; raises DataError where a line is not an object, or nests too deeply, and
        UnicodeDecodeError where it is not UTF-8."""
        with pa.input_stream(str(file), compression="detect") as stream:
            data = stream.read().removeprefix(codecs.BOM_UTF8)
        longest, objects, long_numbers, number = 0, 0, False, 1
        for piece in _pieces(data):
            piece.decode("utf-8")
            array = np.frombuffer(piece, dtype=np.uint8)
            starts = np.concatenate([[0], np.flatnonzero(array[:-1] == ord("\n")) + 1])
            objects += _check_objects(piece, array, starts, number, file)
            _check_depth(piece, array, starts, number, file)
            longest = max(longest, int(np.diff(starts, append=len(piece)).max()))
            long_numbers = long_numbers or _has_long_number(array)
            number += len(starts)
        if longest > _LARGEST_BLOCK:
            raise unreadable(str(file), "It has a line of more than 2 GB.")
        return cls(data, longest, objects, long_numbers)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers."""
        for number, line in enumerate(self.data.split(b"\n"), 1):
            if line.strip():
                yield number, line


def _pieces(data: bytes) -> Iterator[bytes]:
    """The data cut at ends of lines."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + _PIECE, len(data)) - 1) + 1
        end = end or len(data)
        yield data[start:end]
        start = end


def _check_objects(piece: bytes, array: NDArray[np.uint8], starts: NDArray[np.int64], number: int, file: Path) -> int:
    """How many lines begin as an object does; raises DataError for one that does not and is not blank."""
    blank = 0
    for place in np.flatnonzero(array[starts] != _OPENS):
        line = piece[starts[place] : starts[place + 1] if place + 1 < len(starts) else len(piece)].strip(_BLANK)
        if line and not line.startswith(b"{"):
            raise unreadable(
                str(file), f"Line {number + place:,} is not a JSON object. {ONE_A_LINE}", line=number + int(place)
            )
        blank += not line
    return len(starts) - blank


def _check_depth(piece: bytes, array: NDArray[np.uint8], starts: NDArray[np.int64], number: int, file: Path) -> None:
    """Raises DataError for a line that nests too deeply; only lines of many brackets are looked at one by one."""
    opened = np.add.reduceat(((array == _OPENS) | (array == ord("["))).astype(np.int64), starts)
    for place in np.flatnonzero(opened > MOST_LEVELS):
        line = piece[starts[place] : starts[place + 1] if place + 1 < len(starts) else len(piece)]
        if _depth(line) > MOST_LEVELS:
            raise unreadable(
                str(file),
                f"Line {number + place:,} nests values more than {MOST_LEVELS} levels deep.",
                line=number + int(place),
            )


def _depth(line: bytes) -> int:
    depth = deepest = 0
    for token in _TOKEN.finditer(line):
        first = token.group()[:1]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in b"]}":
            depth -= 1
    return deepest


def _has_long_number(array: NDArray[np.uint8]) -> bool:
    """Whether there is a run of `LONG_NUMBER` digits, be it in a number or in a text."""
    run = (array >= ord("0")) & (array <= ord("9"))
    length = 1
    while length < LONG_NUMBER:
        if len(run) <= length:
            return False
        run = run[:-length] & run[length:]
        length *= 2
    return bool(run.any())
