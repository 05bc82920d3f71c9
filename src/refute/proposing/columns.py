"""A table as proposals look at it: the columns as numbers of values, and which rows stand for themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discovery.work import Budget
from refute.kernels.proposing.groups import refine
from refute.relation import Family, Relation
from refute.runtime.arrays import give_back

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
ORDERED = frozenset(
    {Family.INTEGER, Family.FLOAT, Family.DECIMAL, Family.DATE, Family.TIMESTAMP, Family.ZONED, Family.TIME}
)
UNREAD = (Family.UNSUPPORTED, Family.NULL, Family.DURATION)
_WHOLE = 5  # columns that make a row as a whole


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """One column: the number of each row's value, -1 for null; numbers ascend as values do if it is `ordered`."""

    name: str
    family: Family
    values: Ids
    size: int
    present: int  # how many rows have a value

    @property
    def ordered(self) -> bool:
        """Whether its values have an order that rules speak of."""
        return self.family in ORDERED


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Rows that agree, of groups with at least two rows: `order` has them group after group, `starts` where each
    begins, with the end last."""

    order: Ids
    starts: Longs

    @classmethod
    def whole(cls, n_rows: int) -> Grouping:
        """All rows as one group."""
        return cls(np.arange(n_rows, dtype=np.int32), np.array([0, n_rows] if n_rows > 1 else [0], np.int64))

    @property
    def n_rows(self) -> int:
        """How many rows are in a group."""
        return len(self.order)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Longs:
        """How many rows each group has."""
        return np.diff(self.starts)

    def refined(self, column: CodedColumn) -> Grouping:
        """The grouping in which rows agree on one more column; rows that are null in it have no group."""
        return Grouping(*refine(self.order, self.starts, column.values, room(column)))


def room(column: CodedColumn) -> Longs:
    """What kernels count the values of a column in."""
    return np.zeros(2 * max(column.size, 1), np.int64)


def fresh(relation: Relation, *names: str) -> Relation:
    """Some columns as a relation that keeps nothing for others: codes that are looked at once would stay for good."""
    return relation.head(relation.n_rows, names)


def read_columns(
    relation: Relation, names: Sequence[str], threads: int, budget: Budget | None = None
) -> list[CodedColumn]:
    """The columns that rules can read, in their order; their values are the rows of one matrix.

    Where the time of a budget is up, those that were read by then.
    """
    read = [(name, family) for name in names if (family := relation.type_of(name).family) not in UNREAD]
    matrix = np.empty((len(read), relation.n_rows), np.int32)
    found = []
    for place, (name, family) in enumerate(read):
        if budget is not None and budget.expired:
            break
        encoded = fresh(relation, name).encode(name, ordered=family in ORDERED, dense=True, threads=threads)
        matrix[place] = encoded.values
        found.append(CodedColumn(name, family, matrix[place], encoded.size, relation.n_rows - encoded.nulls))
        del encoded
        give_back(relation.n_rows)
    return found


def matrix_of(columns: Sequence[CodedColumn]) -> Ids:
    """The values of columns as the rows of one matrix; without a copy where `read_columns` made them."""
    base = columns[0].values.base if columns else None
    if isinstance(base, np.ndarray) and base.shape == (len(columns), len(columns[0].values)):
        if all(column.values.base is base for column in columns):
            return base
    return np.stack([column.values for column in columns]) if columns else np.empty((0, 0), np.int32)


def whole_row_columns(columns: Sequence[CodedColumn], n_rows: int) -> tuple[list[CodedColumn], list[CodedColumn]]:
    """The columns that make a row as a whole, none where they are too few, and the others.

    Columns that are different in almost every row do not count, or no rows would be equal; rows of few columns repeat
    each other as a matter of course.
    """
    whole = [column for column in columns if column.size < 0.9 * n_rows]
    others = [column for column in columns if column.size >= 0.9 * n_rows]
    return (whole if len(whole) >= _WHOLE else []), others


def repeats_rows(differ: int, n_rows: int) -> bool:
    """Whether so few rows differ that each counts once.

    What is repeated as a whole says nothing more, and chance would not repeat it, so rules over it would look far
    better than they are.
    """
    return 2 * differ <= n_rows


def distinct_rows(relation: Relation, columns: Sequence[CodedColumn]) -> Ids | None:
    """One of all rows that are equal, ascending, where at most half of the rows differ; None elsewhere.

    It is the one with the lowest values in the columns that do not count.
    """
    n_rows = relation.n_rows
    alike = Grouping.whole(n_rows)
    whole, others = whole_row_columns(columns, n_rows)
    if not whole:
        return None
    for column in sorted(whole, key=lambda one: -one.size):
        values = column.values + np.int32(1)  # null is a value here
        alike = alike.refined(CodedColumn(column.name, column.family, values, column.size + 1, n_rows))
        if not repeats_rows(n_rows - alike.n_rows + alike.n_groups, n_rows):
            return None
    names = [other.name for other in reversed(others)]
    ranks = [fresh(relation, name).encode(name, ordered=True, dense=True).values for name in names]
    groups = np.repeat(np.arange(alike.n_groups), alike.sizes)
    lowest = np.lexsort([alike.order, *(values[alike.order] for values in ranks), groups])
    alone = np.ones(n_rows, np.bool_)
    alone[alike.order] = False
    alone[alike.order[lowest[alike.starts[:-1]]]] = True
    return np.flatnonzero(alone).astype(np.int32)
