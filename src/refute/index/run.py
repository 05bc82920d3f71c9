"""A sorted run of rows: built from one side of a rule, probed by points of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.runs import probe, rows
from refute.kernels.runs.probe import Query
from refute.kernels.runs.rows import Arrays, Lines, Longs
from refute.language.operators import Operator
from refute.runtime.arrays import zeros

Alive = NDArray[np.uint8]
Bound = tuple[int, Operator, int]  # an axis of a run, how its cell compares with a point's, and which of its cells

_PER_BUCKET = 1  # lines that share a start, on average
_MANY = 1 << 16  # lines of a run that is made little by little
_ROOM = 2  # pairs for each point for which there is room at first
_NOBODY, _NOWHERE, _NO_NETS = np.empty(0, np.uint8), np.empty((2, 0), np.int64), np.empty(0, np.int64)
_KINDS = {
    Operator.LT: probe.BELOW,
    Operator.LE: probe.AT_MOST,
    Operator.GT: probe.ABOVE,
    Operator.GE: probe.AT_LEAST,
    Operator.EQ: probe.SAME,
    Operator.NE: probe.SAME,
}


@dataclass(frozen=True, slots=True)
class RunShape:
    """What the lines of a run hold: cells that group rows, and axes; by the first axis the rows of a group ascend."""

    n_equal: int
    n_axes: int

    @property
    def width(self) -> int:
        """The cells of a line, with the slot."""
        return self.n_equal + self.n_axes + 1

    @property
    def leading(self) -> int:
        """The cells by which lines are sorted, after their hash and before their slot."""
        return self.n_equal + min(self.n_axes, 1)


class Run:
    """Rows by group and axes, each with its slot; some of them may take rows of other runs back."""

    def __init__(self, shape: RunShape, arrays: Arrays) -> None:
        self.shape = shape
        self.arrays = arrays
        self.size = len(arrays.lines)

    @classmethod
    def build(cls, shape: RunShape, columns: Sequence[Longs], slots: Longs) -> Run:
        """The run of these rows, given by columns: those of groups, then axes. A slot `~s` takes the row of s back."""
        lines = np.empty((len(slots), shape.width), np.int64)
        for place, column in enumerate((*columns, slots)):
            lines[:, place] = column
        arrays = room_for(shape, len(lines))
        negative = rows.build(lines, shape.leading, arrays)
        return cls(shape, with_nets(arrays) if negative else arrays)

    def taken_back(self) -> Run:
        """The run that takes all rows of this one back, which takes none back itself."""
        lines = self.arrays.lines.copy()
        np.invert(lines[:, -1], out=lines[:, -1])
        return Run(self.shape, self.arrays._replace(lines=lines, nets=-np.arange(len(lines) + 1)))

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """The memory of its arrays."""
        return sum(part.nbytes for part in self.arrays if isinstance(part, np.ndarray))

    @cached_property
    def slots(self) -> Longs:
        """The slot of each line; negative where a row is taken back."""
        return self.arrays.lines[:, -1]

    @cached_property
    def repeats_groups(self) -> bool:
        """Whether some group has more than one row."""
        return bool(rows.repeats_groups(self.arrays.lines, self.shape.n_equal))

    def counts(self, query: Query) -> Longs:
        """For each point the number of its rows, less those taken back."""
        found = np.zeros(len(query.lines), np.int64)
        if len(self):
            probe.count(self.arrays, query, _NOBODY, _NOWHERE, found)
        return found

    def exists(self, query: Query) -> NDArray[np.bool_]:
        """For each point whether it has a row."""
        return self.counts(query) > 0

    def pairs(self, query: Query, alive: Alive, most: int, room: Lines | None = None) -> tuple[int, Lines]:
        """How many pairs of a point and an alive row's slot there are, and which. More than `most`: some number.

        Few are put into `room`, if that is given.
        """
        found = room_for_pairs(query, most) if room is None else room
        total = int(probe.pairs(self.arrays, query, alive, most, found)) if self.size else 0
        if found.shape[1] < total <= most:
            found = np.empty((2, total), np.int64)
            probe.pairs(self.arrays, query, alive, most, found)
        return total, found[:, : min(total, most)]


class Asking(NamedTuple):
    """What points of one shape ask runs of another: bounds for cells, in the order that kernels want."""

    cells: Lines  # which cell of a point each bound is about, for each way in which points ask
    kinds: Lines
    columns: Longs
    differs: NDArray[np.bool_]

    @classmethod
    def of(cls, shape: RunShape, bounds: Sequence[Bound]) -> Asking:
        """The bounds of rows in a group: those for the first axis come first, and of these a difference last."""
        ordered = sorted(bounds, key=lambda bound: (bound[0] > 0, bound[1] is Operator.NE))
        return cls(
            np.array([[cell for _, _, cell in ordered]], np.int64),
            np.array([[_KINDS[op] for _, op, _ in ordered]], np.int64),
            np.array([shape.n_equal + axis for axis, _, _ in ordered], np.int64),
            np.array([op is Operator.NE for _, op, _ in ordered], np.bool_),
        )

    def by(self, lines: Lines) -> Query:
        """The query of these points: all of them as they ask first and, if there is another way, all of them again."""
        ways, n_bounds = self.cells.shape
        bounds = np.empty((2, ways * len(lines), n_bounds), np.int64)
        probe.bound(lines, self.cells, self.kinds, bounds[0], bounds[1])
        return Query(lines if ways == 1 else np.concatenate((lines, lines)), bounds[0], bounds[1], *self[2:])

    def with_other(self, other: Asking) -> Asking | None:
        """What asks in both ways; None where they are not about the same cells of a row."""
        if np.array_equal(self.columns, other.columns) and np.array_equal(self.differs, other.differs):
            cells, kinds = np.concatenate((self.cells, other.cells)), np.concatenate((self.kinds, other.kinds))
            return self._replace(cells=cells, kinds=kinds)
        return None


def room_for_pairs(query: Query, most: int) -> Lines:
    """Room for the pairs of a query, if these are few."""
    return np.empty((2, min(most, 64 + _ROOM * len(query.lines))), np.int64)


def room_for(shape: RunShape, n: int, lines: Lines | None = None) -> Arrays:
    """Arrays for a run of up to n rows, with room for its lines unless they are given."""
    bits, levels = _layout(n, shape.n_equal > 0, shape.n_axes > 0)
    room = zeros if n > _MANY else np.empty
    return Arrays(
        room((n, shape.width), np.int64) if lines is None else lines,
        np.zeros((1 << bits) + 1, np.int32),
        np.empty((int(levels[-1]), 2 * shape.n_axes), np.int64),
        levels,
        _NO_NETS,
        shape.n_equal,
        64 - bits,
    )


@lru_cache(maxsize=1 << 10)
def _layout(n: int, grouped: bool, zoned: bool) -> tuple[int, Longs]:
    """How many bits of a hash the starts of n lines distinguish, and where the boxes of each size begin."""
    bits = max(1, (n // _PER_BUCKET).bit_length() - 1) if grouped else 1
    levels = [0]
    boxes = (n + (1 << rows.BLOCK_BITS) - 1) >> rows.BLOCK_BITS if zoned else 0
    while boxes:
        levels.append(levels[-1] + boxes)
        boxes = 0 if boxes == 1 else (boxes + (1 << rows.FAN_BITS) - 1) >> rows.FAN_BITS
    return bits, np.array(levels if len(levels) > 1 else [0, 0], np.int64)


def with_nets(arrays: Arrays) -> Arrays:
    """The arrays of a run with what rows taken back need."""
    if rows.sum_up(arrays.lines, _NO_NETS) == 0:
        return arrays._replace(nets=_NO_NETS)
    nets = np.empty(len(arrays.lines) + 1, np.int64)
    rows.sum_up(arrays.lines, nets)
    return arrays._replace(nets=nets)
