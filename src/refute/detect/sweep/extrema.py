"""Tables of extrema: which points t have a partner, where all dimensions but one are small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import fewest_values, mixed, ranked
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance.extrema import (
    NONE,
    first_above,
    first_above_entry,
    flag_above,
    flag_above_entry,
    lower_cells,
    lower_entries,
    spread_cells,
    spread_entries,
)
from refute.plan.problem import Comparison, Ints
from refute.plan.share import Share
from refute.runtime.arrays import empty, full

Codes = tuple[Ints, Ints]


def codes_of(points: Points, share: Share | None) -> Codes | None:
    """A code per point of each side that partners must not share; None when any partner will do."""
    if points.differ:
        (differ,) = points.differ
        if differ.size > INT32:
            differ = ranked(differ, share)
        return differ.s, differ.t
    return points.row_numbers() if points.self_pairs else None


@dataclass(frozen=True, slots=True)
class Table:
    """How a table of extrema lies: a cell for each group and each combination of the `small` orders.

    With `coded` a cell has an entry of four: the least values of two different codes.
    """

    points: Points
    small: tuple[Comparison, ...]
    value: Comparison
    shape: tuple[int, ...]  # the cells of a group along each small order
    coded: bool
    block: int

    @classmethod
    def of(cls, points: Points, share: Share | None, tuning: Tuning) -> Table | None:
        """The table for these points; None when it would be too large."""
        coded = bool(points.differ) or points.self_pairs
        room = tuning.table(points.n_s + points.n_t) // (4 if coded else 1)
        *small, value = sorted(points.order, key=lambda each: each.size) or [_constant(points)]
        shape = tuple([each.size + 1 for each in small])
        if points.groups * prod(shape) > room and small:
            if points.groups * prod(fewest_values(each) + 1 for each in small) > room:
                return None
            small = [ranked(each, share) if each.size > 64 else each for each in small]
            shape = tuple([each.size + 1 for each in small])
        if points.groups * prod(shape) > room:
            return None
        return cls(points, tuple(small), value, shape, coded, tuning.block)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.points.groups * prod(self.shape)


@dataclass(frozen=True, slots=True)
class Extrema:
    """The least value of side s below each cell, and how the points of t that are held against it find their cells.

    Points are read in blocks, so their cells take no memory and stay within the caches.
    """

    points: Points
    table: Ints
    small: tuple[Comparison, ...]
    value: Comparison
    codes: Ints | None
    block: int

    @classmethod
    def of(cls, table: Table, codes: Codes | None) -> Extrema:
        """The table filled; codes are those of the points where it is coded."""
        points, small, value, shape = table.points, table.small, table.value, table.shape
        shift = sum(prod(shape[place + 1 :]) for place in range(len(shape)))  # s stands one above in each dimension
        if codes is None:
            assert not table.coded
            kind = value.codes[0].dtype
            least = full(table.cells, np.iinfo(kind).max, kind)
            for rows in _blocks(points.n_s, table.block):
                lower_cells(_cells(points, small, 0, rows), shift, value.s_at(rows), least)
            for place, length in enumerate(shape):
                spread_cells(least, length, prod(shape[place + 1 :]))
            return cls(points, least, small, value, None, table.block)
        entries = np.tile(np.array([NONE, -1, NONE, -1]), (table.cells, 1))
        for rows in _blocks(points.n_s, table.block):
            lower_entries(_cells(points, small, 0, rows), shift, value.s_at(rows), codes[0][rows], entries)
        for place, length in enumerate(shape):
            spread_entries(entries, length, prod(shape[place + 1 :]))
        return cls(points, entries, small, value, codes[1], table.block)

    def first(self) -> int:
        """The first point t with a partner, -1 when there is none."""
        for rows in _blocks(self.points.n_t, self.block):
            cells, values = _cells(self.points, self.small, 1, rows), self.value.t_at(rows)
            if self.codes is None:
                found = first_above(cells, values, self.table)
            else:
                found = first_above_entry(cells, values, self.codes[rows], self.table)
            if found >= 0:
                return int(rows.start + found)
        return -1

    def flags(self) -> NDArray[np.bool_]:
        """Which points t have a partner."""
        flags = empty(self.points.n_t, np.bool_)
        for rows in _blocks(self.points.n_t, self.block):
            cells, values = _cells(self.points, self.small, 1, rows), self.value.t_at(rows)
            if self.codes is None:
                flag_above(cells, values, self.table, flags[rows])
            else:
                flag_above_entry(cells, values, self.codes[rows], self.table, flags[rows])
        return flags


def _constant(points: Points) -> Comparison:
    """An order that every pair satisfies."""
    return Comparison(full(points.n_s, 0, np.int32), full(points.n_t, 1, np.int32), 2)


def _blocks(n: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def _cells(points: Points, small: Sequence[Comparison], side: int, rows: slice) -> Ints:
    """The cells of these points of a side: the group, then the values."""
    cells: Ints = np.zeros(rows.stop - rows.start, np.int32) if points.group is None else points.group.codes[side][rows]
    size = points.groups * prod(each.size + 1 for each in small)
    for each in small:
        cells = mixed(cells, each.t_at(rows) if side else each.s_at(rows), each.size + 1, size)
    return cells
