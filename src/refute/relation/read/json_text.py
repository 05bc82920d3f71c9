"""The text of a JSON file, looked over before Arrow's parser gets it, which trusts that every line is an object.

Columns that hold what it cannot read may be left out.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.faults import not_json, unreadable

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


class _Object(list[tuple[str, Any]]):
    """The members of an object, in which a name may come twice."""


class _Number(str):
    """A number as it is spelt."""

    __slots__ = ()


def kind_of(value: Any) -> str:
    """A kind of values that Arrow does not put into one column with others."""
    if isinstance(value, _Number | int | float) and not isinstance(value, bool):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "true or false"
    return "an object" if isinstance(value, _Object | dict) else "a list"


def without_odd_columns(text: JsonText, file: Path, needed: Collection[str]) -> tuple[JsonText, list[str]]:
    """The text without columns that are not needed and may be what Arrow cannot read, and the names of these.

    They have values of several kinds, nested ones, numbers beyond all floats, text that is not Unicode, or come twice
    in a row. Raises DataError for a line that is not JSON.
    """
    kinds: dict[str, str] = {}
    odd: dict[str, None] = {}
    for row in _rows(text, file):
        seen: set[str] = set()
        for name, value in row:
            if name in needed or name in odd:
                continue
            is_mixed = value is not None and kinds.setdefault(name, kind_of(value)) != kind_of(value)
            if is_mixed or name in seen or not (_is_plain(name) and _is_plain(value)):
                odd[name] = None
            seen.add(name)
    lines = [_spelt(_Object(member for member in row if member[0] not in odd)).encode() for row in _rows(text, file)]
    found = replace(text, data=b"\n".join(lines), longest=max(map(len, lines), default=0) + 1)
    return found, [name for name in odd if _is_plain(name)]


def _rows(text: JsonText, file: Path) -> Iterator[_Object]:
    for number, line in text.lines():
        try:
            row = json.loads(
                line, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=_Object
            )
        except json.JSONDecodeError as error:
            raise unreadable(str(file), f"Line {number:,} is not JSON: {not_json(error)}", line=number) from error
        assert isinstance(row, _Object)  # as the line begins with a brace
        yield row


def _is_plain(value: Any) -> bool:
    if isinstance(value, _Number):
        return math.isfinite(float(value))
    if isinstance(value, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return not isinstance(value, list)


def _spelt(value: Any) -> str:
    """A value as JSON, numbers as they were."""
    if isinstance(value, _Number):
        return value
    if isinstance(value, _Object):
        return "{" + ",".join(f"{json.dumps(name)}:{_spelt(one)}" for name, one in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spelt, value)) + "]"
    return json.dumps(value)
