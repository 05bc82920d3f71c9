"""Runs that are merged as they grow: each is several times as large as the next, so few of them hold all rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from refute.index.run import Alive, Run, RunShape, room_for, room_for_pairs, with_nets
from refute.kernels.runs import rows
from refute.kernels.runs.probe import Query
from refute.kernels.runs.rows import Arrays, Lines, Longs


@dataclass(frozen=True, slots=True)
class Merging:
    """When runs are merged; no answer depends on it.

    Two are once the larger has less than `ratio` times as many lines, or less than `least`. Up to `at_once` lines that
    is done when it is due; larger merges go on while rows come, `3 * ratio` lines for every row and `least` at a time:
    fast enough to be done before the next of their size is due.
    """

    ratio: int = 8
    least: int = 1 << 8
    at_once: int = 1 << 15


STANDARD = Merging()
_SIZE = attrgetter("size")


class Upkeep:
    """Large merges of all levels that share it. That with the least to do goes on: few at a time then take memory."""

    def __init__(self) -> None:
        self._merges: list[tuple[Levels, Merge]] = []

    def of(self, levels: Levels) -> list[Merge]:
        """The merges of some levels."""
        return [merge for owner, merge in self._merges if owner is levels] if self._merges else []

    def begin(self, levels: Levels, merge: Merge) -> None:
        """Takes a merge in."""
        self._merges.append((levels, merge))

    def go_on(self, most: int) -> None:
        """Merges up to so many lines."""
        while most > 0 and self._merges:
            place = min(range(len(self._merges)), key=lambda k: self._merges[k][1].left)
            levels, merge = self._merges[place]
            before = merge.left
            if merge.go_on(most):
                del self._merges[place]
                levels.take_over(merge)
            most -= max(before - merge.left, 1)


class Levels:
    """All rows of one shape, in runs. Adding a row costs in the mean a few steps for every run, and never many at once.

    A merge of large runs is spread over the calls that follow; until it is done, both are probed.
    """

    def __init__(
        self,
        shape: RunShape,
        runs: Iterable[Run] = (),
        merging: Merging = STANDARD,
        upkeep: Upkeep | None = None,
    ) -> None:
        self.shape = shape
        self._merging = merging
        self.runs = sorted(runs, key=_SIZE, reverse=True)
        self._upkeep = upkeep or Upkeep()

    def __len__(self) -> int:
        """The number of rows, those taken back subtracted."""
        return sum(len(run) if len(run.arrays.nets) == 0 else int(run.arrays.nets[-1]) for run in self.runs)

    @property
    def nbytes(self) -> int:
        """The memory of all runs, and of those in the making."""
        return sum(run.nbytes for run in self.runs) + sum(merge.nbytes for merge in self._upkeep.of(self))

    def add(self, run: Run) -> None:
        """Takes a run in, and goes on with merges."""
        size = run.size
        if size:
            self._take_in(run)
        merges = len(self._upkeep.of(self))
        if merges:
            self._upkeep.go_on(merges * max(self._merging.least, 3 * self._merging.ratio * size))

    def settle(self) -> None:
        """Finishes all merges that are due."""
        while self._upkeep.of(self):
            self._upkeep.go_on(1 << 62)

    def counts(self, query: Query) -> Longs:
        """For each point the number of its rows."""
        found = np.zeros(len(query.lines), np.int64)
        for run in self.runs:
            found += run.counts(query)
        return found

    def pairs(self, query: Query, alive: Alive, most: int) -> tuple[int, list[Lines]]:
        """How many pairs of a point and an alive row's slot there are, and which. More than `most`: some number."""
        total, found = 0, []
        room = None
        for run in self.runs:
            room = room_for_pairs(query, most - total) if room is None else room
            number, pairs = run.pairs(query, alive, most - total, room)
            total += number
            if total > most:
                break
            if number:
                found.append(pairs)
                room = None
        return total, found

    def take_over(self, merge: Merge) -> None:
        """Has the run of a merge that is done in the place of its parts, and looks what is due now."""
        self.runs = [run for run in self.runs if run is not merge.one and run is not merge.two]
        self._take_in(merge.made())

    def _take_in(self, run: Run) -> None:
        """Merges a run with those that are small and alike in size, and begins to merge large ones that are."""
        runs = self.runs
        busy = {id(part) for merge in self._upkeep.of(self) for part in (merge.one, merge.two)}
        while runs and run.size and self._is_due(runs[-1], run) and id(runs[-1]) not in busy:
            if runs[-1].size + run.size > self._merging.at_once:
                break
            merge = Merge(runs.pop(), run)
            merge.go_on(1 << 62)
            run = merge.made()
        if run.size:
            runs.append(run)
            runs.sort(key=_SIZE, reverse=True)
        for place in range(len(runs) - 2, -1, -1):
            one, two = runs[place], runs[place + 1]
            if self._is_due(one, two) and busy.isdisjoint((id(one), id(two))):
                self._upkeep.begin(self, Merge(one, two))
                busy |= {id(one), id(two)}

    def _is_due(self, one: Run, two: Run) -> bool:
        """Whether two runs are to be merged, the first of which is mostly the larger."""
        return max(one.size, two.size) < max(self._merging.ratio * min(one.size, two.size), self._merging.least)


class Merge:
    """Two runs on their way to be one."""

    def __init__(self, one: Run, two: Run) -> None:
        self.one, self.two = one, two
        self._arrays: Arrays | None = None  # room for what is made is taken when that begins
        self._state = np.zeros(4, np.int64)

    @property
    def nbytes(self) -> int:
        """The memory of what is being made."""
        made = self._arrays
        return 0 if made is None else made.lines.nbytes + made.zones.nbytes + made.starts.nbytes

    @property
    def left(self) -> int:
        """How many lines of both runs are not merged yet."""
        return self.one.size + self.two.size - int(self._state[0] + self._state[1])

    def go_on(self, most: int) -> bool:
        """Merges up to so many lines more; whether all are merged."""
        if self._arrays is None:
            self._arrays = room_for(self.one.shape, self.one.size + self.two.size)
        lines = self.one.arrays.lines, self.two.arrays.lines
        return bool(rows.merge(*lines, self.one.shape.leading, self._arrays, self._state, most))

    def made(self) -> Run:
        """The run, once all lines are merged. A row and what takes it back are both gone."""
        assert self._arrays is not None
        written = int(self._state[2])
        arrays, nets = self._arrays, len(self.one.arrays.nets) + len(self.two.arrays.nets)
        if written < len(arrays.lines):
            lines = arrays.lines[:written]
            arrays = arrays._replace(lines=lines if 2 * written >= len(arrays.lines) else lines.copy())
        return Run(self.one.shape, with_nets(arrays) if nets else arrays)
