"""Tables of extrema: which points t have a partner, where all dimensions but one are small."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import fewest_values, mixed, ranked
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance_tables import (
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
from refute.kernels.memory import empty, full
from refute.plan.problem import Comparison, Ints
from refute.plan.share import Share

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
class Extrema:
    """The least value of side s below each cell, and the points of t that are held against it.

    With codes a cell has an entry of four: the least values of two different codes.
    """

    table: Ints
    cells: Ints
    values: Ints
    codes: Ints | None

    @classmethod
    def of(cls, points: Points, codes: Codes | None, share: Share | None, tuning: Tuning) -> Extrema | None:
        """The table for these points; None when it would be too large."""
        table = tuning.table(points.n_s + points.n_t)
        if codes is not None:
            table //= 4
        *small, value = sorted(points.order, key=lambda each: each.size) or [_constant(points)]
        if points.groups * prod(each.size + 1 for each in small) > table and small:
            if points.groups * prod(fewest_values(each) + 1 for each in small) > table:
                return None
            small = [ranked(each, share) if each.size > 64 else each for each in small]
        shape = tuple(each.size + 1 for each in small)
        if points.groups * prod(shape) > table:
            return None
        s_cells, t_cells = _cells(points, small, shape)
        shift = sum(prod(shape[place + 1 :]) for place in range(len(shape)))  # s stands one above in each dimension
        cells = points.groups * prod(shape)
        if codes is None:
            least = full(cells, np.iinfo(value.s.dtype).max, value.s.dtype)
            lower_cells(s_cells, shift, value.s, least)
            for place, length in enumerate(shape):
                spread_cells(least, length, prod(shape[place + 1 :]))
            return cls(least, t_cells, value.t, None)
        entries = np.tile(np.array([NONE, -1, NONE, -1]), (cells, 1))
        lower_entries(s_cells, shift, value.s, codes[0], entries)
        for place, length in enumerate(shape):
            spread_entries(entries, length, prod(shape[place + 1 :]))
        return cls(entries, t_cells, value.t, codes[1])

    def first(self) -> int:
        """The first point t with a partner, -1 when there is none."""
        if self.codes is None:
            return int(first_above(self.cells, self.values, self.table))
        return int(first_above_entry(self.cells, self.values, self.codes, self.table))

    def flags(self) -> NDArray[np.bool_]:
        """Which points t have a partner."""
        flags = empty(len(self.cells), np.bool_)
        if self.codes is None:
            flag_above(self.cells, self.values, self.table, flags)
        else:
            flag_above_entry(self.cells, self.values, self.codes, self.table, flags)
        return flags


def _constant(points: Points) -> Comparison:
    """An order that every pair satisfies."""
    return Comparison(full(points.n_s, 0, np.int32), full(points.n_t, 1, np.int32), 2)


def _cells(points: Points, small: list[Comparison], shape: tuple[int, ...]) -> tuple[Ints, Ints]:
    """The cell of each point: its group, then its values."""
    if points.group is None:
        s: Ints = full(points.n_s, 0, np.int32)
        t: Ints = s if points.n_s == points.n_t else full(points.n_t, 0, np.int32)
    else:
        s, t = points.group.s, points.group.t
    size = points.groups * prod(shape)
    for comparison, length in zip(small, shape, strict=True):
        same = s is t and comparison.s is comparison.t
        s, previous = mixed(s, comparison.s, length, size), t
        t = s if same else mixed(previous, comparison.t, length, size)
    return s, t
