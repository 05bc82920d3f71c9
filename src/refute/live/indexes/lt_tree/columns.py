"""The inverted indices (section 5.1): for each column the rows by value, in a hash map or an LT-tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getsizeof

from pyroaring import BitMap

from refute.live.indexes.index import Compared
from refute.live.indexes.lt_tree.tree import LtTree, set_bytes

NOBODY = BitMap()  # handed out where there is no row, and never changed
Values = Sequence[int]  # of one row, by column


class HashIndex:
    """Rows by value, of a column that no rule orders."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[int, BitMap] = {}

    def __len__(self) -> int:
        """The number of distinct values."""
        return len(self._rows)

    def add(self, value: int, slot: int) -> None:
        """Takes in a row."""
        rows = self._rows.get(value)
        if rows is None:
            self._rows[value] = BitMap((slot,))
        else:
            rows.add(slot)

    def discard(self, value: int, slot: int) -> None:
        """Takes away a row that is there."""
        rows = self._rows[value]
        rows.discard(slot)
        if not rows:
            del self._rows[value]

    def equal(self, value: int) -> BitMap | None:
        """The rows that have the value, or None."""
        return self._rows.get(value)

    @property
    def nbytes(self) -> int:
        """The memory of the map and its sets; looks at each of them."""
        return getsizeof(self._rows) + sum(32 + set_bytes(rows) for rows in self._rows.values())


class ColumnIndexes:
    """The index of each column that a predicate reads, and all rows."""

    def __init__(self, predicates: Iterable[Compared]) -> None:
        predicates = list(predicates)
        ordered = {column for one in predicates if one.op.is_order for column in (one.s, one.t)}
        read = {column for one in predicates for column in (one.s, one.t)}
        self.trees = {column: LtTree() for column in sorted(ordered)}
        self.by_value: dict[int, HashIndex | LtTree] = {column: HashIndex() for column in sorted(read - ordered)}
        self.by_value |= self.trees
        self.all = BitMap()

    def add(self, slot: int, row: Values) -> None:
        """Takes in a row (algorithm 2, lines 15 and 16)."""
        for column, index in self.by_value.items():
            index.add(row[column], slot)
        self.all.add(slot)

    def discard(self, slot: int, row: Values) -> None:
        """Takes away a row that is there (algorithm 3, lines 5 and 6)."""
        for column, index in self.by_value.items():
            index.discard(row[column], slot)
        self.all.discard(slot)

    def cardinality(self, predicate: Compared) -> int:
        """The number of distinct values that the order of predicates goes by: that of the column that has more."""
        return max(len(self.by_value[predicate.s]), len(self.by_value[predicate.t]))

    @property
    def nbytes(self) -> int:
        """The memory of all indices."""
        return set_bytes(self.all) + sum(index.nbytes for index in self.by_value.values())
