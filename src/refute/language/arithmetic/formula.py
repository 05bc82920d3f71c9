"""Arithmetic on the columns of one row: `price * qty`, `ended + 1 day`.

A formula is a column that is computed rather than stored. It goes by a name that spells it, `=price * qty`, so whoever
reads columns by name reads it as one more; `formula_of` gives the formula of such a name. It is null where one of its
columns is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from enum import Enum
from functools import lru_cache
from typing import TypeVar

from refute.errors import RuleError, SchemaError

MARK = "="
_EXACTLY = Context(prec=10_000)
T = TypeVar("T", int, float, Decimal)
Part = TypeVar("Part")


class Sign(Enum):
    """What is done with two parts."""

    PLUS = "+"
    MINUS = "-"
    TIMES = "*"


class Unit(Enum):
    """A unit of time; a day has 24 hours, and a week 7 days."""

    SECOND = 1
    MINUTE = 60
    HOUR = 3_600
    DAY = 86_400
    WEEK = 604_800

    @classmethod
    def of(cls, word: str) -> Unit:
        """The unit of a word: `day` or `days`."""
        return cls[word.upper().removesuffix("S")]


@dataclass(frozen=True, slots=True)
class Read:
    """The value of a column."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: an integer, a decimal or a float."""

    value: int | Decimal | float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time: `3 days`."""

    count: int
    unit: Unit

    @property
    def seconds(self) -> int:
        """The same in seconds."""
        return self.count * self.unit.value

    @property
    def in_days(self) -> Span:
        """The same in days, for whole days."""
        return Span(self.seconds // Unit.DAY.value, Unit.DAY)


@dataclass(frozen=True, slots=True)
class Combined:
    """Two parts added, subtracted or multiplied."""

    left: Formula
    sign: Sign
    right: Formula


Formula = Read | Number | Span | Combined


def named(formula: Formula) -> str:
    """The name of the column that a formula is: its own for a column that is stored."""
    return formula.name if isinstance(formula, Read) else MARK + spelled(formula)


def formula_of(name: str) -> Combined | None:
    """The formula that a name spells; None for the name of a column that is stored."""
    return _read(name) if name.startswith(MARK) else None


def refuse_formulas(names: Iterable[str]) -> None:
    """Raises SchemaError for a column of a table whose name would be taken for arithmetic in a rule."""
    for name in names:
        if formula_of(name) is not None:
            raise SchemaError(
                f"The table has a column {name!r}, which stands for arithmetic in rules. Rename it.", column=name
            )


def sources_of(name: str) -> tuple[str, ...]:
    """The stored columns behind a name: those of its formula, each once, or itself."""
    formula = formula_of(name)
    return (name,) if formula is None else tuple(dict.fromkeys(part.name for part in leaves(formula, Read)))


def all_sources(names: Iterable[str]) -> tuple[str, ...]:
    """The stored columns behind names, each once, in order of appearance."""
    return tuple(dict.fromkeys(source for name in names for source in sources_of(name)))


def renamed_column(name: str, rename: Callable[[str], str]) -> str:
    """The name with the columns of its formula renamed, or itself renamed where it has none."""
    formula = formula_of(name)
    return rename(name) if formula is None else named(_renamed(formula, rename))


def shown_column(name: str) -> str:
    """The name as messages show it: `price * qty` for a formula."""
    return name if formula_of(name) is None else name.removeprefix(MARK)


def spelled(formula: Formula, column: Callable[[str], str] | None = None, constant: Spelling | None = None) -> str:
    """The formula as text, which is read back as the same; `column` and `constant` spell its parts for others."""
    from refute.language.render.text import quote_bare  # which shows formulas by this module

    column = column or quote_bare
    constant = constant or _constant
    if isinstance(formula, Read):
        return column(formula.name)
    if not isinstance(formula, Combined):
        return constant(formula)
    left, right = (spelled(part, column, constant) for part in (formula.left, formula.right))
    if formula.sign is Sign.TIMES and _is_sum(formula.left):
        left = f"({left})"
    if isinstance(formula.right, Combined) and (formula.sign is Sign.TIMES or _is_sum(formula.right)):
        right = f"({right})"
    return f"{left} {formula.sign.value} {right}"


def combined(left: Formula, sign: Sign, right: Formula) -> Formula:
    """The two as one formula; numbers are computed here and now, exactly unless one is a float."""
    if not (isinstance(left, Number) and isinstance(right, Number)):
        return Combined(left, sign, right)
    first, second = left.value, right.value
    if isinstance(first, float) or isinstance(second, float):
        return Number(computed(sign, float(first), float(second)))
    if isinstance(first, int) and isinstance(second, int):
        return Number(computed(sign, first, second))
    with localcontext(_EXACTLY):
        return Number(computed(sign, Decimal(first), Decimal(second)))


def computed(sign: Sign, left: T, right: T) -> T:
    """The sum, difference or product."""
    return left + right if sign is Sign.PLUS else left - right if sign is Sign.MINUS else left * right


def leaves(formula: Formula, kind: type[Part]) -> Iterator[Part]:
    """The parts of one kind, from left to right."""
    if isinstance(formula, Combined):
        yield from leaves(formula.left, kind)
        yield from leaves(formula.right, kind)
    elif isinstance(formula, kind):
        yield formula


Spelling = Callable[[Number | Span], str]


def _renamed(formula: Formula, rename: Callable[[str], str]) -> Formula:
    match formula:
        case Read(name):
            return Read(rename(name))
        case Combined(left, sign, right):
            return Combined(_renamed(left, rename), sign, _renamed(right, rename))
        case _:
            return formula


def _is_sum(formula: Formula) -> bool:
    return isinstance(formula, Combined) and formula.sign is not Sign.TIMES


def _constant(part: Number | Span) -> str:
    from refute.language.predicate import Constant
    from refute.language.render.text import render_constant

    if isinstance(part, Number):
        return render_constant(Constant(part.value))
    return f"{part.count} {part.unit.name.lower()}{'' if abs(part.count) == 1 else 's'}"


@lru_cache(maxsize=4096)
def _read(name: str) -> Combined | None:
    from refute.language.parsing.parser import parse_formula  # which is built on this module

    try:
        found = parse_formula(name.removeprefix(MARK))
    except RuleError:
        return None
    return found if isinstance(found, Combined) and named(found) == name else None
