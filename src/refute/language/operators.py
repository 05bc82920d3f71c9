"""The six comparison operators and their algebra."""

from __future__ import annotations

from enum import Enum


class Operator(Enum):
    """A comparison. Its algebra rests on which of the three outcomes (less, equal, greater) it accepts."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    __hash__ = object.__hash__  # members are unique; that of Enum is slow, and rules are hashed by the million

    @property
    def symbol(self) -> str:
        """The spelling that Refute writes."""
        return self.value

    @property
    def outcomes(self) -> frozenset[int]:
        """The signs of `left - right` for which the comparison is true."""
        return _OUTCOMES[self]

    @property
    def negated(self) -> Operator:
        """The operator that is true on non-null values exactly where this one is false."""
        return _BY_OUTCOMES[frozenset((-1, 0, 1)) - self.outcomes]

    @property
    def mirrored(self) -> Operator:
        """The operator with the operands exchanged: `a op b` is `b op.mirrored a`."""
        return _BY_OUTCOMES[frozenset(-sign for sign in self.outcomes)]

    @property
    def is_order(self) -> bool:
        """Whether it needs an order of values, not only equality."""
        return self not in (Operator.EQ, Operator.NE)

    @property
    def is_strict(self) -> bool:
        """Whether no value stands in this relation to itself."""
        return 0 not in self.outcomes

    @classmethod
    def accepting(cls, outcomes: frozenset[int]) -> Operator:
        """The operator that is true for exactly these signs of `left - right`: some, but not all three."""
        return _BY_OUTCOMES[outcomes]

    def implies(self, other: Operator) -> bool:
        """Whether `a self b` makes `a other b` true for all values."""
        return self.outcomes <= other.outcomes

    def meet(self, other: Operator) -> Operator | None:
        """The operator that is true where both are; None when they exclude each other."""
        return _BY_OUTCOMES.get(self.outcomes & other.outcomes)

    def accepts(self, sign: int) -> bool:
        """Whether the comparison is true for operands whose difference has this sign."""
        return sign in self.outcomes


_OUTCOMES = {
    Operator.EQ: frozenset((0,)),
    Operator.NE: frozenset((-1, 1)),
    Operator.LT: frozenset((-1,)),
    Operator.LE: frozenset((-1, 0)),
    Operator.GT: frozenset((1,)),
    Operator.GE: frozenset((0, 1)),
}
_BY_OUTCOMES = {outcomes: operator for operator, outcomes in _OUTCOMES.items()}
