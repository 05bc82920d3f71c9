"""Row identity, both ways: the user's key columns where given, else the row's position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.detect.detector import Detector
from refute.errors import DataError
from refute.faults import null_key, repeated_key, unknown_column, unusable_key
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Row
from refute.language.rulebook import Rule
from refute.plan.problem import Rows
from refute.relation import Relation
from refute.relation.arrays import combined, numbers, row_numbers
from refute.relation.keys.key_index import KeyIndex, is_repeat, keys_of
from refute.relation.shown import shown
from refute.relation.types import Family


class Identity:
    """Turns row numbers into the ids that users see, and back."""

    def __init__(self, relation: Relation, key: Sequence[str] = ()) -> None:
        self._relation = relation
        self.key = tuple(key)
        for name in self.key:
            if not relation.has(name):
                raise unknown_column(name, relation.names, kind="key column")
            if relation.type_of(name).family is Family.UNSUPPORTED:
                raise unusable_key(name)
        if self.key:
            self._check_unique()

    def one(self, row: int) -> Any:
        """The id of one row: its position, its key, or a mapping for a key of several columns."""
        if not self.key:
            return row
        values = {name: shown(self._relation.column(name)[row]) for name in self.key}
        return values if len(values) > 1 else values[self.key[0]]

    def many(self, rows: Rows) -> pa.Array | pa.ChunkedArray:
        """The ids of many rows, as one Arrow column: a struct for a key of several columns."""
        if not self.key:
            return row_numbers(rows)
        columns = [self._relation.column(name).take(row_numbers(rows)) for name in self.key]
        if len(columns) == 1:
            return columns[0]
        return pa.StructArray.from_arrays([column.combine_chunks() for column in columns], list(self.key))

    def rows(self, ids: object) -> NDArray[np.int64]:
        """The row of each id: Arrow's as `many` gives them, or a list of such as `one` gives.

        Raises DataError for an id that no row has, that comes twice or is null. An index is built when this is first
        asked for.
        """
        if not self.key:
            return _positions(keys_of(ids, {"position": pa.int64()})["position"], self._relation.n_rows)
        columns = {name: self._relation.column(name) for name in self.key}
        keys = keys_of(ids, {name: column.type for name, column in columns.items()})
        return self._relation.shared(("key index", self.key), lambda: _index(columns)).rows(keys)

    def columns(self, names: Iterable[str], rows: Rows, *, prefix: str) -> dict[str, pa.ChunkedArray]:
        """These columns of many rows, under their names with a prefix."""
        return {prefix + name: self._relation.column(name).take(row_numbers(rows)) for name in names}

    def row_bytes(self, names: Iterable[str]) -> float:
        """About how many bytes a row takes in these columns."""
        return float(sum(self._relation.column(name).nbytes for name in names)) / max(self._relation.n_rows, 1)

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        """The values of one row in these columns."""
        return {name: shown(self._relation.column(name)[row]) for name in names}

    def _check_unique(self) -> None:
        """Raise DataError unless the key is present and different in every row."""
        for name in self.key:
            missing = self._relation.null_count(name)
            if missing:
                raise null_key(name, missing)
        same_key = DenialConstraint(
            tuple(Predicate.of(Column(Row.S, name), Operator.EQ, Column(Row.T, name)) for name in self.key)
        )
        verdict = Detector(self._relation).verify(Rule.of(same_key))
        if verdict.witness is not None:
            raise self._repeated()

    def _repeated(self) -> DataError:
        """The error for the first key, in order of values, that several rows have."""
        codes = [self._relation.encode(name, ordered=True).values for name in self.key]
        order = np.lexsort(codes[::-1])
        same = np.logical_and.reduce([column[order[1:]] == column[order[:-1]] for column in codes])
        first = int(same.argmax())
        others = int((~same[first:]).argmax()) or len(same) - first
        return repeated_key(self.values(int(order[first]), self.key), others + 1)


def _index(columns: Mapping[str, pa.ChunkedArray]) -> KeyIndex:
    index = KeyIndex({name: column.type for name, column in columns.items()})
    index.add(columns, np.arange(len(next(iter(columns.values())))))
    return index


def _positions(column: pa.Array | pa.ChunkedArray, n_rows: int) -> NDArray[np.int64]:
    """Positions as they are, if each is one of a row and none comes twice."""
    if column.null_count:
        raise DataError("A position is null. Give the number of a row, counting from 0.", count=int(column.null_count))
    rows = numbers(column if isinstance(column, pa.Array) else combined(column))
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if len(outside):
        message = f"There is no row {outside[0]:,}; the table has {n_rows:,} rows, and the first is row 0."
        raise DataError(message, row=int(outside[0]), count=n_rows)
    repeated = rows[is_repeat(rows)]
    if len(repeated):
        raise DataError(f"Row {repeated[0]:,} is listed more than once.", row=int(repeated[0]))
    return rows
