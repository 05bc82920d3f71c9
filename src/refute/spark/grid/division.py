"""How the rows of a rule are divided: which groups are large, where they are cut, and which task gets what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.language.form import operands
from refute.relation.mixing import Bits
from refute.spark.grid.balancing import Places
from refute.spark.grid.cuts import Cuts
from refute.spark.grid.groups import NO_GROUP, Groups, hashes, missing
from refute.spark.grid.shape import GridShape, Mask

Ints = NDArray[np.int64]
LIGHT_BUCKETS = 1024
_LARGE = 4  # a group of more than a quarter of a task's rows is cut into tiles
_PER_TASK = 4  # tiles of an axis for each task, so tasks come out even
_LEAST_SAMPLED = 8  # rows of a sample below which it says nothing about a group
_MOST_CELLS = 1 << 24  # of one group, that come to the driver or are summed there


@dataclass(frozen=True)
class DividedSide:
    """The rows of a table in one role: which may take it, their hashes, groups, and tiles of each axis."""

    admitted: Mask
    hashes: Bits
    groups: Ints
    tiles: tuple[Ints, ...]


@dataclass(frozen=True)
class Division:
    """The division of the rows of a rule. Answers do not depend on it."""

    shape: GridShape
    groups: Groups
    cuts: tuple[Cuts, ...]
    light: int  # hash buckets of small groups
    places: Places

    @classmethod
    def of_sample(cls, shape: GridShape, sample: pa.Table, *, rows: int, tasks: int, task_rows: int) -> Division:
        """The division that balances a sample of a table of so many rows."""
        fitted = shape.fitted(sample)
        scale = max(rows / max(sample.num_rows, 1), 1.0)
        groups, sizes = _large_groups(fitted, sample, scale, task_rows)
        whole = cls(fitted, groups, (), max(LIGHT_BUCKETS, 8 * tasks), Places.of(np.zeros(0), tasks, task_rows))
        cuts = _cut(fitted, sample, whole.sides(sample), _tiles_per_group(sizes * scale, rows, tasks, len(fitted.axes)))
        cut = cls(fitted, groups, cuts, whole.light, whole.places)
        places = Places.of(cut.weights(sample) * scale, tasks, task_rows)
        return cls(fitted, groups, cuts, whole.light, places)

    @property
    def tasks(self) -> int:
        """The number of tasks that rows are sent to."""
        return self.places.tasks

    @cached_property
    def apart(self) -> bool:
        """Whether a row goes to other places as `s` than as `t`, so it is sent once for each role."""
        return self.shape.form.crosses_columns or self.places.in_parts

    def sides(self, table: pa.Table) -> tuple[DividedSide, DividedSide]:
        """The rows of a table as `s` and as `t`; the same object where the roles are alike."""
        s_rows, t_rows = self.shape.admitted(table)
        s_side = self._side(table, s_rows, of_t=False)
        if not self.shape.form.crosses_columns:
            return s_side, s_side if t_rows is s_rows else DividedSide(
                t_rows, s_side.hashes, s_side.groups, s_side.tiles
            )
        return s_side, self._side(table, t_rows, of_t=True)

    def _side(self, table: pa.Table, admitted: Mask, *, of_t: bool) -> DividedSide:
        hashed = hashes(self.shape.keys, table, of_t=of_t)
        groups = self.groups.numbers(table, hashed, of_t=of_t)
        tiles = []
        for cuts in self.cuts:
            name = operands(cuts.axis.order.predicate)[of_t]
            absent = missing(table.column(name)) if cuts.axis.order.nulls_first else None
            tiles.append(cuts.tiles(cuts.axis.keys(table, of_t=of_t), groups, absent))
        return DividedSide(admitted, hashed, groups, tuple(tiles))

    @cached_property
    def bases(self) -> tuple[Ints, ...]:
        """The first bucket of each large group on each axis, then the first one of small groups."""
        found, start = [], 0
        for cuts in self.cuts:
            found.append(start + np.cumsum(cuts.sizes) - cuts.sizes)
            start += int(cuts.sizes.sum())
        return (*found, np.array([start], np.int64))

    def sent(self, side: DividedSide, axis: int, admitted: Mask) -> tuple[Ints, Ints]:
        """The rows that meet on this axis, and their buckets; after the last axis, those of small groups."""
        if axis == len(self.cuts):
            rows = np.flatnonzero(admitted & (side.groups == NO_GROUP))
            return rows, self.bases[axis] + (side.hashes[rows] % np.uint64(self.light)).astype(np.int64)
        tiles = side.tiles[axis]
        rows = np.flatnonzero(admitted & (side.groups >= 0) & self.cuts[axis].is_open(tiles))
        return rows, self.bases[axis][side.groups[rows]] + tiles[rows]

    def weights(self, sample: pa.Table) -> NDArray[np.float64]:
        """The sampled rows in each bucket."""
        found = np.zeros(int(self.bases[-1][0]) + self.light)
        s_side, t_side = self.sides(sample)
        apart = self.shape.form.crosses_columns
        for axis in range(len(self.cuts) + 1):
            for side in (s_side, t_side) if apart else (s_side,):
                admitted = side.admitted if apart else s_side.admitted | t_side.admitted
                _, buckets = self.sent(side, axis, admitted)
                found += np.bincount(buckets, minlength=len(found))
        return found

    @cached_property
    def _radixes(self) -> list[Ints]:
        return [cuts.sizes for cuts in self.cuts]

    @cached_property
    def cell_starts(self) -> Ints:
        """The first cell of each large group, and after the last one the number of all."""
        sizes = np.ones(len(self.groups), np.int64)
        for radix in self._radixes:
            sizes = sizes * radix
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def cells(self, side: DividedSide) -> Ints:
        """The cell of each row: its group and tiles as digits; -1 for rows of small groups."""
        known = np.maximum(side.groups, 0)
        if not len(self.groups):
            return np.full(len(known), NO_GROUP, np.int64)
        found = np.zeros(len(known), np.int64)
        for radix, tiles in zip(self._radixes, side.tiles, strict=True):
            found = found * radix[known] + tiles
        return np.where(side.groups >= 0, found + self.cell_starts[known], NO_GROUP)

    def tiles_of(self, cells: Ints) -> tuple[Ints, list[Ints]]:
        """The groups of cells, and their tiles on each axis."""
        groups = np.searchsorted(self.cell_starts, cells, side="right") - 1
        rest, tiles = cells - self.cell_starts[groups], []
        for radix in reversed(self._radixes):
            rest, tile = np.divmod(rest, radix[groups])
            tiles.append(tile)
        return groups, tiles[::-1]

    def settles_itself(self, s_side: DividedSide, t_side: DividedSide) -> Mask:
        """Which rows the cells alone would pair with themselves, which is not a violation."""
        found = s_side.admitted & t_side.admitted & (s_side.groups >= 0) & (s_side.groups == t_side.groups)
        for cuts, s_tiles, t_tiles in zip(self.cuts, s_side.tiles, t_side.tiles, strict=True):
            axis = cuts.axis
            s_steps, t_steps = axis.steps(s_tiles, of_t=False), axis.steps(t_tiles, of_t=True)
            found = found & (s_steps < t_steps if axis.order.ascending else s_steps > t_steps)
        return np.asarray(found, np.bool_)


def _large_groups(
    shape: GridShape, sample: pa.Table, scale: float, task_rows: int
) -> tuple[Groups, NDArray[np.float64]]:
    """The groups of more rows than a task should get with others, and how many sampled rows each has."""
    least = max(task_rows / _LARGE / scale, _LEAST_SAMPLED if scale > 1 else 0)
    s_rows, t_rows = shape.admitted(sample)
    if not shape.keys:
        number = float(max(np.count_nonzero(s_rows), np.count_nonzero(t_rows)))
        if number <= least:
            return Groups(shape.keys, sample.slice(0, 0), np.zeros(0, np.uint64)), np.zeros(0)
        return Groups.everything(sample), np.array([number])
    s_hashes = hashes(shape.keys, sample, of_t=False)
    found, first, counts = np.unique(s_hashes[s_rows], return_index=True, return_counts=True)
    sizes = counts.astype(np.float64)
    if shape.form.crosses_columns or t_rows is not s_rows:
        t_found, t_counts = np.unique(hashes(shape.keys, sample, of_t=True)[t_rows], return_counts=True)
        _, mine, theirs = np.intersect1d(found, t_found, assume_unique=True, return_indices=True)
        sizes[mine] = np.maximum(sizes[mine], t_counts[theirs])
    large = sizes > least if shape.exact else np.zeros(len(sizes), np.bool_)
    rows = sample.take(pa.array(np.flatnonzero(s_rows)[first[large]]))
    groups = Groups.of(shape.keys, rows)
    return groups, sizes[large][np.searchsorted(found[large], groups.hashes)]


def _tiles_per_group(sizes: NDArray[np.float64], rows: int, tasks: int, axes: int) -> list[int]:
    """The cuts that each group gets on each axis: some for each task that its rows make up, if their cells are not too
    many then."""
    if not axes or not len(sizes):
        return [0] * len(sizes)
    wanted = np.ceil(_PER_TASK * tasks * sizes / max(rows, 1))
    share = _MOST_CELLS * sizes / sizes.sum()  # of the cells that all groups may have, twice as many as cuts each way
    most = np.maximum(np.floor(np.exp(np.log(np.maximum(share, 1)) / axes) / 2), 1)
    return [math.ceil(one) for one in np.minimum(wanted, most).tolist()]


def _cut(
    shape: GridShape, sample: pa.Table, sides: tuple[DividedSide, DividedSide], most: list[int]
) -> tuple[Cuts, ...]:
    """The cuts of each axis."""
    found = []
    for axis in shape.axes:
        keys, groups = [], []
        for of_t, side in enumerate(sides):
            admitted = side.admitted & (side.groups >= 0)
            if axis.order.nulls_first:
                absent = missing(sample.column(operands(axis.order.predicate)[of_t]))
                admitted = admitted if absent is None else admitted & ~absent
            keys.append(axis.keys(sample, of_t=bool(of_t))[admitted])
            groups.append(side.groups[admitted])
        all_keys, all_groups = np.concatenate(keys), np.concatenate(groups)
        order = np.argsort(all_groups, kind="stable")
        stops = np.searchsorted(all_groups[order], np.arange(1, len(most) + 1))
        samples = np.split(all_keys[order], stops[:-1]) if most else []
        found.append(Cuts.of(axis, samples, most))
    return tuple(found)
