"""Which row has which key, for many keys at once, while rows come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.display.plurals import plural
from refute.errors import DataError, SchemaError, ended
from refute.faults import null_key, unlike_key
from refute.kernels.encode.dictionary import UNKNOWN
from refute.relation.encode.strings import Strings
from refute.relation.keys.dictionary import Dictionary, grown, strings_of_words
from refute.relation.keys.encoding import Encoding
from refute.relation.shown import shown

Longs = NDArray[np.int64]
Column: TypeAlias = pa.ChunkedArray | pa.Array
Columns: TypeAlias = Mapping[str, Column]

NO_ROW = -1


class KeyIndex:
    """Rows by their keys, of one or more columns. A key that was let go may come back with another row.

    Every call works through arrays: no Python object is made per row. Null is not a key.
    """

    def __init__(self, kinds: Mapping[str, pa.DataType]) -> None:
        self.names = tuple(kinds)
        self._encodings = {name: Encoding([kind]) for name, kind in kinds.items()}
        self._known = Dictionary()
        self._rows: Longs = np.empty(1 << 8, dtype=np.int64)  # by the number of a key; NO_ROW for those let go
        self._numbered = 0

    @property
    def nbytes(self) -> int:
        """The memory that is in use."""
        return self._known.nbytes + self._rows.nbytes + sum(each.nbytes for each in self._encodings.values())

    def add(self, columns: Columns, rows: Longs) -> None:
        """Takes in rows with their keys; raises DataError, and takes none, where a key has a row or comes twice."""
        numbers = self._known.add(self._strings(columns, extend=True)[0])
        self._rows = grown(self._rows, self._numbered, self._known.known)
        self._rows[self._numbered : self._known.known] = NO_ROW
        self._numbered = self._known.known
        self._refuse(columns, self._rows[numbers] != NO_ROW, "already has a row")
        self._refuse(columns, is_repeat(numbers), "is listed more than once")
        self._rows[numbers] = rows

    def find(self, columns: Columns) -> Longs:
        """The row of each key, NO_ROW where there is none; raises DataError for null."""
        return self._found(columns)[1]

    def rows(self, columns: Columns) -> Longs:
        """The row of each key; raises DataError for a key that has none, comes twice, or is null."""
        return self._asked(columns)[1]

    def remove(self, columns: Columns) -> Longs:
        """Lets keys go; their rows. Raises DataError as `rows` does, and then lets none go."""
        numbers, rows = self._asked(columns)
        self._rows[numbers] = NO_ROW
        return rows

    def _asked(self, columns: Columns) -> tuple[Longs, Longs]:
        numbers, rows = self._found(columns)
        self._refuse(columns, rows == NO_ROW, "has no row")
        self._refuse(columns, is_repeat(numbers), "is listed more than once")
        return numbers, rows

    def _found(self, columns: Columns) -> tuple[Longs, Longs]:
        """The number of each key and its row, UNKNOWN and NO_ROW where there is none."""
        strings, unknown = self._strings(columns)
        numbers, _ = self._known.find(strings)
        for rows in unknown:
            numbers[rows] = UNKNOWN
        if self._numbered == 0:
            return numbers, np.full(len(numbers), NO_ROW, dtype=np.int64)
        return numbers, np.where(numbers == UNKNOWN, NO_ROW, np.take(self._rows, numbers, mode="clip"))

    def _strings(self, columns: Columns, *, extend: bool = False) -> tuple[Strings, list[Longs]]:
        """The keys as strings of one dictionary, and the rows where a column's value is not known."""
        codes = {name: encoding.codes(columns[name], extend=extend) for name, encoding in self._encodings.items()}
        for name, keys in codes.items():
            missing = int(np.count_nonzero(keys.valid == 0))
            if missing:
                raise null_key(name, missing)
        words = np.stack([keys.values for keys in codes.values()], axis=1).view(np.uint64)
        return strings_of_words(words), [keys.unknown for keys in codes.values() if len(keys.unknown)]

    def _refuse(self, columns: Columns, wrong: NDArray[np.bool_], what: str) -> None:
        """Raises DataError where something is wrong with keys, by the value of the first."""
        places = np.flatnonzero(wrong)
        if len(places):
            key = ", ".join(f"{name} = {shown(columns[name][int(places[0])])!r}" for name in self.names)
            others = len(places) - 1
            more = "" if others == 0 else f" The same is true of {plural(others, 'other key')}."
            raise DataError(f"The key {key} {what}.{more}", key=self.names, rows=places[:3].tolist())


def is_repeat(numbers: Longs) -> NDArray[np.bool_]:
    """Which entries have come before."""
    order = np.argsort(numbers, kind="stable")
    found = np.zeros(len(numbers), dtype=np.bool_)
    found[order[1:]] = numbers[order[1:]] == numbers[order[:-1]]
    return found


def keys_of(ids: object, kinds: Mapping[str, pa.DataType]) -> dict[str, Column]:
    """Keys as columns by name: from a table, a column (of structs, for several names), or a list of Python values.

    A list has one value for each key, or a mapping by name where keys have several columns.
    """
    names = list(kinds)
    if isinstance(ids, pa.Table | pa.RecordBatch):
        held = {name: ids.column(place) for place, name in enumerate(ids.schema.names)}
    elif isinstance(ids, pa.Array | pa.ChunkedArray):
        held = _parts(ids, names)
    else:
        plain = {name: kind.value_type if pt.is_dictionary(kind) else kind for name, kind in kinds.items()}
        try:
            held = _parts(pa.array(ids, pa.struct(list(plain.items())) if len(names) > 1 else plain[names[0]]), names)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise SchemaError(
                f"The given keys do not fit the type of {', '.join(names)}: {ended(str(error))}",
                key=tuple(names),
                reason=str(error),
            ) from error
    missing = [name for name in names if name not in held]
    if missing:
        raise unlike_key(missing[0], names)
    return {name: held[name] for name in names}


def _parts(column: Column, names: list[str]) -> dict[str, Column]:
    """A column as the only one of its key, or the fields of its structs."""
    if not pt.is_struct(column.type):
        return {names[0]: column}
    return {field.name: part for field, part in zip(column.type, column.flatten(), strict=True)}
