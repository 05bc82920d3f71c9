"""Rows by the codes of some columns, while they come and go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refute.kernels.tracking.groups import Pool, add_members, drop_members, move_groups, number_keys
from refute.tracking.codes import NULL, Ints, Longs
from refute.tracking.rows import TrackedRows

_FEW = 1 << 10
_MANY = 8  # as many rows as this part of all groups are counted rather than sorted
_AT_ONCE = 1 << 13  # keys that are numbered before more room is made


class KeyNumbers:
    """Numbers from 0 on for keys, which are rows of codes, by first appearance."""

    def __init__(self, width: int) -> None:
        self.known = 0
        self._keys: Ints = np.empty((_FEW, width), np.int32)
        self._cells: NDArray[np.int32] = np.zeros(2 * _FEW, np.int32)

    @property
    def nbytes(self) -> int:
        """The memory of all keys."""
        return self._keys.nbytes + self._cells.nbytes

    @property
    def room(self) -> int:
        """How many numbers there may be before more room is made."""
        return len(self._keys)

    def of(self, codes: Ints, rows: Longs | None = None, columns: Sequence[int] | None = None) -> Longs:
        """The number of each key, a new one if need be: of all rows and columns of the codes, or of some."""
        every = np.arange(len(codes)) if rows is None else rows
        read = np.arange(codes.shape[1]) if columns is None else np.array(columns, np.int64)
        found = np.empty(len(every), np.int64)
        for first in range(0, len(every), _AT_ONCE):  # room is made for what comes, which may be little
            part = slice(first, first + _AT_ONCE)
            self._reach(self.known + len(every[part]))
            self.known = int(number_keys(codes, every[part], read, self._keys, self.known, self._cells, found[part]))
        return found

    def _reach(self, keys: int) -> None:
        have = len(self._keys)
        if keys <= have:
            return
        size = max(keys, have * 5 // 4)
        self._keys = np.concatenate([self._keys, np.empty((size - have, self._keys.shape[1]), np.int32)])
        if 2 * size > len(self._cells):
            self._cells = np.zeros(1 << (2 * size - 1).bit_length(), np.int32)
            again = np.empty(self.known, np.int64)
            every, read = np.arange(self.known), np.arange(self._keys.shape[1])
            number_keys(self._keys[: self.known].copy(), every, read, self._keys, 0, self._cells, again)


class RowGroups:
    """The rows that agree in some columns, by group. Where nulls are equal to nothing, a row with one is in no group.

    Members of a group lie together, with room behind them: a group that outgrows its room moves, to twice of it.
    """

    def __init__(self, rows: TrackedRows, columns: tuple[int, ...], *, nulls_agree: bool) -> None:
        self._rows = rows
        self.columns = columns
        self._nulls_agree = nulls_agree
        self.load()

    def load(self) -> None:
        """Begins anew with the rows that are there."""
        self._keys = KeyNumbers(len(self.columns))
        self._of: Ints = np.full(_FEW, -1, np.int32)  # the group of each row
        start, size, room = np.zeros((3, _FEW), np.int64)
        self._pool = Pool(start, size, room, np.empty(_FEW, np.int32), np.zeros(_FEW, np.int32))
        self._used = 0
        self._given = 0  # room that groups have, without the holes between them
        living = self._rows.living
        self.add(living)

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return self._keys.nbytes + self._of.nbytes + sum(part.nbytes for part in self._pool)

    @property
    def members(self) -> Ints:
        """Where members lie."""
        return self._pool.rows

    @property
    def work(self) -> float:
        """How many members a row meets on average."""
        size = self._pool.size.astype(np.float64)
        return float((size * size).sum() / max(1.0, size.sum()))

    def numbers(self, rows: Longs, columns: tuple[int, ...]) -> Longs:
        """The group of rows by what they have in these columns, a new one if need be; -1 for those that are in none."""
        found = self._keys.of(self._rows.codes, rows, columns)
        have = len(self._pool.start)
        if self._keys.room > have:
            more = np.zeros(self._keys.room - have, np.int64)
            start, size, room = (np.concatenate([one, more]) for one in self._pool[:3])
            self._pool = self._pool._replace(start=start, size=size, room=room)
        if not self._nulls_agree and any(map(self._rows.may_be_null, columns)):
            found[(self._rows.codes_of(rows, columns) == NULL).any(axis=1)] = -1
        return found

    def spans(self, groups: Longs) -> tuple[Longs, Longs]:
        """Where the members of these groups lie, from and to."""
        start = self._pool.start[groups]
        return start, start + self._pool.size[groups]

    def add(self, rows: Longs, groups: Longs | None = None) -> None:
        """Takes rows in, whose numbers ascend; `groups` are theirs, if they are known."""
        if not len(rows):
            return
        if groups is None:
            groups = self.numbers(rows, self.columns)
        needed = int(rows[-1]) + 1
        if needed > len(self._of):
            size = max(needed, len(self._of) * 5 // 4)
            self._of = np.concatenate([self._of, np.full(size - len(self._of), -1, np.int32)])
            place = np.concatenate([self._pool.place, np.zeros(size - len(self._pool.place), np.int32)])
            self._pool = self._pool._replace(place=place)
        self._of[rows] = groups
        if len(rows) == 1 and groups[0] >= 0 and self._pool.size[groups[0]] < self._pool.room[groups[0]]:
            self._add_one(rows[0], groups[0])
            return
        self._make_room(groups[groups >= 0])
        add_members(self._pool, rows, groups)

    def _add_one(self, row: np.int64, group: np.int64) -> None:
        """Takes a row into a group that has room; for one alone a kernel takes longer to call than to run."""
        pool = self._pool
        at = pool.start[group] + pool.size[group]
        pool.rows[at] = row
        pool.place[row] = at
        pool.size[group] += 1

    def drop(self, rows: Longs) -> Longs:
        """Lets rows go; the groups that they were in, -1 for none."""
        groups = self._of[rows]
        drop_members(self._pool, rows, groups)
        return groups.astype(np.int64)

    def _make_room(self, coming: Longs) -> None:
        """Moves groups that have too little room for the rows that come."""
        if len(coming) > len(self._pool.size) // _MANY:
            numbers = np.bincount(coming, minlength=1)
            groups = np.flatnonzero(numbers)
            more = numbers[groups]
        elif len(coming) > 1:
            groups, more = np.unique(coming, return_counts=True)
        else:
            groups, more = coming, np.ones(len(coming), np.int64)
        needed = self._pool.size[groups] + more
        tight = needed > self._pool.room[groups]
        groups, needed = groups[tight], needed[tight]
        if not len(groups):
            return
        fresh = self._pool.room[groups] == 0
        room = np.where(fresh, needed, 2 * needed)
        end = self._used + int(room.sum())
        if end > len(self._pool.rows):
            wider = np.empty(max(end, len(self._pool.rows) * 5 // 4), np.int32)
            wider[: self._used] = self._pool.rows[: self._used]
            self._pool = self._pool._replace(rows=wider)
        starts = self._used + np.cumsum(room) - room
        move_groups(self._pool, groups, starts, self._pool.rows)
        self._given += int(room.sum() - self._pool.room[groups].sum())
        self._pool.room[groups] = room
        self._used = end
        if self._used > 4 * self._given + _FEW:
            self._pack()

    def _pack(self) -> None:
        """Puts all groups next to each other again, where moves have left holes."""
        groups = np.flatnonzero(self._pool.room)
        room = self._pool.room[groups]
        starts = np.cumsum(room) - room
        rows = np.empty(max(int(room.sum()), _FEW), np.int32)
        move_groups(self._pool, groups, starts, rows)
        self._pool, self._used = self._pool._replace(rows=rows), int(room.sum())
