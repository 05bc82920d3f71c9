"""Rules in the notation of the papers."""

from __future__ import annotations

from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Predicate
from refute.language.render.text import render_column, render_operand

_SIGNS = {Operator.NE: "≠", Operator.LE: "≤", Operator.GE: "≥"}


def render_logic(constraint: DenialConstraint) -> str:
    """`∀ s, t: ¬(s.zip = t.zip ∧ s.city ≠ t.city)`; the parser reads it back."""
    rows = ", ".join(sorted(row.value for row in constraint.rows))
    return f"∀ {rows}: ¬({' ∧ '.join(_predicate(predicate) for predicate in constraint.predicates)})"


def _predicate(predicate: Predicate) -> str:
    sign = _SIGNS.get(predicate.op, predicate.op.symbol)
    return f"{render_column(predicate.left)} {sign} {render_operand(predicate.right)}"
