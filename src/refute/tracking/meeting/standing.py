"""Rows that stand for all others alike, for boxes that read few columns: `discovery/guided/reduction.py`, kept true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Evidence
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.work import Budget
from refute.kernels.tracking.groups import keep_outermost
from refute.tracking.codes import Ints, Longs
from refute.tracking.meeting.cover import met_evidence
from refute.tracking.meeting.groups import KeyNumbers
from refute.tracking.rows import TrackedRows

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Alike:
    """What rows must agree in to be alike: columns, and states in comparisons within one row.

    Of one more column, `ends`, only the lowest and the highest value of rows that are alike matter: a box may ask there
    for any comparison but equality, and nothing else may read the column.
    """

    columns: frozenset[int]
    states: frozenset[int]
    ends: int | None


class BoxReading:
    """What boxes of a space read of rows."""

    def __init__(self, space: PredicateSpace, rows: TrackedRows) -> None:
        self._rows = rows
        self._full = space.masks(space.full[None])[0]
        names = [slot.columns if slot.is_pair else () for slot in space.slots]
        self._columns = [frozenset(rows.at[name] for name in some) for some in names]
        self._states = [None if slot.is_pair else rows.state_at(slot) for slot in space.slots]
        self._single = [slot.is_pair and len(slot.columns) == 1 for slot in space.slots]

    def alike(self, masks: NDArray[np.uint8], equal: Mask, values: list[int]) -> Alike:
        """What rows must agree in to be alike for a box; `values` says how many values the columns have, about."""
        used = np.flatnonzero(masks != self._full).tolist()
        reads: dict[int, int] = {}
        for k in used:
            for column in self._columns[k]:
                reads[column] = reads.get(column, 0) + 1
        free = [
            column
            for k in used
            for column in self._columns[k]
            if self._single[k] and not equal[k] and reads[column] == 1 and not self._rows.holds_null(column)
        ]
        ends = max(free, key=lambda column: (values[column], column), default=None)
        states = frozenset(state for k in used if (state := self._states[k]) is not None)
        return Alike(frozenset(reads) - {ends} if ends is not None else frozenset(reads), states, ends)

    def settles(self, alike: Alike, masks: NDArray[np.uint8], equal: Mask) -> Mask:
        """Which boxes rows that stand for others alike in this settle."""
        used = masks != self._full
        found = np.ones(len(masks), np.bool_)
        for k, columns in enumerate(self._columns):
            state = self._states[k]
            if state is not None:
                if state not in alike.states:
                    found &= ~used[:, k]
            elif alike.ends in columns:
                apart = self._single[k] and not self._rows.holds_null(alike.ends or 0)
                found &= ~equal[:, k] if apart else ~used[:, k]
            elif not columns <= alike.columns:
                found &= ~used[:, k]
        return found


class StandIns:
    """The rows that stand for those alike: the lowest and highest of each kind, two of them where there are two."""

    def __init__(self, rows: TrackedRows, alike: Alike) -> None:
        self._rows = rows
        self.alike = alike
        self._columns = sorted(alike.columns)
        self._states = np.array(sorted(alike.states), np.int64)
        self.load()

    def load(self) -> None:
        """Begins anew with the rows that are there."""
        self._keys = KeyNumbers(len(self._columns) + len(self._states))
        self._of: Ints = np.empty(0, np.int32)
        self._low: Longs = np.empty(0, np.int64)
        self._high: Longs = np.empty(0, np.int64)
        self._take_in(self._rows.living)

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return self._keys.nbytes + self._of.nbytes + self._low.nbytes + self._high.nbytes

    @property
    def size(self) -> int:
        """How many kinds of rows there are, or were."""
        return self._keys.known

    def add(self, rows: Longs) -> Longs:
        """Takes rows in; those of them that stand for others now."""
        self._take_in(rows)
        return self.among(rows)

    def _take_in(self, rows: Longs) -> None:
        if not len(rows):
            return
        codes = self._rows.codes_of(rows, self._columns)
        if len(self._states):
            states = self._rows.states[rows[:, None], self._states].astype(np.int32)
            codes = np.concatenate([codes, states], axis=1)
        groups = self._keys.of(codes)
        if self._keys.known > len(self._low):
            more = np.full(self._keys.room - len(self._low), -1, np.int64)
            self._low, self._high = np.concatenate([self._low, more]), np.concatenate([self._high, more])
        if rows[-1] >= len(self._of):
            size = max(int(rows[-1]) + 1, len(self._of) * 3 // 2)
            self._of = np.concatenate([self._of, np.zeros(size - len(self._of), np.int32)])
        self._of[rows] = groups
        self._keep(rows, groups)

    def drop(self, rows: Longs) -> None:
        """Lets rows go that are no longer alive; others take the places of those that stood for some."""
        groups = np.unique(self._of[rows])
        alive = self._rows.alive
        hurt = groups[~(alive[self._low[groups]] & alive[self._high[groups]])]
        if not len(hurt):
            return
        self._low[hurt] = self._high[hurt] = -1
        is_hurt = np.zeros(len(self._low), np.bool_)
        is_hurt[hurt] = True
        living = self._rows.living
        left = living[is_hurt[self._of[living]]]
        self._keep(left, self._of[left].astype(np.int64))

    def evidence(self, new: Longs, budget: Budget) -> Evidence:
        """The evidence of rows that stand for others now, against all that do."""
        used = self._low[: self._keys.known] >= 0
        low, high = self._low[: self._keys.known][used], self._high[: self._keys.known][used]
        standing = np.unique(np.concatenate([low, high]))
        return met_evidence(self._rows, new, np.setdiff1d(standing, new, assume_unique=True), budget)

    def among(self, rows: Longs) -> Longs:
        """Those of the rows that stand for others."""
        groups = self._of[rows]
        return np.asarray(rows[(self._low[groups] == rows) | (self._high[groups] == rows)])

    def _keep(self, rows: Longs, groups: Longs) -> None:
        ends = -1 if self.alike.ends is None else self.alike.ends
        keep_outermost(rows, groups, self._rows.codes, ends, self._low, self._high)
