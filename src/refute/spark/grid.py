"""The grid: order rules over groups too large for one task, cut so that every pair is found exactly once.

Each order predicate is a dimension, cut into tiles. A pair that satisfies the rule has, in each dimension, tiles in the
right order, and the predicate holds without looking, or equal tiles that leave it open. Let j be the first dimension
with equal open tiles: that class of pairs is found by one shuffle on (group, tile of j) and the in-process kernels,
which compare tiles before j and values from j on. Pairs with no such dimension are settled by their cells, the
combinations of tiles, alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.rulebook import Rule
from refute.relation.types import ColumnType
from refute.spark.emission import AS_S, AS_T, SELF, TILE
from refute.spark.expressions import column_operands, monotone
from refute.spark.pairing import Pairing
from refute.spark.tiles import Tiles

# Cuts per dimension by the number of dimensions. To count, all combinations of tiles must fit an array; to list pairs
# of cells, their square should stay small.
CUTS_TO_COUNT = {0: 0, 1: 255, 2: 63, 3: 31, 4: 15, 5: 7, 6: 3, 7: 1, 8: 1, 9: 1}
CUTS_TO_LIST = {0: 0, 1: 63, 2: 15, 3: 7, 4: 3, 5: 1, 6: 1, 7: 1, 8: 1, 9: 1}
MOST_DIMENSIONS = max(CUTS_TO_COUNT)
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One order predicate with the cuts of the values that it compares."""

    predicate: Predicate
    s_kind: ColumnType
    t_kind: ColumnType
    tiles: Tiles

    @property
    def ascending(self) -> bool:
        """Whether the predicate asks that `s` be less."""
        return self.predicate.op in (Operator.LT, Operator.LE)

    @property
    def settles_ties(self) -> bool:
        """Whether equal tiles of a single value satisfy the predicate."""
        return self.tiles.single and not self.predicate.op.is_strict

    def tile(self, row: Row) -> SparkColumn:
        """The tile of this side's value."""
        kinds = (self.s_kind, self.t_kind) if row is Row.S else (self.t_kind, self.s_kind)
        return self.tiles.number(monotone(*kinds))

    def step(self, row: Row) -> SparkColumn:
        """A number of this side's tile: the two numbers are in order exactly when the tiles settle the predicate."""
        tile = self.tile(row)
        return tile * 2 + tile % 2 if self.settles_ties and self._is_upper(row) else tile * 2

    def steps(self, tiles: Ints, row: Row) -> Ints:
        """The same on arrays, turned so that `s` must be less."""
        found = tiles * 2 + tiles % 2 if self.settles_ties and self._is_upper(row) else tiles * 2
        return found if self.ascending else 2 * self.tiles.size - 1 - found

    def _is_upper(self, row: Row) -> bool:
        return (row is Row.T) == self.ascending


@dataclass(frozen=True)
class Grid:
    """The dimensions of one rule, and what the tiles alone tell about pairs."""

    pairing: Pairing
    merged: bool  # one copy of a row serves both roles
    dimensions: tuple[Dimension, ...]

    @classmethod
    def of_sample(cls, pairing: Pairing, merged: bool, sample: pa.Table, cuts: dict[int, int]) -> Grid:
        """The grid cut by a sample of each order predicate's values, v0 and so on, both sides together."""
        found = []
        for i, predicate in enumerate(pairing.order):
            s_kind, t_kind = (pairing.relation.type_of(name) for name in column_operands(predicate))
            tiles = Tiles.of_sample((s_kind, t_kind), sample.column(f"v{i}"), cuts[len(pairing.order)])
            found.append(Dimension(predicate, s_kind, t_kind, tiles))
        return cls(pairing, merged, tuple(found))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of tiles in each dimension."""
        return tuple(dimension.tiles.size for dimension in self.dimensions)

    def step_names(self, i: int) -> tuple[str, str]:
        """The columns that hold the steps of dimension i for `s` and for `t`."""
        both = self.merged and self.dimensions[i].settles_ties
        return f"__step{i}", f"__step{i}_t" if both else f"__step{i}"

    def step_columns(self, i: int, row: Row) -> list[SparkColumn]:
        """The steps of dimension i to ship with a row of this role."""
        s_name, t_name = self.step_names(i)
        dimension = self.dimensions[i]
        if not self.merged:
            return [dimension.step(row).alias(s_name)]
        sides = {s_name: Row.S, t_name: Row.T} if s_name != t_name else {s_name: Row.S}
        return [dimension.step(side).alias(name) for name, side in sides.items()]

    def light_rule(self) -> Rule:
        """The rule within groups that one task gets whole."""
        return self._rule(list(self.pairing.predicates))

    def class_rule(self, j: int) -> Rule:
        """The rule within a bucket of class j."""
        predicates = [*self.pairing.equal, across(TILE, Operator.EQ, TILE)]
        for i, dimension in enumerate(self.dimensions):
            if i >= j:
                predicates.append(dimension.predicate)
                continue
            s_name, t_name = self.step_names(i)
            predicates.append(across(s_name, Operator.LT if dimension.ascending else Operator.GT, t_name))
        return self._rule([*predicates, *self.pairing.differ])

    def _rule(self, predicates: list[Predicate]) -> Rule:
        if not self.pairing.aligned:
            predicates = [
                Predicate.of(Column(Row.S, AS_S), Operator.EQ, Constant(True)),
                Predicate.of(Column(Row.T, AS_T), Operator.EQ, Constant(True)),
                *predicates,
            ]
            if self.pairing.self_pairs and not self.merged:
                predicates.append(across(SELF, Operator.NE, SELF))
        return replace(self.pairing.rule, constraint=DenialConstraint(tuple(predicates)), where=None)

    def cell(self, group: SparkColumn, row: Row) -> SparkColumn:
        """The number of a row's cell: its group and tiles as digits."""
        found = group.cast("long")
        for dimension in self.dimensions:
            found = found * dimension.tiles.size + dimension.tile(row)
        return found

    def settles_itself(self) -> SparkColumn:
        """Whether a row's own tiles settle every order predicate with itself."""
        found = F.lit(True)
        for dimension in self.dimensions:
            s_step, t_step = dimension.step(Row.S), dimension.step(Row.T)
            found = found & (s_step < t_step if dimension.ascending else s_step > t_step)
        return found

    def steps_of(self, cells: Ints, row: Row) -> tuple[Ints, list[Ints]]:
        """The groups of cells, and their steps in each dimension, turned so that `s` must be less."""
        groups = cells // math.prod(self.shape)
        return groups, [d.steps(tile, row) for d, tile in zip(self.dimensions, self.tiles_of(cells), strict=True)]

    def tiles_of(self, cells: Ints) -> list[Ints]:
        """The tiles of cells in each dimension."""
        tiles = []
        rest = cells
        for size in reversed(self.shape):
            rest, tile = np.divmod(rest, size)
            tiles.append(tile)
        return tiles[::-1]

    def settled_below(self, s_cells: Ints, s_counts: Ints, t_cells: Ints) -> Ints:
        """For each t cell, how many rows of s cells stand below it in every dimension, in the same group."""
        return self._dominated(self.steps_of(s_cells, Row.S), s_counts, self.steps_of(t_cells, Row.T))

    def settled_above(self, t_cells: Ints, t_counts: Ints, s_cells: Ints) -> Ints:
        """For each s cell, how many rows of t cells stand above it in every dimension, in the same group."""
        turned = []
        for cells, row in ((t_cells, Row.T), (s_cells, Row.S)):
            group, steps = self.steps_of(cells, row)
            turned.append((group, [2 * size - 1 - one for size, one in zip(self.shape, steps, strict=True)]))
        return self._dominated(turned[0], t_counts, turned[1])

    def _dominated(self, points: tuple[Ints, list[Ints]], weights: Ints, queries: tuple[Ints, list[Ints]]) -> Ints:
        """For each query, the weight of the points of its group that are less in every dimension: prefix sums.

        Without any dimension, which NumPy adds nothing at, all points of the group are.
        """
        found = np.zeros(len(queries[0]), dtype=np.int64)
        for group in np.intersect1d(points[0], queries[0]).tolist():
            mine, asked = points[0] == group, queries[0] == group
            if not self.shape:
                found[asked] = weights[mine].sum()
                continue
            below = np.zeros(tuple(2 * size + 1 for size in self.shape), dtype=np.int64)
            np.add.at(below, tuple(steps[mine] + 1 for steps in points[1]), weights[mine])
            for axis in range(below.ndim):
                np.cumsum(below, axis=axis, out=below)
            found[asked] = below[tuple(steps[asked] for steps in queries[1])]
        return found

    def settled_pairs(self, s_cells: Ints, t_cells: Ints) -> tuple[Ints, Ints]:
        """The pairs of cells all of whose rows violate the order predicates, as positions in the two arrays."""
        s_group, s_steps = self.steps_of(s_cells, Row.S)
        t_group, t_steps = self.steps_of(t_cells, Row.T)
        s_found, t_found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for i in range(len(s_cells)):
            above = t_group == s_group[i]
            for mine, theirs in zip(s_steps, t_steps, strict=True):
                above &= mine[i] < theirs
            positions = np.flatnonzero(above)
            s_found.append(np.full(len(positions), i, dtype=np.int64))
            t_found.append(positions)
        return np.concatenate(s_found), np.concatenate(t_found)


def across(s_name: str, op: Operator, t_name: str) -> Predicate:
    """A predicate between a column of `s` and a column of `t`."""
    return Predicate.of(Column(Row.S, s_name), op, Column(Row.T, t_name))
