"""Short forms of common rules: each is defined by the denial constraints it stands for, and found again in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from refute.errors import RuleError
from refute.language.arithmetic import Read, shown_column, sources_of, spelled
from refute.language.conditions import Atom, Compare, Condition, IsNull, Matches, Or, alternatives, negation
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Row
from refute.language.short_forms.column_rules import AllowedValues, Patterns, References, RulePart


@dataclass(frozen=True, slots=True)
class Key:
    """`unique(A, B)`: no two rows agree on all of the columns."""

    columns: tuple[str, ...]

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """One constraint: no two rows are equal in every column."""
        return (DenialConstraint(tuple(_same(self.columns))),)


@dataclass(frozen=True, slots=True)
class FunctionalDependency:
    """`A, B -> C, D`: rows that agree on the left agree on the right. An empty left side makes the right constant."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """One constraint for each column on the right."""
        return tuple(
            DenialConstraint((*_same(self.left), _across(name, Operator.NE))) for name in dict.fromkeys(self.right)
        )


@dataclass(frozen=True, slots=True)
class OrderItem:
    """A column with a direction."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class OrderRule:
    """`order(X asc, Y asc) by G`: among rows that agree on `by`, sorting by `first` sorts `second`."""

    first: OrderItem
    second: OrderItem
    by: tuple[str, ...] = ()

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """One constraint: no row comes earlier in the first column and later in the second."""
        earlier = Operator.GT if self.first.descending else Operator.LT
        later = Operator.LT if self.second.descending else Operator.GT
        return (
            DenialConstraint(
                (*_same(self.by), _across(self.first.name, earlier), _across(self.second.name, later)),
            ),
        )


@dataclass(frozen=True, slots=True)
class NoOverlap:
    """`no_overlap(start, end) by G`: among rows that agree on `by`, no two half-open spans [start, end) meet."""

    start: str
    end: str
    by: tuple[str, ...] = ()

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """One constraint: no two rows each start before the other ends."""
        s_start, s_end = Column(Row.S, self.start), Column(Row.S, self.end)
        return (
            DenialConstraint(
                (
                    *_same(self.by),
                    Predicate.of(s_start, Operator.LT, s_end.swapped()),
                    Predicate.of(s_start.swapped(), Operator.LT, s_end),
                )
            ),
        )


@dataclass(frozen=True, slots=True)
class RowRule:
    """`row: "qty >= 0"`: the condition is false for no row. A row for which it is unknown passes, as in SQL checks."""

    condition: Condition

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """One constraint for each way in which the condition can be false."""
        return tuple(_denial(parts) for parts in alternatives(negation(self.condition)))


@dataclass(frozen=True, slots=True)
class NotNull:
    """`not_null: A, B`: no row is null in any of the columns.

    A comparison says nothing about null, so the rule of each column is about the rows where it is null, and denies
    that they are there: where nulls are equal, `A = A` is true for all of them.
    """

    columns: tuple[str, ...]

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """One constraint for each column, which no row that it is about can obey."""
        return tuple(part.constraint for part in self.parts())

    def parts(self) -> tuple[RulePart, ...]:
        """A rule for each column, with the rows that it is about."""
        columns = (Column(Row.S, name) for name in dict.fromkeys(self.columns))
        return tuple(
            RulePart(one.name, DenialConstraint((Predicate.of(one, Operator.EQ, one),)), IsNull(one.name))
            for one in columns
        )


Sugar = NotNull | Key | FunctionalDependency | OrderRule | NoOverlap | RowRule | Patterns | AllowedValues | References


def recognise(constraint: DenialConstraint) -> Sugar | None:
    """The short form that stands for exactly this constraint; None when there is none."""
    predicates = tuple(dict.fromkeys(constraint.predicates))
    if constraint.is_single_row:
        parts = tuple(_opposite(predicate, predicates) for predicate in predicates)
        return RowRule(parts[0] if len(parts) == 1 else Or(parts))
    by = tuple(p.left.name for p in predicates if _is_across(p) and p.op is Operator.EQ)
    rest = tuple(p for p in predicates if not (_is_across(p) and p.op is Operator.EQ))
    if not rest:
        return Key(by)
    if {column.name for p in rest for column in p.columns} & set(by):
        return None
    match rest:
        case (only,):
            return FunctionalDependency(by, (only.left.name,)) if _is_across(only) and only.op is Operator.NE else None
        case (first, second):
            return _order(first, second, by) or _no_overlap(first, second, by)
        case _:
            return None


def _opposite(predicate: Predicate, predicates: tuple[Predicate, ...]) -> Compare | IsNull:
    """The condition that a one-row predicate denies; `A <= A`, where it is needed, says that A is not null."""
    name = predicate.left.name
    if predicate.op is Operator.LE and predicate.left == predicate.right:
        if not any(_needs_value(other, name) for other in predicates if other != predicate):
            return IsNull(name)
    return Compare(predicate.negated())


def _order(first: Predicate, second: Predicate, by: tuple[str, ...]) -> OrderRule | None:
    strict = (Operator.LT, Operator.GT)
    if not (_is_across(first) and _is_across(second) and first.op in strict and second.op in strict):
        return None
    if first.left.name == second.left.name:
        return None
    # Read with the first column ascending; the other reading is the same rule with the rows exchanged.
    return OrderRule(OrderItem(first.left.name), OrderItem(second.left.name, first.op is second.op), by)


def _no_overlap(first: Predicate, second: Predicate, by: tuple[str, ...]) -> NoOverlap | None:
    for one, other in ((first, second), (second, first)):
        if not isinstance(one.right, Column) or not (one.is_two_row and one.is_cross_column):
            continue
        found = NoOverlap(one.left.name, one.right.name, by)
        if one.op is Operator.LT and (one, other) == found.constraints()[0].predicates[-2:]:
            return found
    return None


def _same(names: Iterable[str]) -> list[Predicate]:
    return [_across(name, Operator.EQ) for name in dict.fromkeys(names)]


def _across(name: str, op: Operator) -> Predicate:
    return Predicate.of(Column(Row.S, name), op, Column(Row.T, name))


def _is_across(predicate: Predicate) -> bool:
    return predicate.is_two_row and not predicate.is_cross_column


def _denial(parts: tuple[Atom, ...]) -> DenialConstraint:
    """The constraint that forbids all parts at once."""
    predicates = [part.predicate for part in parts if isinstance(part, Compare)]
    for part in parts:
        if isinstance(part, Matches):
            name = shown_column(part.name)
            raise RuleError(
                f"A row rule compares values. Put the pattern of {name!r} into another rule, matches: {{{name}: ...}}.",
                column=part.name,
            )
        if isinstance(part, IsNull):
            if not part.negated:
                columns = ", ".join(spelled(Read(name)) for name in sources_of(part.name))
                raise RuleError(
                    f"Rows where {shown_column(part.name)!r} is null break this row rule, and no denial constraint can "
                    f"express that, as a comparison with null is never true. Use the rule not_null({columns}).",
                    column=part.name,
                )
            if not any(_needs_value(predicate, part.name) for predicate in predicates):
                # `A <= A` is true exactly when A is not null, in both null modes.
                column = Column(Row.S, part.name)
                predicates.append(Predicate.of(column, Operator.LE, column))
    return DenialConstraint(tuple(dict.fromkeys(predicates)))


def _needs_value(predicate: Predicate, name: str) -> bool:
    """Whether the predicate is true only if the column has a value, in both null modes."""
    if name not in (column.name for column in predicate.columns):
        return False
    return predicate.op.is_order or (predicate.op is Operator.EQ and not isinstance(predicate.right, Column))
