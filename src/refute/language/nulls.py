"""What a comparison with a missing value means."""

from __future__ import annotations

from enum import Enum

from refute.faults import unknown_choice
from refute.language.operators import Operator


class Nulls(Enum):
    """The two readings of NULL (and of float NaN, which counts as NULL)."""

    SQL = "sql"
    """A comparison with NULL is never true: the row cannot take part."""

    EQUAL = "equal"
    """NULL equals NULL and differs from every value; order comparisons with NULL stay false."""

    @classmethod
    def of(cls, mode: str | Nulls) -> Nulls:
        """The mode of this name."""
        if isinstance(mode, Nulls):
            return mode
        for known in cls:
            if known.value == mode:
                return known
        raise unknown_choice("nulls", mode, [known.value for known in cls])

    def reads(self, op: Operator) -> bool:
        """Whether a comparison with NULL can be true."""
        return self is Nulls.EQUAL and not op.is_order

    def holds(self, op: Operator, *, both: bool) -> bool:
        """Whether a comparison is true of two NULLs, or without `both` of a NULL and a value."""
        return self.reads(op) and both is (op is Operator.EQ)
