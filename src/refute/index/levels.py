"""Runs that are merged as they grow: each is several times as large as the next, so few of them hold all rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from refute.index.run import Few, Held, Run, RunShape, room_for, with_nets
from refute.kernels.runs import pointers, rows
from refute.kernels.runs.pointers import Places
from refute.kernels.runs.rows import Arrays, Lines


@dataclass(frozen=True, slots=True)
class Merging:
    """When runs are merged; no answer depends on it.

    Two are once the larger has less than `ratio` times as many lines, or less than `least`. Up to `at_once` lines that
    is done when it is due; larger merges go on while rows come, `3 * ratio` lines for every row and `least` at a time:
    fast enough to be done before the next of their size is due.

    Rows that come up to `few` at a time become a run once `newest` of them are there.
    """

    ratio: int = 8
    least: int = 1 << 8
    at_once: int = 1 << 15
    few: int = 1 << 4
    newest: int = 1 << 8


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


class Levels(Held):
    """All rows of one shape, in runs. Adding a row costs in the mean a few steps for every run, and never many at once.

    A merge of large runs is spread over the calls that follow; until it is done, both are probed. Rows that come one by
    one are kept as they are until they are enough for a run.
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
        self._newest: Lines = np.empty((merging.newest, shape.width), np.int64)
        self._n_newest = 0
        self._places: Places | None = None  # of all runs, until these change

    def __len__(self) -> int:
        """The number of rows, those taken back subtracted."""
        newest = np.where(self._newest[: self._n_newest, -1] >= 0, 1, -1)
        return int(newest.sum()) + sum(
            len(run) if len(run.arrays.nets) == 0 else int(run.arrays.nets[-1]) for run in self.runs
        )

    @property
    def size(self) -> int:
        """The number of lines."""
        return self._n_newest + sum(run.size for run in self.runs)

    @property
    def nbytes(self) -> int:
        """The memory of all runs, and of those in the making."""
        made = sum(merge.nbytes for merge in self._upkeep.of(self))
        return self._newest.nbytes + sum(run.nbytes for run in self.runs) + made

    def held(self) -> tuple[Places, Lines]:
        """Where all runs lie, and the newest rows."""
        if self._places is None:
            found = np.array([run.place for run in self.runs], np.int64)
            self._places = found.reshape(-1, pointers.WIDTH)
        return self._places, self._newest[: self._n_newest]

    def of(self, lines: Lines) -> Few | Run:
        """Rows as they are added: few as they are."""
        return Few(self.shape, lines) if len(lines) <= self._merging.few else Run.of(self.shape, lines)

    def add(self, some: Few | Run) -> None:
        """Takes rows in, and goes on with merges."""
        size = some.size
        if isinstance(some, Few):
            if self._n_newest + size > len(self._newest):
                self.arrange()
            self._newest[self._n_newest : self._n_newest + size] = some.lines
            self._n_newest += size
        elif size:
            self._take_in(some)
        merges = len(self._upkeep.of(self))
        if merges:
            self._upkeep.go_on(merges * max(self._merging.least, 3 * self._merging.ratio * size))

    def arrange(self) -> None:
        """Makes a run of the newest rows, which those who ask for many points should not look through for each."""
        newest = self._newest_run()
        if newest is not None:
            self._take_in(newest)
        self._n_newest = 0

    def all_runs(self) -> list[Run]:
        """All rows in runs, which do not change any more. Nothing changes by this."""
        newest = self._newest_run()
        return [*self.runs] if newest is None else [*self.runs, newest]

    def _newest_run(self) -> Run | None:
        """The newest rows as a run, without those that were taken back meanwhile."""
        lines = self._newest[: self._n_newest]
        if lines[:, -1].min(initial=0) < 0:
            slots = np.maximum(lines[:, -1], ~lines[:, -1])
            _, first, times = np.unique(slots, return_index=True, return_counts=True)
            lines = lines[first[times == 1]]
        return Run.of(self.shape, lines) if len(lines) else None

    def settle(self) -> None:
        """Finishes all merges that are due."""
        while self._upkeep.of(self):
            self._upkeep.go_on(1 << 62)

    def take_over(self, merge: Merge) -> None:
        """Has the run of a merge that is done in the place of its parts, and looks what is due now."""
        self.runs = [run for run in self.runs if run is not merge.one and run is not merge.two]
        self._places = None
        self._take_in(merge.made())

    def _take_in(self, run: Run) -> None:
        """Merges a run with those that are small and alike in size, and begins to merge large ones that are."""
        self._places = None
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
