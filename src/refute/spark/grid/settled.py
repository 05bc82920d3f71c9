"""What the cells of large groups settle: pairs of rows whose tiles are in order on every axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from refute.spark.grid.division import Division

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Settled:
    """The occupied cells of both sides, with how many rows each holds, and how many rows pair with themselves."""

    division: Division
    s_cells: Ints
    s_counts: Ints
    t_cells: Ints
    t_counts: Ints
    own: int

    @property
    def violations(self) -> int:
        """The number of settled pairs of distinct rows."""
        return sum(int(n) * int(m) for n, m in zip(self.below, self.t_counts, strict=True) if n) - self.own

    @cached_property
    def below(self) -> Ints:
        """For each t cell, how many rows of s cells it settles."""
        return self._dominated(
            self._steps(self.s_cells, of_t=False), self.s_counts, self._steps(self.t_cells, of_t=True)
        )

    @cached_property
    def above(self) -> Ints:
        """For each s cell, how many rows of t cells it settles."""
        points, queries = self._steps(self.t_cells, of_t=True), self._steps(self.s_cells, of_t=False)
        return self._dominated(_turned(points), self.t_counts, _turned(queries))

    def pairs(self, most: int | None = None, *, first: int = 0, last: int | None = None) -> Iterator[tuple[Ints, Ints]]:
        """The settled pairs of cells as positions, s cell after s cell from `first` on and before `last`, until they
        hold `most` pairs of distinct rows."""
        s_group, s_steps = self._steps(self.s_cells, of_t=False)
        t_group, t_steps = self._steps(self.t_cells, of_t=True)
        held = 0
        for place in (np.flatnonzero(self.above[first:last]) + first).tolist():
            begin, end = np.searchsorted(t_group, [s_group[place], s_group[place] + 1])
            settled = np.ones(end - begin, np.bool_)
            for mine, theirs in zip(s_steps, t_steps, strict=True):
                settled &= mine[place] < theirs[begin:end]
            t_places = np.flatnonzero(settled) + begin
            yield np.full(len(t_places), place, np.int64), t_places
            rows = int(self.s_counts[place])
            # Each row of the s cell may have to be left out once for itself.
            held += max(rows * int(self.t_counts[t_places].sum()) - (rows if self.own else 0), 0)
            if most is not None and held >= most:
                return

    def _steps(self, cells: Ints, *, of_t: bool) -> tuple[Ints, list[Ints]]:
        """The groups of cells, and their steps on each axis, turned such that `s` must be less."""
        groups, tiles = self.division.tiles_of(cells)
        steps = []
        for cuts, tile in zip(self.division.cuts, tiles, strict=True):
            found = cuts.axis.steps(tile, of_t=of_t)
            steps.append(found if cuts.axis.order.ascending else -found)
        return groups, steps

    @staticmethod
    def _dominated(points: tuple[Ints, list[Ints]], weights: Ints, queries: tuple[Ints, list[Ints]]) -> Ints:
        """For each query, the weight of the points of its group that are less on every axis: prefix sums, group by
        group. Cells come in ascending order, so a group is a slice."""
        found = np.zeros(len(queries[0]), dtype=np.int64)
        for group in np.intersect1d(points[0], queries[0]).tolist():
            mine = slice(*np.searchsorted(points[0], [group, group + 1]))
            asked = slice(*np.searchsorted(queries[0], [group, group + 1]))
            if not points[1]:
                found[asked] = weights[mine].sum()
                continue
            known = [np.unique(steps[mine]) for steps in points[1]]
            below = np.zeros([len(one) + 1 for one in known], dtype=np.int64)
            at = tuple(np.searchsorted(one, steps[mine]) + 1 for one, steps in zip(known, points[1], strict=True))
            np.add.at(below, at, weights[mine])
            for axis in range(below.ndim):
                np.cumsum(below, axis=axis, out=below)
            found[asked] = below[
                tuple(np.searchsorted(one, steps[asked]) for one, steps in zip(known, queries[1], strict=True))
            ]
        return found


def _turned(points: tuple[Ints, list[Ints]]) -> tuple[Ints, list[Ints]]:
    """The points with all steps turned, so above becomes below."""
    return points[0], [-steps for steps in points[1]]
