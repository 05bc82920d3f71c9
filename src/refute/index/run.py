"""Rows of one side of a rule, held against points of the other: a sorted run or, where they are few, as they came."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.runs import pointers, probe, query, rows
from refute.kernels.runs.pointers import Places
from refute.kernels.runs.rows import Arrays, Lines, Longs
from refute.language.operators import Operator
from refute.runtime.arrays import paged

Alive = NDArray[np.uint8]
Bound = tuple[int, Operator, int]  # an axis of a run, how its cell compares with a point's, and which of its cells

_PER_BUCKET = 1  # lines that share a start, on average
_MANY = 1 << 16  # lines of a run that is made little by little
_ROOM = 2  # pairs for each point for which there is room at first
_LEAST_ROOM = 32  # pairs beside
_NO_NETS = np.empty(0, np.int64)
_NO_RUNS: Places = np.empty((0, pointers.WIDTH), np.int64)
_KINDS = {
    Operator.LT: query.BELOW,
    Operator.LE: query.AT_MOST,
    Operator.GT: query.ABOVE,
    Operator.GE: query.AT_LEAST,
    Operator.EQ: query.SAME,
    Operator.NE: query.SAME,
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


class Held(ABC):
    """Rows that points are held against: in runs, by their places, and as lines in no order, which are few."""

    shape: RunShape

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of lines."""

    @abstractmethod
    def held(self) -> tuple[Places, Lines]:
        """The runs and the lines."""

    def counts(self, asking: Asking, points: Lines) -> Longs:
        """For each point, in each way in which it asks, the number of its rows, less those taken back."""
        found = np.zeros(asking.ways * len(points), np.int64)
        probe.count(*self.held(), points, self.shape.n_equal, asking.matrix, found)
        return found

    def pairs(self, asking: Asking, points: Lines, alive: Alive, most: int) -> tuple[int, Lines]:
        """How many pairs of a point and an alive row there are, and their slots. More than `most`: some number.

        The point comes first, but where it asks in a second way.
        """
        runs, lines = self.held()
        found = np.empty((2, min(most, _LEAST_ROOM + _ROOM * asking.ways * len(points))), np.int64)
        total = probe.pairs(runs, lines, points, self.shape.n_equal, asking.matrix, alive, most, found)
        if found.shape[1] < total <= most:
            found = np.empty((2, total), np.int64)
            probe.pairs(runs, lines, points, self.shape.n_equal, asking.matrix, alive, most, found)
        return total, found[:, : min(total, most)]


class Few(Held):
    """Few rows as they came, each with its slot; some of them may take others back."""

    def __init__(self, shape: RunShape, lines: Lines) -> None:
        self.shape = shape
        self.lines = lines

    @property
    def size(self) -> int:
        """The number of lines."""
        return len(self.lines)

    def held(self) -> tuple[Places, Lines]:
        """The lines alone."""
        return _NO_RUNS, self.lines

    @property
    def repeats_groups(self) -> bool:
        """Whether some group may have more than one row."""
        return len(self.lines) > 1

    def taken_back(self) -> Few:
        """What takes all these rows back."""
        return Few(self.shape, _taken_back(self.lines))


class Run(Held):
    """Rows by group and axes, each with its slot; some of them may take rows of other runs back."""

    def __init__(self, shape: RunShape, arrays: Arrays) -> None:
        self.shape = shape
        self.arrays = arrays
        self.lines = arrays.lines

    @classmethod
    def of(cls, shape: RunShape, lines: Lines) -> Run:
        """The run of these lines, which are in any order. A slot `~s` takes the row of s back."""
        arrays = room_for(shape, len(lines))
        negative = rows.build(lines, shape.leading, arrays)
        return cls(shape, with_nets(arrays) if negative else arrays)

    def taken_back(self) -> Run:
        """The run that takes all rows of this one back, which takes none back itself."""
        nets = -np.arange(len(self.lines) + 1)
        return Run(self.shape, self.arrays._replace(lines=_taken_back(self.lines), nets=nets))

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def size(self) -> int:
        """The number of lines."""
        return len(self.lines)

    @property
    def nbytes(self) -> int:
        """The memory of its arrays."""
        return sum(part.nbytes for part in self.arrays if isinstance(part, np.ndarray))

    @cached_property
    def place(self) -> list[int]:
        """Where it lies, as long as it lives."""
        return pointers.place_of(self.arrays)

    def held(self) -> tuple[Places, Lines]:
        """The run alone."""
        return np.array([self.place]), np.empty((0, self.shape.width), np.int64)

    @cached_property
    def repeats_groups(self) -> bool:
        """Whether some group has more than one row."""
        return bool(rows.repeats_groups(self.lines, self.shape.n_equal))


class Asking(NamedTuple):
    """What is asked of rows of a shape by points of another: bounds for cells, in the order that kernels want."""

    matrix: Lines  # which cell of a row and whether it differs; then, for each way, which cell of a point, and the kind

    @property
    def ways(self) -> int:
        """In how many ways points ask."""
        return len(self.matrix) // 2 - 1

    @classmethod
    def of(cls, shape: RunShape, bounds: Sequence[Bound]) -> Asking:
        """The bounds of rows in a group: those for the first axis come first, and of these a difference last."""
        ordered = sorted(bounds, key=lambda bound: (bound[0] > 0, bound[1] is Operator.NE))
        told = [(shape.n_equal + axis, op is Operator.NE, cell, _KINDS[op]) for axis, op, cell in ordered]
        return cls(np.array(told, np.int64).reshape(-1, 4).T.copy())

    def with_other(self, other: Asking) -> Asking | None:
        """What asks in both ways; None where they are not about the same cells of a row."""
        if not np.array_equal(self.matrix[:2], other.matrix[:2]):
            return None
        return Asking(np.concatenate((self.matrix, other.matrix[2:])))


def lines_of(shape: RunShape, columns: Sequence[Longs], slots: Longs) -> Lines:
    """Rows as lines, given by columns: those of groups, then axes."""
    lines = np.empty((len(slots), shape.width), np.int64)
    for place, column in enumerate(columns):
        lines[:, place] = column
    lines[:, -1] = slots
    return lines


def _taken_back(lines: Lines) -> Lines:
    found = lines.copy()
    np.invert(found[:, -1], out=found[:, -1])
    return found


def room_for(shape: RunShape, n: int, lines: Lines | None = None) -> Arrays:
    """Arrays for a run of up to n rows, with room for its lines unless they are given."""
    bits, levels = _layout(n, shape.n_equal > 0, shape.n_axes > 0)
    room = paged if n > _MANY else np.empty
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
