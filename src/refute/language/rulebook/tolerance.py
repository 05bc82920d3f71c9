"""How far a rule may be broken before it counts as failed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from refute.errors import RuleError

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*%\s*")
_DIGITS = 100  # more than any count has
_WHOLE = re.compile(r"\s*\d+\s*")


@dataclass(frozen=True, slots=True)
class Limit:
    """A most: a number of things, or with `percent` a share of all of them. Shares are exact, never floats."""

    amount: Fraction
    percent: bool = False

    def __post_init__(self) -> None:
        if self.amount < 0 or (self.percent and self.amount > 100):
            raise RuleError(f"A limit of {self} is impossible: it must be between 0 and 100%.", value=str(self))

    @classmethod
    def of(cls, value: object) -> Limit:
        """The limit written as `5`, `'5'` or `'0.1%'`."""
        if isinstance(value, Limit):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**_DIGITS:
            return cls(Fraction(value))
        if isinstance(value, str) and len(value) <= _DIGITS:
            if match := _PERCENT.fullmatch(value):
                return cls(Fraction(match[1]), percent=True)
            if _WHOLE.fullmatch(value):
                return cls(Fraction(int(value)))
        shown = repr(value) if not isinstance(value, int) or abs(value) < 10**_DIGITS else "this number"
        raise RuleError(
            f"{shown} is not a limit: write a whole number such as 10, or a share such as 0.1%.", value=shown
        )

    @classmethod
    def share(cls, found: int, total: int) -> Limit:
        """The shortest share that allows `found` of `total`, and not one more."""
        digits = 0
        while True:
            scale = 10**digits
            rounded = -(-found * 100 * scale // total)  # up
            if rounded * total < (found + 1) * 100 * scale:
                return cls(Fraction(rounded, scale), percent=True)
            digits += 1

    def allows(self, found: int, total: int) -> bool:
        """Whether `found` of `total` stays within the limit."""
        return found * 100 <= self.amount * total if self.percent else found <= self.amount

    def counted(self, total: int) -> Limit:
        """The same as a number of things, where all of them are so many."""
        return Limit(Fraction(int(self.amount * total / 100))) if self.percent else self

    def plain(self) -> int | str:
        """The limit as it is written in YAML: a number, or a text that ends in `%`."""
        return str(self) if self.percent else int(self.amount)

    def __str__(self) -> str:
        if not self.percent:
            return str(self.amount)
        whole, rest = divmod(self.amount, 1)
        digits = ""
        while rest:
            digit, rest = divmod(rest * 10, 1)
            digits += str(digit)
        return f"{whole}.{digits}%" if digits else f"{whole}%"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Limits on violations, on rows in some violation, and on suspects. Without any limit, nothing is tolerated.

    Suspects are the rows to blame for the rule alone: one wrong row in a large group is one of them, although all rows
    of the group are in a violation.
    """

    rows: Limit | None = None
    violations: Limit | None = None
    suspects: Limit | None = None

    @classmethod
    def of(cls, *, rows: object = None, violations: object = None, suspects: object = None) -> Tolerance:
        """The tolerance with these limits, each a number, a text such as `'0.1%'`, or None."""
        return cls(
            rows=None if rows is None else Limit.of(rows),
            violations=None if violations is None else Limit.of(violations),
            suspects=None if suspects is None else Limit.of(suspects),
        )

    def __bool__(self) -> bool:
        return self.rows is not None or self.violations is not None or self.suspects is not None

    def allows(
        self, violations: int, rows: int, n_rows: int, *, suspects: int | None = None, single_row: bool = False
    ) -> bool:
        """Whether these counts pass. A share of violations is of the n(n-1) ordered pairs, or of n single rows.

        Where suspects are limited, their number must be given.
        """
        if not self:
            return violations == 0
        assert suspects is not None or self.suspects is None, "suspects are limited, and were not counted"
        candidates = n_rows if single_row else n_rows * (n_rows - 1)
        counted = (
            (self.rows, rows, n_rows),
            (self.violations, violations, candidates),
            (self.suspects, suspects, n_rows),
        )
        return all(limit is None or limit.allows(found or 0, total) for limit, found, total in counted)

    def counted(self, n_rows: int, *, single_row: bool = False) -> Tolerance:
        """The same in numbers, for a table of so many rows."""
        candidates = n_rows if single_row else n_rows * (n_rows - 1)
        return Tolerance(
            rows=None if self.rows is None else self.rows.counted(n_rows),
            violations=None if self.violations is None else self.violations.counted(candidates),
            suspects=None if self.suspects is None else self.suspects.counted(n_rows),
        )

    def plain(self) -> dict[str, int | str]:
        """The limits as a YAML mapping."""
        limits = {"rows": self.rows, "violations": self.violations, "suspects": self.suspects}
        return {name: limit.plain() for name, limit in limits.items() if limit is not None}

    def __str__(self) -> str:
        return ", ".join(f"{value} {name}" for name, value in self.plain().items()) or "none"


STRICT = Tolerance()
"""Nothing is tolerated."""
