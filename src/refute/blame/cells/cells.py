"""Which cells of a suspect are wrong, and what they should say, by the dependencies that it breaks.

Cells are named one after the other, each the one that settles most: rules that the row breaks against rows that stay,
less those that it satisfies and that confirm the cell. A cell on the right of a broken rule has a value to put there,
which the rows of its group say. A cell on the left is named only on evidence: another value there makes the row fit,
which would be a coincidence otherwise, or other rules confirm the cell on the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from refute.blame.cells.testimony import SATISFIED, UNKNOWN, VIOLATED, Dependency, GroupSayings, Testimony
from refute.blame.contest import Flags, Longs

MOST_CELLS = 6  # of a row
SURPRISE = 0.2  # how often chance may make another left-hand value fit, for it to be evidence
WRONG = 0.05  # how often a cell is wrong, where several would have to be so at once
CONFIRMED = 0.5  # what rules that a row satisfies must say for a cell, by how rare their right-hand values are
MAJORITY = 0.5
LEFT_MAJORITY = 0.6  # of rows that agree in all else, for a value on the left


@dataclass(frozen=True, slots=True, eq=False)
class NamedCells:
    """Cells in question, with a row to take the value from, or -1 where there is none to suggest.

    `agree` of `among` rows that have the values of the donor in the columns `given` say what it says: of all rows
    that the rule is about for a cell `on_right`, of those that stay for one on the left.
    """

    rows: Longs
    columns: Longs  # places among the columns of the dependencies
    donors: Longs
    agree: Longs
    among: Longs
    on_right: Flags
    given: tuple[tuple[int, ...], ...]

    def grounded(self) -> NamedCells:
        """The cells without values that rest on another cell of the row, named before, whose value is withheld."""
        donors = self.donors.copy()
        starts = np.searchsorted(self.rows, self.rows)
        withheld = np.r_[0, np.cumsum(donors < 0)]
        for at in np.flatnonzero((donors >= 0) & (withheld[:-1] > withheld[starts])).tolist():
            before = slice(int(starts[at]), at)
            if not set(self.columns[before][donors[before] < 0].tolist()).isdisjoint(self.given[at]):
                donors[at] = -1
        return replace(self, donors=donors)


@dataclass(slots=True, eq=False)
class _Choice:
    """The best cell of each row so far."""

    gain: Longs | np.ndarray
    standing: Longs  # how well it is supported: 2 by evidence, 1 by a rule
    on_right: Flags
    column: Longs
    value: Longs
    donor: Longs
    agree: Longs
    among: Longs
    given: Longs  # the number of a choice of columns

    @classmethod
    def none(cls, n: int) -> _Choice:
        def zeros() -> Longs:
            return np.zeros(n, np.int64)

        column, donor = np.full(n, -1), np.full(n, -1)
        gain, right = np.full(n, -np.inf), np.zeros(n, np.bool_)
        return cls(gain, zeros(), right, column, zeros(), donor, zeros(), zeros(), zeros())

    def offer(self, at: Longs, other: _Choice) -> None:
        """Take the offers for some rows that are better: of equals, those that more of those asked say. Where two are
        as good, what columns are called decides which cell is named, and no value is suggested for it."""
        held, new = self._level(at), other._level(slice(None))
        there = other.standing > 0
        better = _above(held, new) & there
        tied = there & ~better & ~_above(new, held)
        self.donor[at[tied]] = -1
        chosen = at[better]
        for name in _Choice.__slots__:
            getattr(self, name)[chosen] = getattr(other, name)[better]

    def _level(self, at: Longs | slice) -> list[np.ndarray]:
        share = self.agree / np.maximum(self.among, 1)
        return [one[at] for one in (self.gain, self.standing, self.on_right, share, self.agree)]


def _above(held: Sequence[np.ndarray], new: Sequence[np.ndarray]) -> Flags:
    """Where new figures are above those held, by the first of them that differs."""
    above = np.zeros(len(new[0]), np.bool_)
    for mine, theirs in reversed(list(zip(held, new, strict=True))):
        above = (theirs > mine) | ((theirs == mine) & above)
    return above


def name_cells(known: Testimony, suspects: Longs) -> NamedCells:
    """The cells in question of all suspects that break a dependency against rows that stay."""
    cells = known.cells(suspects)
    done = np.zeros(cells.shape, np.bool_)
    admitted = [known.admitted(f, suspects) for f in range(len(known.rules))]
    active = np.arange(len(suspects))
    found: list[tuple[Longs, _Choice]] = []
    contexts: dict[tuple[int, ...], int] = {}
    for _ in range(MOST_CELLS if known.rules else 0):
        naming = _Naming(known, cells[:, active], [flags[active] for flags in admitted], contexts)
        best = naming.best(done[:, active])
        chosen = np.flatnonzero(best.column >= 0)
        if len(chosen) == 0:
            break
        active = active[chosen]
        picked = _Choice(**{name: getattr(best, name)[chosen] for name in _Choice.__slots__})
        cells[picked.column, active] = picked.value
        done[picked.column, active] = True
        found.append((active, picked))
    if not found:
        none = np.zeros(0, np.int64)
        return NamedCells(none, none, none, none, none, none > 0, ())
    rows = np.concatenate([suspects[at] for at, _ in found])
    order = np.argsort(rows, kind="stable")

    def joined(name: str) -> Longs:
        values: Longs = np.concatenate([getattr(choice, name) for _, choice in found])
        return values[order]

    choices = list(contexts)
    given = tuple(choices[one] if choices else () for one in joined("given").tolist())
    figures = (joined("agree"), joined("among"), joined("on_right").astype(np.bool_))
    return NamedCells(rows[order], joined("column"), joined("donor"), *figures, given).grounded()


class _Naming:
    """One look at all rows that still break a rule: (columns, rows) codes, and which rules are about each row."""

    def __init__(
        self, known: Testimony, cells: Longs, admitted: list[Flags], contexts: dict[tuple[int, ...], int]
    ) -> None:
        self._known = known
        self._contexts = contexts
        self._cells = cells
        self._admitted = admitted
        judged = [known.judged(f, cells, flags) for f, flags in enumerate(admitted)]
        self._status = np.stack([status for status, _ in judged])
        self._groups: list[GroupSayings] = [group for _, group in judged]
        rights = [(rule.right, np.maximum(cells[rule.right], 0)) for rule in known.rules]
        self._rare = np.stack([1 - known.common(place, own) / known.n_rows for place, own in rights])
        self._confirmed = np.zeros(cells.shape)  # how far the rules that a row satisfies confirm each of its cells
        for f, rule in enumerate(known.rules):
            satisfied = self._status[f] == SATISFIED
            for place in rule.columns:
                self._confirmed[place] += np.where(satisfied, 1 if place == rule.right else self._rare[f], 0)

    def best(self, done: Flags) -> _Choice:
        """The best cell of each row, where there is one."""
        choice = _Choice.none(self._cells.shape[1])
        for column in range(len(self._known.names)):
            reading = [f for f, rule in enumerate(self._known.rules) if column in rule.columns]
            right = [f for f in reading if self._known.rules[f].right == column]
            left = [f for f in reading if f not in right]
            broken = self._status[reading] == VIOLATED
            open_rows = broken.any(axis=0) & ~done[column]
            on_right = (self._status[right] == VIOLATED).any(axis=0) & open_rows
            confirmed = self._confirmed[column]
            ways = ((on_right, self._from_right, right), (open_rows & ~on_right, self._from_left, left))
            for flags, make, rules in ways:
                at = np.flatnonzero(flags)
                if len(at):
                    offer = make(column, at, rules, confirmed[at])
                    choice.offer(at, self._settled(offer, column, at, reading, confirmed[at]))
        return choice

    def _settled(self, offer: _Choice, column: int, at: Longs, reading: list[int], confirmed: np.ndarray) -> _Choice:
        """The offers with what each gains; a value that does not pay is dropped."""
        cells = self._cells[:, at].copy()
        cells[column] = offer.value
        gain = np.zeros(len(at))
        for f in reading:
            status, _ = self._known.judged(f, cells, self._admitted[f][at])
            gain += (self._status[f][at] == VIOLATED).astype(int) - (status == VIOLATED)
        offer.gain = gain - confirmed
        unfit = (gain < 1) | (offer.gain < 0)
        offer.value[unfit] = UNKNOWN
        offer.donor[unfit] = -1
        return offer

    def _from_right(self, column: int, at: Longs, rules: list[int], confirmed: np.ndarray) -> _Choice:
        """What the group of a broken rule says: of several, the one that most rows say that stay, then one to suggest,
        by the larger majority, then that of the rule with the fewest columns on the left, whichever rule is first."""
        offer = _Choice.none(len(at))
        offer.column[:] = column
        offer.standing[:] = 1
        offer.on_right[:] = True
        held: list[np.ndarray] = [np.full(len(at), -1), offer.donor >= 0, offer.agree, -offer.among]
        broken = (self._status[rules][:, at] == VIOLATED).sum(axis=0)
        for f in sorted(rules, key=lambda f: (len(self._known.rules[f].left), sorted(self._known.rules[f].left), f)):
            rule, group = self._known.rules[f], self._groups[f]
            agree, among, donor = group.agreeing[at], group.members[at], group.donors[at]
            settled = (agree > (MAJORITY + group.doubt[at]) * among) & self._is_sure(column, at, rule, broken)
            support = np.where(self._status[f][at] == VIOLATED, group.support[at], -1)
            new = [support, settled, agree, -among]
            better = _above(held, new) & (support >= 0)
            held = [np.where(better, theirs, mine) for mine, theirs in zip(held, new, strict=True)]
            for name, own in (
                ("value", group.value[at]),
                ("agree", agree),
                ("among", among),
                ("donor", np.where(settled, donor, -1)),
            ):
                getattr(offer, name)[better] = own[better]
            offer.given[better] = self._given(rule.left)
        return offer

    def _is_sure(self, column: int, at: Longs, rule: Dependency, broken: Longs) -> Flags:
        """Whether the cell on the right of a broken rule is to blame, rather than one on its left.

        So it is where no row that stays has its value, where several rules say so, and where rules that the row
        satisfies confirm every cell on the left.
        """
        own = self._cells[column, at]
        sure: Flags = (self._known.staying(column, np.maximum(own, 0)) == 0) | (broken > 1)
        left = np.ones(len(at), np.bool_)
        for place in rule.left:
            left &= self._confirmed[place][at] >= CONFIRMED
        return sure | left

    def _from_left(self, column: int, at: Longs, rules: list[int], confirmed: np.ndarray) -> _Choice:
        """Another value with which the row would fit: what rows that agree with it in all else say."""
        offer = _Choice.none(len(at))
        offer.column[:] = column
        offer.value[:] = UNKNOWN
        broken = self._status[rules][:, at] == VIOLATED
        kinds, which = np.unique(broken, axis=1, return_inverse=True)
        for kind in range(kinds.shape[1]):
            asked = np.flatnonzero(which.ravel() == kind)
            own = [self._known.rules[f] for f, one in zip(rules, kinds[:, kind], strict=True) if one]
            self._look(offer, column, at, asked, own)
        rights = self._right_confirmed(column, at, rules)
        weak = confirmed < 0.5 * broken.sum(axis=0)
        offer.standing[(offer.standing == 0) & weak & rights] = 1
        offer.donor[(broken.sum(axis=0) < 2) & ~rights] = -1
        return offer

    def _right_confirmed(self, column: int, at: Longs, rules: list[int]) -> Flags:
        """Whether a rule that does not read this column confirms the cell on the right of one that the row breaks."""
        broken: dict[int, Flags] = {}  # by the column on the right, which many rules may share
        for f in rules:
            flags = self._status[f][at] == VIOLATED
            right = self._known.rules[f].right
            broken[right] = broken[right] | flags if right in broken else flags
        found = np.zeros(len(at), np.bool_)
        for right, flags in broken.items():
            for other, rule in enumerate(self._known.rules):
                if column in rule.columns or right not in rule.columns:
                    continue
                still = flags & ~found
                if not still.any():
                    break
                says = self._status[other][at] == SATISFIED
                if rule.right != right:
                    says &= self._rare[other][at] > 0.5
                found |= says & still
        return found

    def _look(self, offer: _Choice, column: int, at: Longs, asked: Longs, broken: list[Dependency]) -> None:
        """Fill the offers of rows that break the same rules; where no row agrees in all else, by right-hand sides."""
        rights = tuple(sorted({rule.right for rule in broken} - {column}))
        lefts = tuple(sorted({place for rule in broken for place in rule.left} - {column}))
        nulls = any(rule.nulls_equal for rule in broken)
        for others, alternatives in ((tuple(sorted({*rights, *lefts})), lefts), (rights, ())):
            asked = asked[(self._cells[list(others)][:, at[asked]] >= 0).all(axis=0)] if others else asked
            if len(asked) == 0:
                return
            there = self._say(offer, column, at[asked], asked, others, alternatives, rights, nulls=nulls)
            asked = asked[~there]

    def _say(
        self,
        offer: _Choice,
        column: int,
        at: Longs,
        asked: Longs,
        others: tuple[int, ...],
        alternatives: tuple[int, ...],
        rights: tuple[int, ...],
        *,
        nulls: bool,
    ) -> Flags:
        """Fill the offers of rows for which some row that stays has the same values in `others`; which these are."""
        found = self._known.agreement(column, others, self._cells[:, at], nulls=nulls)
        there = found.there
        rivals = np.zeros(len(at), np.int64)
        told = np.flatnonzero(there & found.is_other)
        if len(told):
            rivals[told] = self._known.rivals(column, alternatives, self._cells[:, at[told]])
        chance = np.full(len(at), WRONG ** (len(rights) - 1))
        for right in rights:
            chance *= self._known.common(right, self._cells[right, at]) / self._known.n_rows
        other, agree, among = found.is_other[there], found.agree[there], found.among[there]
        settled = other & (agree >= LEFT_MAJORITY * among)
        spots = asked[there]
        offer.agree[spots], offer.among[spots] = agree, among
        offer.value[spots] = np.where(settled, found.value[there], UNKNOWN)
        offer.donor[spots] = np.where(settled, found.donors[there], -1)
        offer.standing[spots] = np.where(other & (np.maximum(rivals[there] - 1, 1) * chance[there] <= SURPRISE), 2, 0)
        offer.given[spots] = self._given(others)
        return there

    def _given(self, columns: tuple[int, ...]) -> int:
        return self._contexts.setdefault(columns, len(self._contexts))
