"""A box over a table as a problem in rank space, straight from the codes of its slots.

The problem is that of the rule which the box stands for, but no rule is made for it: the states that a mask accepts say
which comparison is asked, and a slot's codes are those that its evidence is read from.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.codebook import row_states
from refute.discovery.space.clue_layout import row_key
from refute.discovery.space.slots import PredicateSpace, Slot, States
from refute.discovery.space.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.language.operators import Operator
from refute.language.predicate import Column, Row
from refute.plan.compile import compared
from refute.plan.problem import Comparison, Problem, ProblemSide, Rows
from refute.relation import Encoded, Relation

Admitted = dict[Hashable, NDArray[np.bool_]]  # conditions that rows must meet, each by an identity

_OPERATORS = {
    LESS: Operator.LT,
    EQUAL: Operator.EQ,
    GREATER: Operator.GT,
    LESS | EQUAL: Operator.LE,
    GREATER | EQUAL: Operator.GE,
    LESS | GREATER: Operator.NE,
}


class Boxed:
    """Boxes of a space over one table."""

    def __init__(
        self, relation: Relation, space: PredicateSpace, states: Mapping[Hashable, States] | None = None
    ) -> None:
        """`states` are those of the rows in comparisons within one row, where they are known."""
        self._relation = relation
        self._slots = space.slots
        self._states: dict[Hashable, States] = dict(states or {})

    def single(self, masks: list[int]) -> tuple[Row, Rows] | None:
        """For a box that reads one of the two rows only, that row and the rows of the table that it accepts."""
        used = self._used(masks)
        read = {slot.left.row for slot, _ in used}
        if len(read) != 1 or any(slot.is_pair for slot, _ in used):
            return None
        (row,) = read
        accepted = self._rows(self._side(used, row))
        return row, np.arange(self._relation.n_rows) if accepted is None else accepted

    def problem(self, masks: list[int]) -> Problem:
        """The pairs of distinct rows inside the box with these masks per slot."""
        used = self._used(masks)
        s_side, t_side = (self._side(used, row) for row in Row)
        s_rows = self._rows(s_side)
        t_rows = s_rows if s_side.keys() == t_side.keys() else self._rows(t_side)
        built: dict[str, list[Comparison]] = {"equal": [], "order": [], "differ": []}
        self_pairs = True
        for slot, mask in used:
            if not slot.is_pair:
                continue
            op, with_nulls = _asked(slot, mask)
            left, right = self._codes(slot)
            with_nulls = with_nulls and bool(left.nulls or right.nulls)
            comparison = compared(op, left, right, with_nulls=with_nulls)
            if s_rows is not None or t_rows is not None:
                comparison = comparison.picked(s_rows, t_rows, together=s_rows is t_rows)
            built[{Operator.EQ: "equal", Operator.NE: "differ"}.get(op, "order")].append(comparison)
            self_pairs &= len(slot.columns) > 1 or not op.is_strict
        return Problem(
            s=ProblemSide.of(s_rows, self._relation.n_rows),
            t=ProblemSide.of(t_rows, self._relation.n_rows),
            equal=tuple(built["equal"]),
            order=tuple(built["order"]),
            differ=tuple(built["differ"]),
            self_pairs=self_pairs,
        )

    def _used(self, masks: list[int]) -> list[tuple[Slot, int]]:
        """The slots that the box asks anything of."""
        return [(slot, mask) for slot, mask in zip(self._slots, masks, strict=True) if mask != slot.kind.full]

    def _side(self, used: list[tuple[Slot, int]], row: Row) -> Admitted:
        """What keeps rows from standing as `row`: comparisons within the row, and nulls that no comparison accepts."""
        side: Admitted = {}
        for slot, mask in used:
            if not slot.is_pair:
                if slot.left.row is row:
                    side[row_key(slot), mask] = (mask >> self._states_of(slot)) & 1 == 1
                continue
            assert isinstance(slot.right, Column)
            name = next(column.name for column in (slot.left, slot.right) if column.row is row)
            if not _asked(slot, mask)[1] and self._relation.null_count(name):
                side[name] = ~self._relation.is_null(name)
        return side

    def _rows(self, side: Admitted) -> Rows | None:
        """The rows that may stand on a side, None being all."""
        if not side:
            return None
        accepted = np.logical_and.reduce(list(side.values()))
        return None if accepted.all() else np.flatnonzero(accepted)

    def _states_of(self, slot: Slot) -> States:
        key = row_key(slot)
        if key not in self._states:
            self._states[key] = row_states(self._relation, slot)
        return self._states[key]

    def _codes(self, slot: Slot) -> tuple[Encoded, Encoded]:
        """The codes of both sides, those of the slot's evidence."""
        assert isinstance(slot.right, Column)
        names = slot.left.name, slot.right.name
        first, second = self._relation.encode_joint(names, ordered=slot.kind.is_ordered, dense=True)
        return first, second


def _asked(slot: Slot, mask: int) -> tuple[Operator, bool]:
    """The comparison that accepts the states of the mask, and whether a null can satisfy it."""
    atoms = slot.kind.atoms(mask)
    op = _OPERATORS[atoms & (LESS | EQUAL | GREATER)]
    return op, bool(atoms & (BOTH_NULL if op is Operator.EQ else ONE_NULL))
