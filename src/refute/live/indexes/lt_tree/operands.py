"""Operands: the sets of rows by which a predicate refines candidates, whatever rule it stands in (section 5.1)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from pyroaring import BitMap

from refute.language.operators import Operator
from refute.live.indexes.index import Compared
from refute.live.indexes.lt_tree.columns import NOBODY, ColumnIndexes, Values
from refute.live.indexes.lt_tree.tree import LtTree


class Reach(Enum):
    """Which rows an operand has: those whose value is equal to, below, or at most that of the row that comes."""

    EQUAL = 0
    BELOW = 1
    UPTO = 2

    __hash__ = object.__hash__  # members are unique; that of Enum is slow


# The relation of a kept row's value to that of the row that comes: which operand, and whether candidates are
# intersected with it or lose it.
_APPLIED = {
    Operator.EQ: (Reach.EQUAL, True),
    Operator.LT: (Reach.BELOW, True),
    Operator.LE: (Reach.UPTO, True),
    Operator.NE: (Reach.EQUAL, False),
    Operator.GT: (Reach.UPTO, False),
    Operator.GE: (Reach.BELOW, False),
}


class OperandSide(NamedTuple):
    """A predicate about a row that comes in one role: the kept rows' column, the row's own, and what is done."""

    kept: int
    own: int
    reach: Reach
    keeps: bool


class OperandSides(NamedTuple):
    """A predicate for both roles of the row that comes."""

    as_s: OperandSide
    as_t: OperandSide
    is_symmetric: bool  # whether it refines both roles alike: `=` or `!=` of one column

    @classmethod
    def of(cls, predicate: Compared) -> OperandSides:
        """The sides of `s.a op t.b`: as `s` the row's `a` meets kept rows' `b`, as `t` its `b` meets their `a`."""
        as_s = OperandSide(predicate.t, predicate.s, *_APPLIED[predicate.op.mirrored])
        as_t = OperandSide(predicate.s, predicate.t, *_APPLIED[predicate.op])
        return cls(as_s, as_t, as_s == as_t)


class Operands:
    """The operands of one row at a time, each looked up once.

    `rising` is a column by which the rows come in ascending order, in batch mode. Operands that compare its values with
    a tree are then extended, not rebuilt, row by row (section 5.5). Where rules share nothing, `shared` is False.
    """

    def __init__(self, columns: ColumnIndexes, *, shared: bool = True, rising: int | None = None) -> None:
        self._columns = columns
        self._shared = shared
        self._rising = rising
        self._growing = {} if rising is None else {column: Growing(tree) for column, tree in columns.trees.items()}
        self._row: Values = ()
        self._known: dict[tuple[int, int, Reach], BitMap] = {}

    def at(self, row: Values) -> None:
        """Goes on to a row."""
        self._row = row
        self._known.clear()

    def came(self, slot: int, row: Values) -> None:
        """Says that a row was added to the columns."""
        for column, growing in self._growing.items():
            growing.came(slot, row[column])

    def left(self, slot: int) -> None:
        """Says that a row was taken from the columns."""
        for growing in self._growing.values():
            growing.rows.discard(slot)

    def next_rule(self) -> None:
        """Forgets what was looked up, where rules share nothing."""
        if not self._shared:
            self._known.clear()

    def refined(self, candidates: BitMap | None, side: OperandSide) -> BitMap:
        """The candidates that satisfy a predicate; None stands for all rows.

        Candidates meet the two parts of `at most` one after the other: their union would be the larger work.
        """
        if candidates is not None and side.reach is Reach.UPTO:
            below = self._operand(side.kept, side.own, Reach.BELOW)
            equal = self._operand(side.kept, side.own, Reach.EQUAL)
            if side.keeps:
                return (candidates & below) | (candidates & equal)
            return (candidates - below) - equal
        operand = self._operand(side.kept, side.own, side.reach)
        if side.keeps:
            return operand if candidates is None else candidates & operand
        return (self._columns.all if candidates is None else candidates) - operand

    def _operand(self, kept: int, own: int, reach: Reach) -> BitMap:
        found = self._known.get((kept, own, reach))
        if found is None:
            found = self._known[kept, own, reach] = self._look_up(kept, own, reach)
        return found

    def _look_up(self, kept: int, own: int, reach: Reach) -> BitMap:
        value = self._row[own]
        if reach is Reach.EQUAL:
            found = self._columns.by_value[kept].equal(value)
            return NOBODY if found is None else found
        if reach is Reach.UPTO:
            below = self._operand(kept, own, Reach.BELOW)
            equal = self._operand(kept, own, Reach.EQUAL)
            return below | equal if equal else below
        if own == self._rising:
            return self._growing[kept].up_to(value)
        below, same = self._columns.trees[kept].below(value)
        self._known[kept, own, Reach.EQUAL] = NOBODY if same is None else same
        return below


class Growing:
    """The rows of an LT-tree below a value that rises: the set for the next one has all rows of the set before."""

    __slots__ = ("_limit", "_tree", "rows")

    def __init__(self, tree: LtTree) -> None:
        self._tree = tree
        self._limit: int | None = None  # nobody was looked up yet
        self.rows = BitMap()

    def up_to(self, value: int) -> BitMap:
        """The rows of smaller values; no call may have a smaller value than the one before."""
        if self._limit is None:
            self.rows = self._tree.below(value)[0].copy()
        elif value > self._limit:
            self.rows |= self._tree.between(self._limit, value)
        self._limit = value
        return self.rows

    def came(self, slot: int, value: int) -> None:
        """Takes note of a row that was added to the tree: later looks read only what is not below the limit."""
        if self._limit is not None and value < self._limit:
            self.rows.add(slot)
