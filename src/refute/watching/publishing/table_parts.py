"""Parts of the table of violations: a file each, which never changes, and which rows of a state its lines are about."""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from refute.durable.files import checksum
from refute.errors import DataError, ended
from refute.index.key_table import KeyTable
from refute.kernels.runs.pairs import about, bits_of
from refute.kernels.runs.rows import Lines
from refute.live.store import SlotMoves
from refute.relation.arrays import row_numbers

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]
Listed = dict[str, tuple[pa.Table, tuple[Longs, ...]]]  # violations by rule: ids and keys of rows, and their numbers
Find = Callable[[pa.Table, str], Longs]  # the slots of the rows on one side of some violations

_ARROW = "ARROW:schema"  # where Arrow looks for the types that a Parquet file does not tell
_ALIKE = ("batch", "since", "until")  # columns of few values
_NAME = re.compile(r"(?:open|closed)-\d+-\d+-([0-9a-f]{8})\.parquet")  # which ends in the file's checksum


class PairMarks(NamedTuple):
    """Violations by numbers: of the rule, of the row `s`, and of the row `t`, or `s` again where there is none."""

    rules: Longs
    s: Longs
    t: Longs

    @classmethod
    def joined(cls, parts: Sequence[PairMarks]) -> PairMarks:
        """All of these."""
        nothing = np.empty(0, np.int64)
        return cls(*(np.concatenate([nothing, *(part[side] for part in parts)]) for side in range(3)))

    def chosen(self, which: Longs | Mask) -> PairMarks:
        """Some of them."""
        return PairMarks(self.rules[which], self.s[which], self.t[which])

    def moved(self, which: Longs, rows: SlotMoves) -> PairMarks:
        """The same violations, once some rows have other slots; only `which` are about these."""
        if not len(which) or not len(rows):
            return self
        s, t = self.s.copy(), self.t.copy()
        for side in (s, t):
            side[which] = rows.renamed(side[which])
        return PairMarks(self.rules, s, t)


class GoingRows:
    """Rows that go, to look violations up that are about them."""

    def __init__(self, gone: Longs) -> None:
        self._bits = np.zeros((int(gone.max(initial=-1)) >> 6) + 1, np.uint64)
        bits_of(gone, self._bits)

    def places(self, marks: PairMarks) -> Longs:
        """The places of those violations of which a row is going."""
        places = np.empty(len(marks.s), np.int64)
        return places[: about(marks.s, marks.t, self._bits, places)]


class MarkSet:
    """Some violations by numbers, none of them twice, to look others up among them."""

    def __init__(self, marks: PairMarks) -> None:
        self._most = tuple(int(side.max(initial=0)) + 1 for side in marks)
        self._is_narrow = prod(self._most) < 1 << 62  # so one number says all three
        keys = self._keys(marks)
        self._table = KeyTable(keys.shape[1])
        self._table.put(keys, np.arange(len(keys)))

    def has(self, marks: PairMarks) -> Mask:
        """Which of these are among them."""
        found = np.zeros(len(marks.s), np.bool_)
        known = np.flatnonzero(
            np.logical_and.reduce([side < most for side, most in zip(marks, self._most, strict=True)])
        )
        found[known] = self._table.find(self._keys(marks.chosen(known))) >= 0
        return found

    def _keys(self, marks: PairMarks) -> Lines:
        """A line for each of the violations whose numbers are all among those of this set."""
        rules, s, t = (side.astype(np.int64, copy=False) for side in marks)
        if self._is_narrow:
            return ((rules * self._most[1] + s) * self._most[2] + t)[:, None]
        return np.ascontiguousarray(np.column_stack([rules, s, t]))


@dataclass(slots=True, eq=False)
class Piece:
    """Some violations: in a file, in memory until they are written, or both."""

    n_rows: int
    name: str | None = None
    table: pa.Table | None = field(default=None, repr=False)
    marks: PairMarks | None = field(default=None, repr=False)  # of open ones, once they are known

    @classmethod
    def of(cls, table: pa.Table, marks: PairMarks | None = None) -> Piece:
        """A piece that is not written yet."""
        return cls(len(table), None, table, marks)

    def read(self, folder: Path) -> pa.Table:
        """Its lines, with each rule's name once."""
        if self.table is not None:
            return self.table
        path = folder / str(self.name)
        try:
            with parquet.ParquetFile(path, read_dictionary=["rule"]) as file:
                names = file.schema_arrow.names
                once = [name for name in names if name not in _repeating(names)]
                table = file.read(columns=once, use_threads=False)  # which would take longer than the few columns do
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error
        return _with_repeating(table, names)

    def divided(self, most: int) -> list[Piece]:
        """Its lines in pieces of at most so many, which are not written yet: itself, if it has no more."""
        if self.n_rows <= most:
            return [self]
        assert self.table is not None
        found = []
        for start in range(0, self.n_rows, most):
            part = slice(start, start + most)
            marks = None if self.marks is None else PairMarks(*(side[part] for side in self.marks))
            found.append(Piece.of(self.table.slice(start, most), marks))
        return found

    def known_marks(self, folder: Path, rules: dict[str, int], find: Find) -> PairMarks:
        """Which rows its lines are about, looked up by their keys when that is first asked."""
        if self.marks is None:
            table = self.read(folder)
            numbers = pc.index_in(table.column("rule").cast(pa.string()), pa.array(list(rules), pa.string()))
            s, t = find(table, "s"), find(table, "t")
            self.marks = PairMarks(np.asarray(numbers).astype(np.int64), s, np.where(t < 0, s, t))
        return self.marks

    def write(self, folder: Path, stem: str) -> str:
        """Writes its lines to a new file, which is on the disk when this returns; its name, with its checksum."""
        assert self.table is not None
        sink = pa.BufferOutputStream()
        _write(sink, self.table)
        data = sink.getvalue()
        self.name, self.table = f"{stem}-{zlib.crc32(data):08x}.parquet", None
        with open(folder / self.name, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        return self.name


def checked_rows(path: Path) -> int:
    """How many lines a file of a piece has; raises DataError where it is not as it was written."""
    known = _NAME.fullmatch(path.name)
    if known is None:
        raise DataError(f"{path} is not a file of this table.", path=str(path))
    try:
        if checksum(path) != int(known[1], 16):
            raise DataError(f"{path} is damaged: its checksum does not match.", path=str(path))
        return int(parquet.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> DataError:
    """The error for a file, or a folder of files, that cannot be read as it was written."""
    return DataError(f"{path} cannot be read: {ended(str(error))}", path=str(path), reason=str(error))


def write_parquet(path: Path, table: pa.Table) -> None:
    """Writes a table to a new file, which is on the disk when this returns."""
    with open(path, "wb") as stream:
        _write(stream, table)
        stream.flush()
        os.fsync(stream.fileno())


def _write(sink: Any, table: pa.Table) -> None:
    """Writes a table. Readers see columns without dictionaries.

    Whole numbers are written as what they differ by, which takes half the time of packing them, and half the room.
    Texts that come with a dictionary are not looked up again, one by one.
    """
    shown = pa.schema([one.with_type(_shown(one.type)) for one in table.schema])
    leaves = dict(_leaves(shown))
    alike = [name for name, kind in leaves.items() if name in _ALIKE or pa.types.is_string(kind)]
    numbers = [name for name, kind in leaves.items() if name not in _ALIKE and pa.types.is_integer(kind)]
    plain = {*numbers, *_ALIKE, "rule"}  # packed already, or a few bytes
    with parquet.ParquetWriter(
        sink,
        table.schema,
        compression={name: "none" if name in plain else "snappy" for name in leaves},
        use_dictionary=alike,
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_statistics=["since", "until"],
        store_schema=False,  # which would be that of dictionaries
    ) as writer:
        writer.write_table(table.unify_dictionaries())
        writer.add_key_value_metadata({_ARROW: base64.b64encode(shown.serialize()).decode()})


def _shown(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _leaves(fields: Iterable[pa.Field], above: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The columns of a Parquet file: those of the parts of an id too."""
    for one in fields:
        if pa.types.is_struct(one.type):
            yield from _leaves(one.type, f"{above}{one.name}.")
        else:
            yield f"{above}{one.name}", one.type


def lines_schema(kinds: dict[str, pa.DataType]) -> pa.Schema:
    """The columns of the table of violations, whose rows have a key of these types, or numbers."""
    each = [pa.field(name, kind) for name, kind in kinds.items()]
    row = pa.int64() if not each else each[0].type if len(each) == 1 else pa.struct(each)
    sides = [pa.field(f"{side}_{one.name}", one.type) for side in "st" for one in each]
    numbers = [pa.field("since", pa.int64()), pa.field("until", pa.int64())]
    return pa.schema([pa.field("rule", pa.string()), pa.field("s", row), pa.field("t", row), *sides, *numbers])


def lines_of(rule: str, clashes: pa.Table, schema: pa.Schema, since: int) -> pa.Table:
    """Violations of a rule, by the ids of their rows, as lines of the table, open since a batch, with its name once."""
    count = len(clashes)
    columns: list[pa.Array | pa.ChunkedArray] = []
    for one in schema:
        if one.name == "rule":
            columns.append(repeated_text(rule, count))
        elif one.name == "since":
            columns.append(pa.repeat(pa.scalar(since, pa.int64()), count))
        elif one.name in clashes.column_names and one.name != "until":
            columns.append(clashes.column(one.name).cast(one.type))
        else:
            columns.append(pa.nulls(count, one.type))
    return pa.table(columns, schema.names)


def repeated_text(text: str, count: int) -> pa.DictionaryArray:
    """A column of one text."""
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([text], pa.string()))


def with_until(table: pa.Table, batch: int) -> pa.Table:
    """Lines of violations that a batch has resolved."""
    place = table.schema.get_field_index("until")
    return table.set_column(place, table.schema.field(place), pa.repeat(pa.scalar(batch, pa.int64()), len(table)))


def picked(table: pa.Table, which: Mask) -> pa.Table:
    """Some lines."""
    names = table.column_names
    found = table.drop_columns(list(_repeating(names))).take(row_numbers(np.flatnonzero(which)))
    return _with_repeating(found, names)


def _repeating(names: Sequence[str]) -> dict[str, str]:
    """The columns that hold what others do: of a key of one column, which is the id of a row."""
    ids, keys = names[1:3], names[3:-2]
    return dict(zip(keys, ids, strict=True)) if len(keys) == len(ids) else {}


def _with_repeating(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Lines with these columns, of which it has those that do not repeat others."""
    repeating = _repeating(names)
    return pa.table([table.column(repeating.get(name, name)) for name in names], names) if repeating else table
