"""Figures of a part of the rows that add up to those of all: what rejects most candidates where rows are in parts.

A part has all rows that agree on its *home* column, if any of them, so the groups of every left side with that column
are whole there, and rows to blame are those of the parts together. Pairs of rows that clash are so in any parts of
groups, so large groups need not be whole for orders: these are asked of parts with any rows, whose home is `ANYWHERE`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from refute.kernels.proposing.groups import blamed_by
from refute.proposing.columns import CodedColumn, Grouping, Ids, Longs, matrix_of, read_columns
from refute.proposing.dependencies import Side
from refute.proposing.orders import OrderSearch
from refute.proposing.scores import Limits
from refute.relation import Relation

NUMBERS = 4
ANYWHERE = -1


class Sum(IntEnum):
    """What is counted; the numbers that follow say of what, and then come the sums."""

    SIDE = 0  # side: rows in groups, groups, rows without a null
    RIGHT = 1  # side, right side: rows that meet the premise, rows to blame, at most by chance, clustering
    ORDER = 2  # group column or -1, x, y: rows to blame at least where it rises, where it falls
    COMPARED = 3  # column, column: rows with both, rows where they are equal, rows where the first is lower


Line = tuple[int, ...]  # what, three numbers that say of what, and as many sums as there are at most


def line(what: Sum, of: Sequence[int], sums: Sequence[int]) -> Line:
    """One line of sums."""
    return (what, *of, *[0] * (3 - len(of)), *map(int, sums), *[0] * (NUMBERS - len(sums)))


@dataclass(frozen=True, slots=True)
class AskedSide:
    """A left side by its number, its columns, the right sides that are asked for, and how many rows each may blame."""

    number: int
    columns: Side
    rights: Longs
    stops: Longs


@dataclass(frozen=True, slots=True)
class AskedOfParts:
    """What is asked of parts: left sides by their home columns, and orders inside the groups of some columns.

    Those of `grouped` are homes; those of `large` have groups that are asked of parts with any rows, and so are orders
    among all rows, where `whole` asks for them. `scales` are what orders are about, `keys` those that are keys.
    """

    n_rows: int
    limits: Limits
    sides: Mapping[int, Sequence[AskedSide]]
    grouped: frozenset[int] = frozenset()
    large: frozenset[int] = frozenset()
    whole: bool = False
    scales: tuple[int, ...] = ()
    keys: frozenset[int] = frozenset()

    @property
    def homes(self) -> list[int]:
        """The columns by which parts are asked for; the last one may be `ANYWHERE`."""
        return sorted({*self.sides, *self.grouped}) + [ANYWHERE] * bool(self.large or self.whole)

    def of_part(self, home: int, relation: Relation) -> Iterator[Line]:
        """The sums of a part whose last row is not one: it has the values that are common in the whole table."""
        columns = read_columns(relation, relation.names, 1)
        n_rows = relation.n_rows - 1
        whole = Grouping.whole(n_rows)
        by_home = whole if home == ANYWHERE else whole.refined(columns[home])
        codes = matrix_of(columns)
        counts = np.zeros(2 * max(column.size for column in columns), np.int64)
        for side in self.sides.get(home, ()):
            yield from self._side(side, _refined(by_home, columns, side.columns, home), codes, counts)
        groupings = {home: by_home} if home in self.grouped else {}
        if home == ANYWHERE:
            groupings |= {ANYWHERE: whole} if self.whole else {}
            groupings |= {place: whole.refined(columns[place]) for place in self.large}
        if groupings:
            orders = OrderSearch(columns, {}, self.keys, n_rows + 1, self.limits, 0, scales=list(self.scales))
            for group, grouping in groupings.items():
                for x in self.scales:
                    if x != group:
                        yield from self._orders(orders, group, grouping, x)

    def _side(self, side: AskedSide, grouping: Grouping, codes: Ids, counts: Longs) -> Iterator[Line]:
        present = np.logical_and.reduce([codes[place, :-1] >= 0 for place in side.columns])
        sums = (grouping.n_rows, grouping.n_groups, int(np.count_nonzero(present)))
        yield line(Sum.SIDE, (side.number,), sums)
        common = np.ascontiguousarray(codes[side.rights, -1])
        found = blamed_by(
            grouping.order, grouping.starts, codes, side.rights, side.stops, common, counts, np.zeros(1, np.int64)
        )
        for right, sums_of_right in zip(side.rights.tolist(), found.tolist(), strict=True):
            if sums_of_right[0]:
                yield line(Sum.RIGHT, (side.number, right), sums_of_right)

    def _orders(self, orders: OrderSearch, group: int, grouping: Grouping, x: int) -> Iterator[Line]:
        rows, starts = orders.sorted_rows(grouping, x)
        most = int(self.limits.order_error * self.n_rows)
        ys, blamed = orders.sure_blame(rows, starts, None if group == ANYWHERE else group, x, most)
        for y, *both in zip(ys, *blamed.tolist(), strict=True):
            if y >= 0:
                yield line(Sum.ORDER, (group, x, y), both)


def _refined(by_home: Grouping, columns: Sequence[CodedColumn], side: Side, home: int) -> Grouping:
    found = by_home
    for place in side:
        if place != home:
            found = found.refined(columns[place])
    return found


def compared_in_part(relation: Relation, realms: Sequence[tuple[Sequence[int], bool]]) -> Iterator[Line]:
    """How columns compare in any part of the rows; `realms` are columns that can be compared, and whether by order."""
    for places, ordered in realms:
        names = tuple(relation.names[place] for place in places)
        coded = relation.encode_joint(names, ordered=ordered)
        for (first, a), (second, b) in itertools.combinations(zip(places, coded, strict=True), 2):
            both = (a.values >= 0) & (b.values >= 0)
            equal = np.count_nonzero(both & (a.values == b.values))
            lower = np.count_nonzero(both & (a.values < b.values)) if ordered else 0
            yield line(Sum.COMPARED, (first, second), (int(np.count_nonzero(both)), int(equal), int(lower)))
