"""Integers for the values of comparable columns that stay the same while rows come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from refute.errors import SchemaError
from refute.relation.arrays import ALL_VALID, numbers, valid_bytes
from refute.relation.encode.columns import encode_columns
from refute.relation.encode.encoded import Encoded
from refute.relation.encode.strings import is_string
from refute.relation.keys.keys import Keys
from refute.relation.keys.spaces import NOWHERE, Placed, Space, space_of
from refute.relation.keys.state import EncodingState, Facts, kinds_of, nothing_known, text_of
from refute.relation.types import READABLE, ColumnType, Family


class Encoding:
    """Keys for columns that are compared with each other: equal where values are, and in their order if that is asked.

    Numbers, dates and times have keys that follow from their types alone: the number of units, or the bits of a float.
    Strings, floats beside whole numbers, and numbers beyond 64 bits are kept in a dictionary that only grows. So the
    key of a known value never changes, except for ordered keys of what is kept in a dictionary: these change, all
    at once, when a gap between two of them is used up, and `generation` then rises.

    For all columns a and b, in any order of calls:
    `codes(a)[i] == codes(b)[j]` iff their values are equal, and ordered keys of one generation compare as values do.
    A value that was never fitted or extended, where a dictionary is kept, has a key that is equal to that of no known
    value; ordered, it lies in its place among all known ones. Two such values may have one key: extend, to tell them
    apart. Several threads may ask for unordered codes at once, but not while one extends.
    """

    def __init__(self, kinds: Iterable[pa.DataType] = ()) -> None:
        self._space: Space | None = None
        self._realm = ""
        self._kinds: tuple[pa.DataType, ...] = ()
        self._fitting: set[pa.DataType] = set()  # types that were found to compare with these
        self._usual: pa.DataType | None = None  # the last of them, of values that are no entries: it mostly comes again
        self._usual_alone: pa.DataType | None = None  # the same, if Python has values of it as they are
        self._settle([_value_type(kind) for kind in kinds])

    @classmethod
    def fit(cls, columns: Iterable[pa.ChunkedArray | pa.Array]) -> Encoding:
        """The encoding of the types of some columns, which knows their values."""
        columns = list(columns)
        encoding = cls(column.type for column in columns)
        for column in columns:
            encoding.extend(column)
        return encoding

    @classmethod
    def restored(cls, kinds: Iterable[pa.DataType], *states: EncodingState) -> Encoding:
        """The encoding that was saved: a whole state and, in order, those that were saved since, if there are some.

        Raises SchemaError for other types than keys were made for, and DataError where states do not fit together.
        """
        whole = EncodingState.joined(states)
        saved, wanted = kinds_of(whole.facts), cls(kinds)
        if saved and wanted._kinds and set(map(_alike, saved)) != set(map(_alike, wanted._kinds)):
            was, now = (", ".join(map(str, types)) for types in (saved, wanted._kinds))
            raise SchemaError(f"The saved keys are for {was}, not for {now}.", type=now, expected=was)
        encoding = cls(saved) if saved else wanted
        if saved and encoding._space is not None:
            encoding._space.restore(whole)
        return encoding

    def state(self, since: Facts | None = None) -> EncodingState:
        """What must be saved to restore the encoding; of one whose state has been saved, given its facts, what is new.

        It does not change when more values become known.
        """
        text = text_of(self._kinds)
        return nothing_known(text) if self._space is None else self._space.state(since, text)

    @staticmethod
    def of_table(
        columns: Sequence[pa.ChunkedArray], *, ordered: bool, dense: bool, threads: int = 1
    ) -> tuple[Encoded, ...]:
        """Small codes of columns of one table, on several threads: what methods over a table that is whole work with.

        They are a view of the same keys: without gaps, they are the ranks of the ordered keys among those that occur,
        and for numbers and times the keys less the smallest of them. Values are read by the same functions
        (`integers_of`, `floats_of`, `strings_of`), but codes are made of them in one pass, as tables of extrema need
        small numbers and 32 bits are half the memory. To fit an encoding and take codes of its keys costs more CPU: for
        a million numbers or times up to 4 times as much, for floats whose keys span more than 62 bits 12 to 25 times.
        Strings would need numbers of a dictionary: packing the bits that vary ranks a million of
        them in 13 to 240 ms, and a table of words of one length numbers such as repeat in 25 ms, where a dictionary
        that can grow takes 70 ms to number and as much again to order them. Nothing is remembered.
        """
        return encode_columns(columns, ordered=ordered, dense=dense, threads=threads)

    @property
    def is_fixed(self) -> bool:
        """Whether types alone determine all keys, so that none is ever replaced."""
        return self._space is not None and self._space.known is None

    @property
    def generation(self) -> int:
        """How often ordered keys have been replaced. Those of one generation compare with each other."""
        return 0 if self._space is None else self._space.generation

    @property
    def nbytes(self) -> int:
        """The memory of what is remembered; 0 where types alone determine keys."""
        return 0 if self._space is None else self._space.nbytes

    def extend(self, column: pa.ChunkedArray | pa.Array) -> int:
        """Makes the values of a column known; how many were not. Changes no key, but as said above."""
        found = 0
        for array in _arrays(column):
            values, _ = _plain(array)
            space = None if pt.is_null(values.type) else self._space_of(values.type)
            before = None if space is None else space.known
            if space is not None and before is not None:
                space.keys(values, ordered=False, extend=True)
                found += (space.known or 0) - before
        return found

    def codes(
        self,
        column: pa.ChunkedArray | pa.Array,
        *,
        ordered: bool = False,
        extend: bool = False,
        nulls_as_value: bool = False,
    ) -> Keys:
        """The keys of a column's rows; with `extend`, values that are not known become so first.

        With `nulls_as_value` null has NULL_KEY, which no value has, and all rows are valid; values keep their keys.
        Only for unordered keys, as null has no place in order. See `Keys.with_nulls` for the number that this refuses.
        """
        assert not (ordered and nulls_as_value)
        if len(column) == 1 and not nulls_as_value and column.type == self._usual_alone:
            key = self.key_of(column[0].as_py(), ordered=ordered)
            if key is not None:
                return Keys(np.array((key,), np.int64), ALL_VALID, ordered, self.generation, NOWHERE)
        arrays = _arrays(column)
        if extend and len(arrays) > 1:  # all at first, so the keys of all chunks are of one generation
            self.extend(column)
            extend = False
        if len(arrays) == 1:
            values, valid, unknown = self._placed(arrays[0], ordered, extend)
        else:
            values, valid, unknown = _joined([self._placed(array, ordered, extend) for array in arrays])
        keys = Keys(values, valid, ordered, self.generation, unknown)
        return keys.with_nulls() if nulls_as_value else keys

    def key_of(self, value: object, *, ordered: bool) -> int | None:
        """The key of a value of a type that `is_told_alone`; None where it takes `codes`, as for what is not known.

        It costs far less than `codes` of one row, and never changes.
        """
        return None if self._space is None else self._space.key_of(value, ordered=ordered)

    def _placed(self, array: pa.Array, ordered: bool, extend: bool) -> Placed:
        if self._space is not None and self._usual is not None and array.type == self._usual:
            return self._space.keys(array, ordered=ordered, extend=extend)
        values, indices = _plain(array)
        if pt.is_null(values.type):
            rows = len(array)
            return Placed(np.zeros(rows, np.int64), np.zeros(rows, np.uint8), np.empty(0, np.int64))
        placed = self._space_of(values.type).keys(values, ordered=ordered, extend=extend)
        if values is array:
            kind = self._usual = array.type
            self._usual_alone = kind if is_told_alone(kind) else None
        return placed if indices is None else _through(indices, placed)

    def _space_of(self, kind: pa.DataType) -> Space:
        """The space, which an encoding of nothing but nulls gets by the first column that has a type."""
        if self._space is None:
            self._settle([kind])
        if kind in self._fitting and self._space is not None:
            return self._space
        realm = ColumnType.of("", kind).family.realm
        if self._space is None or realm != self._realm:
            raise SchemaError(f"{kind} does not fit keys of a {self._realm}.", type=str(kind))
        self._fitting.add(kind)
        return self._space

    def _settle(self, kinds: list[pa.DataType]) -> None:
        families = {kind: ColumnType.of("", kind).family for kind in kinds if not pt.is_null(kind)}
        if Family.UNSUPPORTED in families.values():
            raise SchemaError(
                f"{', '.join(map(str, families))} cannot be compared. {READABLE}", type=[str(one) for one in families]
            )
        realms = {family.realm for family in families.values()}
        if len(realms) > 1:
            raise SchemaError(
                f"{', '.join(map(str, families))} cannot be compared with each other.",
                type=[str(one) for one in families],
            )
        if realms:
            self._space, self._realm, self._kinds = space_of(families), realms.pop(), tuple(families)


def is_told_alone(kind: pa.DataType) -> bool:
    """Whether Python has the values of a type as they are, so that one of them may tell its key."""
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or is_string(kind))


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pt.is_dictionary(kind) else kind


def _alike(kind: pa.DataType) -> pa.DataType:
    """A type that has the same keys: how strings are held makes no difference."""
    return pa.large_string() if is_string(kind) else kind


def _arrays(column: pa.ChunkedArray | pa.Array) -> list[pa.Array]:
    """The chunks of a column, one at least."""
    if isinstance(column, pa.Array):
        return [column]
    if column.num_chunks == 1:
        return [column.chunk(0)]
    return column.chunks or [pa.array([], type=column.type)]


def _plain(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """An array of values, and for rows that point to them, where they do. Entries are not worth it if they are more."""
    if not pt.is_dictionary(array.type):
        return array, None
    values = array.dictionary
    if pt.is_string_view(values.type):
        values = values.cast(pa.large_string())
    return (values, array.indices) if len(values) <= len(array) else (values.take(array.indices), None)


def _through(indices: pa.Array, entries: Placed) -> Placed:
    """The keys of rows that point to entries."""
    valid = valid_bytes(indices)
    rows = numbers(indices, null=0)
    if len(entries.values) == 0:
        return Placed(np.zeros(len(rows), np.int64), np.zeros(len(rows), np.uint8), entries.unknown)
    if len(entries.valid):
        valid = entries.valid[rows] & valid if len(valid) else entries.valid[rows]
    unknown = entries.unknown
    if len(unknown):
        is_unknown = np.zeros(len(entries.values), dtype=np.bool_)
        is_unknown[unknown] = True
        found = is_unknown[rows]
        unknown = np.flatnonzero(found & valid.view(np.bool_) if len(valid) else found)
    return Placed(entries.values[rows], valid, unknown)


def _joined(parts: list[Placed]) -> Placed:
    """The keys of rows that lie one after the other."""
    starts = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
    valid = ALL_VALID
    if any(len(part.valid) for part in parts):
        valid = np.concatenate([p.valid if len(p.valid) else np.ones(len(p.values), np.uint8) for p in parts])
    return Placed(
        np.concatenate([part.values for part in parts]),
        valid,
        np.concatenate([part.unknown + start for part, start in zip(parts, starts, strict=True)]),
    )
