"""Rows that stand for all others alike, for boxes that read few columns: `discovery/guided/reduction.py`, kept true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Evidence
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.work import Budget
from refute.kernels.tracking.groups import (
    Outermost,
    drop_outermost,
    find_ends_again,
    keep_outermost,
    stand_ins,
)
from refute.tracking.codes import Ints, Longs
from refute.tracking.meeting.cover import met_evidence
from refute.tracking.meeting.groups import KeyNumbers
from refute.tracking.rows import TrackedRows

Mask = NDArray[np.bool_]
_ENDS = 4  # rows that are known at each end of a kind


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
    """The rows that stand for those alike: the lowest and highest of each kind, two of them where there are two.

    A few more of the lowest and highest are known, to come in their places when they go. Where all of these are gone,
    others are found when rows come: until then, nothing is asked of them.
    """

    def __init__(self, rows: TrackedRows, alike: Alike) -> None:
        self._rows = rows
        self.alike = alike
        self._columns = sorted(alike.columns)
        self._states = np.array(sorted(alike.states), np.int64)
        self._ends = -1 if alike.ends is None else alike.ends
        self.load()

    def load(self) -> None:
        """Begins anew with the rows that are there."""
        self._keys = KeyNumbers(len(self._columns) + len(self._states))
        self._of: Ints = np.empty(0, np.int32)  # the kind of each row
        self._kept = Outermost(np.zeros(0, np.int32), *np.empty((2, 0, 2, _ENDS), np.int32))
        self._hurt: Mask = np.zeros(0, np.bool_)  # kinds whose ends are not known
        self._is_hurt = False
        self._take_in(self._rows.living)

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return self._keys.nbytes + self._of.nbytes + self._hurt.nbytes + sum(part.nbytes for part in self._kept)

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
        if len(self._states):
            states = self._rows.states[rows[:, None], self._states].astype(np.int32)
            groups = self._keys.of(np.concatenate([self._rows.codes_of(rows, self._columns), states], axis=1))
        else:
            groups = self._keys.of(self._rows.codes, rows, self._columns)
        if self._keys.known > len(self._hurt):
            more = max(self._keys.known, len(self._hurt) * 5 // 4) - len(self._hurt)
            none = np.full((more, 2, _ENDS), -1, np.int32)
            ends, values = (np.concatenate([part, none]) for part in self._kept[1:])
            self._kept = Outermost(np.append(self._kept.size, np.zeros(more, np.int32)), ends, values)
            self._hurt = np.append(self._hurt, np.zeros(more, np.bool_))
        if rows[-1] >= len(self._of):
            room = max(int(rows[-1]) + 1, len(self._of) * 5 // 4)
            self._of = np.concatenate([self._of, np.zeros(room - len(self._of), np.int32)])
        self._of[rows] = groups
        keep_outermost(self._kept, rows, groups, self._rows.codes, self._ends)

    def drop(self, rows: Longs) -> None:
        """Lets rows go that are no longer alive."""
        drop_outermost(self._kept, rows, self._of[rows], self._hurt)
        self._is_hurt = True

    def _mend(self) -> None:
        """Finds ends that are not known."""
        if self._is_hurt and self._hurt.any():
            rows, known = self._rows, min(self._rows.n, len(self._of))
            find_ends_again(self._kept, self._hurt, self._of[:known], rows.alive, rows.codes, self._ends)
        self._is_hurt = False

    def evidence(self, new: Longs, budget: Budget) -> Evidence:
        """The evidence of rows that stand for others now, against all that do."""
        standing = np.unique(self._standing(np.arange(self._keys.known)))
        others = np.setdiff1d(standing[standing >= 0], new, assume_unique=True)
        return met_evidence(self._rows, new, others.astype(np.int64), budget)

    def among(self, rows: Longs) -> Longs:
        """Those of the rows that stand for others."""
        return np.asarray(rows[(self._standing(self._of[rows]) == rows[:, None]).any(axis=1)])

    def _standing(self, groups: NDArray[np.integer]) -> Ints:
        """The two rows (n, 2) that stand for each of these kinds, -1 for none."""
        self._mend()
        found = np.empty((len(groups), 2), np.int32)
        stand_ins(self._kept, groups, found)
        return found
