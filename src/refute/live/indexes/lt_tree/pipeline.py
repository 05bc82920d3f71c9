"""Refinement (sections 3.2 and 5.4): from all kept rows to those with which a row violates a rule, for each rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pyroaring import BitMap

from refute.live.indexes.lt_tree.admission import Barred, Roles
from refute.live.indexes.lt_tree.columns import NOBODY, ColumnIndexes
from refute.live.indexes.lt_tree.operands import Operands
from refute.live.indexes.lt_tree.prefixes import Prefix
from refute.live.indexes.lt_tree.schedule import Schedule


class Candidates:
    """The two intermediates of a rule: kept rows that may still be partners of the row as `s`, and of the row as `t`.

    None stands for all rows. Sets are never changed, only replaced, so rules may share them, and as long as both roles
    have the same set it is refined once for both.
    """

    __slots__ = ("done", "s", "t")

    def __init__(self, roles: tuple[bool, bool] = (True, True)) -> None:
        self.t: BitMap | None = None if roles[0] else NOBODY  # partners that stand as t, the row being s
        self.s: BitMap | None = None if roles[1] else NOBODY  # partners that stand as s, the row being t
        self.done = 0  # predicates that were applied, as bits

    @property
    def is_open(self) -> bool:
        """Whether some candidate is left."""
        return self.t is None or self.s is None or bool(self.t) or bool(self.s)


class RowPartners(NamedTuple):
    """The kept rows with which a row violates a rule: as `t` beside the row as `s`, and as `s` beside it as `t`."""

    rule: int
    t: BitMap
    s: BitMap


class RulePipeline:
    """Looks for the partners of one row at a time, by a schedule."""

    def __init__(self, schedule: Schedule, columns: ColumnIndexes, barred: Barred) -> None:
        self._schedule = schedule
        self._columns = columns
        self._barred = barred

    def partners(self, operands: Operands, roles: Roles) -> Iterator[RowPartners]:
        """The rules that the row at which the operands are violates with kept rows (algorithm 2, lines 4 to 14).

        The sets may be those of the index: they are read before the next row.
        """
        schedule = self._schedule
        states = [Candidates(role) for role in roles]
        for prefix in schedule.prefixes:
            self._begin(states, prefix, operands)
        for rule in schedule.executed:
            state = states[rule]
            operands.next_rule()
            for number in schedule.plans[rule]:
                if not state.is_open:
                    break
                if state.done >> number & 1:
                    continue
                for affected in schedule.refined_by[number] if schedule.is_shared else (rule,):
                    other = states[affected]
                    if not other.done >> number & 1 and other.is_open:
                        is_first = not other.done
                        self._refine(other, number, operands)
                        if is_first:
                            self._admit(affected, other)
            if state.is_open:
                if not state.done:
                    self._admit(rule, state)  # a rule without predicates
                assert state.t is not None
                assert state.s is not None
                yield RowPartners(rule, state.t, state.s)

    def _begin(self, states: list[Candidates], prefix: Prefix, operands: Operands) -> None:
        """Refines by a common prefix once, and hands what is left to the rules that have it (lines 5 to 9)."""
        users = [rule for rule in (prefix.owner, *prefix.takers) if states[rule].is_open]
        if len(users) < 2:
            return
        made = Candidates()
        for number in prefix.predicates:
            self._refine(made, number, operands)
            if not made.is_open:
                break
        for rule in users:
            state = states[rule]
            state.done = made.done
            if state.t is None:
                state.t = made.t
            if state.s is None:
                state.s = made.s
            self._admit(rule, state)

    def _refine(self, state: Candidates, number: int, operands: Operands) -> None:
        """Applies a predicate to both roles; to both at once where it means the same for them (section 5.1)."""
        sides = self._schedule.sides[number]
        state.done |= 1 << number
        if sides.is_symmetric and state.t is state.s:
            state.t = state.s = operands.refined(state.t, sides.as_s)
            return
        if state.t is None or state.t:
            state.t = operands.refined(state.t, sides.as_s)
        if state.s is None or state.s:
            state.s = operands.refined(state.s, sides.as_t)

    def _admit(self, rule: int, state: Candidates) -> None:
        """Takes the rows away that the rule does not admit."""
        barred_s, barred_t = self._barred.s[rule], self._barred.t[rule]
        if state.t is None or barred_t:
            state.t = (self._columns.all if state.t is None else state.t) - barred_t
        if state.s is None or barred_s:
            state.s = (self._columns.all if state.s is None else state.s) - barred_s
