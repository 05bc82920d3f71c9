"""The violations of one rule that a monitor knows of: as pairs, or, where these are too many, as a number alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from refute.detect.detector import Detector
from refute.kernels.runs.pairs import Bits, Flags, Slots, touched
from refute.language.rulebook import Rule
from refute.live.among import among
from refute.live.indexes.index import Found, Longs, Pairs
from refute.live.rows import Alive

Clashing = tuple[Longs, ...]  # the slots of s and of t, or of s alone
Kept: TypeAlias = tuple[Slots, ...]  # the same

FEW = 1 << 10  # pairs up to which those of dead rows do not matter
_NARROW = 1 << 31  # slots below fit 32 bits
MANY = 1 << 6  # parts up to which none are joined
LOOKS = 1 << 10  # kept pairs that are looked at in the time in which an index answers for one row


class Violated:
    """The ordered pairs of slots that break a rule, or, for a rule about one row, the slots.

    A slot is never used again and its row never changes, so a pair is open as long as both of its rows are alive. Pairs
    are therefore only ever added, 8 bytes each, or 16 once slots are beyond 32 bits; those of dead rows are left out
    when they are read, and let go once they are as many as the others. Beyond `most` pairs only their number is kept.
    """

    def __init__(self, sides: int, most: int) -> None:
        self.sides = sides
        self.most = most
        self.count = 0
        self._parts: tuple[Kept, ...] | None = () if most else None
        self._held = 0

    @classmethod
    def restored(cls, sides: int, most: int, count: int, parts: list[Kept] | None) -> Violated:
        """What was saved of a rule."""
        found = cls(sides, most)
        found.count, found._parts = count, None if parts is None else tuple(parts)
        found._held = sum(len(part[0]) for part in parts or ())
        return found

    def copy(self) -> Violated:
        """The same, to go another way from here on."""
        found = Violated(self.sides, self.most)
        found.count, found._held, found._parts = self.count, self._held, self._parts
        return found

    def fill(self, detector: Detector, rule: Rule, slots: Longs) -> None:
        """Takes in all violations of a rule among rows that have these slots."""
        found = among(detector, rule, slots, self.most)
        self.add(found, None if found.pairs is None else found.pairs[: self.sides], int(slots.max(initial=0)) + 1)

    @property
    def parts(self) -> tuple[Kept, ...]:
        """The pairs in few parts, some of them of dead rows; none if only their number is kept."""
        self._join()
        return self._parts or ()

    @property
    def is_listed(self) -> bool:
        """Whether the pairs are kept, not their number alone."""
        return self._parts is not None

    @property
    def room(self) -> int:
        """How many more pairs would be kept."""
        return max(self.most - self.count, 0) if self.is_listed else 0

    @property
    def nbytes(self) -> int:
        """The memory of all pairs."""
        return sum(side.nbytes for part in self._parts or () for side in part)

    def add(self, found: Found, pairs: tuple[Longs, ...] | None, slots: int) -> None:
        """Takes in pairs that appear, whose slots are below `slots`; where they are not listed, the number alone."""
        self.count += found.count
        if self._parts is None or pairs is None:
            self.forget()
        elif len(pairs[0]):
            part = pairs if slots > _NARROW else tuple([side.astype(np.int32) for side in pairs])
            self._parts = (*self._parts, part)
            self._held += len(pairs[0])
            if len(self._parts) > MANY:
                self._join()

    def is_worth_a_look(self, rows: int) -> bool:
        """Whether pairs that go with so many rows are found sooner among those that are kept than by an index."""
        return self.is_listed and self._held <= LOOKS * rows

    def going(self, rows: Bits, alive: Flags) -> Found:
        """The open pairs of which a row is going, as bits say, while all such rows are alive still."""
        found: list[Kept] = []
        for pairs in self.parts:
            places = np.empty(min(len(pairs[0]), FEW), np.int64)
            number = touched(pairs[0], pairs[-1], rows, alive, places)
            if number > len(places):
                places = np.empty(number, np.int64)
                touched(pairs[0], pairs[-1], rows, alive, places)
            found.append((pairs[0][places[:number]], pairs[-1][places[:number]]))
        s, t = (np.concatenate([np.empty(0, np.int64), *(part[side] for part in found)]) for side in (0, 1))
        return Found(len(s), (s, t))

    def remove(self, number: int, alive: Alive) -> None:
        """Lets pairs go whose rows are no longer alive: so many."""
        self.count -= number
        if self._parts is not None and self._held > 2 * self.count + FEW:
            self._parts = tuple([pairs for pairs in self._open(alive) if len(pairs[0])])
            self._held = sum(len(pairs[0]) for pairs in self._parts)
            assert self._held == self.count, "a pair is open as long as its rows are alive"

    def forget(self) -> None:
        """Keeps the number alone from now on."""
        self._parts, self._held = None, 0

    def pairs(self, alive: Alive) -> tuple[Longs, ...]:
        """All open pairs."""
        assert self._parts is not None
        parts = list(self._open(alive))
        nothing = np.empty(0, np.int64)
        return tuple(np.concatenate([nothing, *(part[side] for part in parts)]) for side in range(self.sides))

    def _open(self, alive: Alive) -> Iterator[Kept]:
        for pairs in self._parts or ():
            open_ones = alive[pairs[0]] != 0
            for others in pairs[1:]:
                open_ones &= alive[others] != 0
            yield pairs if open_ones.all() else tuple(side[open_ones] for side in pairs)

    def _join(self) -> None:
        """Joins small parts, so that there are few: each is then more than twice as long as all behind it."""
        parts = self._parts or ()
        first, behind = len(parts), 0
        for place in range(len(parts) - 1, -1, -1):
            if len(parts[place][0]) <= 2 * behind:
                first = place
            behind += len(parts[place][0])
        if first < len(parts):
            self._parts = (*parts[:first], tuple([np.concatenate(sides) for sides in zip(*parts[first:], strict=True)]))


class Passing(Violated):
    """The violations of a rule that others keep: those that a change finds are handed on, up to `most` at a time."""

    def copy(self) -> Passing:
        """The same, to go another way from here on."""
        found = Passing(self.sides, self.most)
        found.count = self.count
        return found

    @property
    def room(self) -> int:
        """How many pairs are handed on at a time."""
        return self.most

    def is_worth_a_look(self, rows: int) -> bool:
        """Never: none is kept."""
        return False

    def add(self, found: Found, pairs: tuple[Longs, ...] | None, slots: int) -> None:
        """Counts pairs that appear."""
        self.count += found.count

    def remove(self, number: int, alive: Alive) -> None:
        """Counts pairs that go."""
        self.count -= number


class SlotMoves:
    """Rows that have other slots from now on."""

    def __init__(self, before: Longs, after: Longs) -> None:
        order = np.argsort(before)
        self._before, self._after = before[order], after[order]

    def __len__(self) -> int:
        return len(self._before)

    def renamed(self, slots: Longs) -> Longs:
        """The slots that rows of these have now."""
        if not len(self):
            return slots
        place = np.minimum(np.searchsorted(self._before, slots), len(self) - 1)
        return np.where(self._before[place] == slots, self._after[place], slots)


def net(new: Clashing, old: Clashing, moved: Pairs) -> tuple[Clashing, Clashing]:
    """Pairs that appear and pairs that vanish, without those that only moved: rows of some slots now have others."""
    before, after = moved
    if not len(new[0]) or not len(old[0]) or not len(before):
        return new, old
    rows = SlotMoves(before, after)
    renamed = [rows.renamed(side) for side in old]
    columns = [np.concatenate(sides) for sides in zip(new, renamed, strict=True)]
    order = np.lexsort(columns[::-1])
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns:
        same &= column[order[1:]] == column[order[:-1]]
    alone = np.ones(len(order), np.bool_)
    alone[order[1:][same]] = False
    alone[order[:-1][same]] = False
    first, second = alone[: len(new[0])], alone[len(new[0]) :]
    return tuple(side[first] for side in new), tuple(side[second] for side in old)
