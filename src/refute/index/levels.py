"""Runs that are merged as they grow: each is several times as large as the next, so few of them hold all rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from refute.index.run import Alive, Run, RunShape, room_for, with_nets
from refute.kernels.runs import rows
from refute.kernels.runs.probe import Query
from refute.kernels.runs.rows import Lines, Longs


@dataclass(frozen=True, slots=True)
class Merging:
    """When runs are merged; no answer depends on it.

    Two are once the larger has less than `ratio` times as many lines, or less than `least`. Up to `at_once` lines that
    is done when it is due; larger merges go on while rows come, `3 * ratio` lines for every row: fast enough to be done
    before the next of their size is due.
    """

    ratio: int = 8
    least: int = 1 << 8
    at_once: int = 1 << 15


STANDARD = Merging()


class Levels:
    """All rows of one shape, in runs. Adding a row costs in the mean a few steps for every run, and never many at once.

    A merge of large runs is spread over the calls that follow; until it is done, both are probed.
    """

    def __init__(self, shape: RunShape, runs: Iterable[Run] = (), merging: Merging = STANDARD) -> None:
        self.shape = shape
        self._merging = merging
        self.runs = sorted(runs, key=len, reverse=True)
        self._merges: list[Merge] = []

    def __len__(self) -> int:
        """The number of rows, those taken back subtracted."""
        return sum(len(run) if len(run.arrays.nets) == 0 else int(run.arrays.nets[-1]) for run in self.runs)

    @property
    def nbytes(self) -> int:
        """The memory of all runs, and of those in the making."""
        return sum(run.nbytes for run in self.runs) + sum(merge.nbytes for merge in self._merges)

    def add(self, run: Run) -> None:
        """Takes a run in, and goes on with merges."""
        if len(run):
            self.runs.append(run)
            self._start_merges()
        self._go_on(max(self._merging.at_once // 2, 3 * self._merging.ratio * len(run)))

    def settle(self) -> None:
        """Finishes all merges that are due."""
        while self._merges:
            self._go_on(1 << 62)

    def counts(self, query: Query) -> Longs:
        """For each point the number of its rows."""
        found = np.zeros(len(query.lines), np.int64)
        for run in self.runs:
            found += run.counts(query)
        return found

    def pairs(self, query: Query, alive: Alive, most: int) -> tuple[int, list[Lines]]:
        """How many pairs of a point and an alive row's slot there are, and which. More than `most`: some number."""
        total, found = 0, []
        for run in self.runs:
            number, pairs = run.pairs(query, alive, most - total)
            total += number
            if total > most:
                break
            if number:
                found.append(pairs)
        return total, found

    def _start_merges(self) -> None:
        """Merges small neighbours that are alike in size, and begins to merge large ones."""
        self.runs.sort(key=len, reverse=True)
        place = len(self.runs) - 2
        while place >= 0:
            one, two = self.runs[place : place + 2]
            if len(one) < max(self._merging.ratio * len(two), self._merging.least) and not self._is_busy(one, two):
                merge = Merge(one, two)
                if len(one) + len(two) <= self._merging.at_once:
                    merge.go_on(1 << 62)
                    self._replace(merge)
                    place = min(place, len(self.runs) - 1)
                else:
                    self._merges.append(merge)
            place -= 1

    def _is_busy(self, *runs: Run) -> bool:
        return any(run is part for merge in self._merges for part in (merge.one, merge.two) for run in runs)

    def _go_on(self, most: int) -> None:
        for merge in list(self._merges):
            if merge.go_on(most):
                self._merges.remove(merge)
                self._replace(merge)
                self._start_merges()

    def _replace(self, merge: Merge) -> None:
        kept = [run for run in self.runs if run is not merge.one and run is not merge.two]
        made = merge.made()
        self.runs = sorted([*kept, made] if len(made) else kept, key=len, reverse=True)


class Merge:
    """Two runs on their way to be one."""

    def __init__(self, one: Run, two: Run) -> None:
        self.one, self.two = one, two
        self._arrays = room_for(one.shape, len(one) + len(two))
        self._state = np.zeros(3, np.int64)
        self._bucket = 0

    @property
    def nbytes(self) -> int:
        """The memory of what is being made."""
        return self._arrays.lines.nbytes + self._arrays.zones.nbytes + self._arrays.starts.nbytes

    def go_on(self, most: int) -> bool:
        """Merges up to so many lines more; whether all are merged."""
        shape, before = self.one.shape, int(self._state[2])
        lines = self.one.arrays.lines, self.two.arrays.lines
        keys = shape.n_equal, shape.leading
        done = rows.merge_some(*lines, keys, self._arrays.lines, self._state, most)
        self._bucket = rows.describe(self._arrays, before, int(self._state[2]), self._bucket)
        return bool(done)

    def made(self) -> Run:
        """The run, once all lines are merged. A row and what takes it back are both gone."""
        written = int(self._state[2])
        rows.finish(self._arrays, written, self._bucket)
        lines = self._arrays.lines[:written]
        whole = lines if 2 * written >= len(self._arrays.lines) else lines.copy()
        return Run(self.one.shape, with_nets(self._arrays._replace(lines=whole)))
