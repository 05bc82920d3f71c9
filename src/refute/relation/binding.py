"""Does a rule fit a table? Errors that name the column, its type, the rule and the nearest name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from refute.errors import SchemaError
from refute.faults import misfits, unknown_column
from refute.language.arithmetic import sources_of
from refute.language.conditions import Compare, Condition, InTable, IsNull, Matches, atoms
from refute.language.constraint import DenialConstraint
from refute.language.predicate import Column, Predicate, Value
from refute.language.render import render_text
from refute.relation.types import READABLE, ColumnType, Family, clash, constant_family, literal_clash

if TYPE_CHECKING:
    from refute.language.rulebook import Rule
    from refute.relation.relation import Relation

_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


def check_rules(relation: Relation, rules: Iterable[Rule], key: Sequence[str] = ()) -> None:
    """Raises one SchemaError for all key columns and rules that do not fit the table, before any rule is run."""
    errors = [unknown_column(name, relation.names, kind="key column") for name in key if not relation.has(name)]
    for rule in rules:
        try:
            bind(relation, rule.constraint, rule.name, rule.where)
        except SchemaError as error:
            errors.append(error)
    if errors:
        raise misfits(errors)


def bind(relation: Relation, constraint: DenialConstraint, rule: str | None, where: Condition | None = None) -> None:
    """Raises SchemaError unless every column exists and every comparison makes sense."""
    try:
        for predicate in constraint.predicates:
            check_predicate(relation, predicate)
        if where is not None:
            _check_condition(relation, where)
    except SchemaError:  # once more for a message that names the rule, which few callers need
        name = rule if rule is not None else render_text(constraint)
        for predicate in constraint.predicates:
            check_predicate(relation, predicate, name, f" (in {name})")
        if where is not None:
            _check_condition(relation, where, name, f" (in the condition of {name})")
        raise


def _check_condition(relation: Relation, condition: Condition, rule: str | None = None, where: str = "") -> None:
    for part in atoms(condition):
        match part:
            case Compare(predicate):
                check_predicate(relation, predicate, rule, where)
            case IsNull(name):
                check_column(relation, name, rule, where)
            case Matches(name):
                kind = check_column(relation, name, rule, where)
                if kind.family not in (Family.STRING, Family.NULL):
                    raise SchemaError(
                        f"Column {kind} is not text, so nothing in it matches a regular expression{where}. Read it as "
                        "text (schema=, or --schema for the command), or compare it with numbers or dates.",
                        column=name,
                        type=kind.family.value,
                        rule=rule,
                    )
            case InTable(names):
                for name in names:
                    check_column(relation, name, rule, where)


def check_predicate(relation: Relation, predicate: Predicate, rule: str | None = None, where: str = "") -> None:
    """Raises SchemaError unless the columns of one predicate exist and its operands compare."""
    left = check_column(relation, predicate.left.name, rule, where)
    right = predicate.right
    if isinstance(right, Column):
        other = check_column(relation, right.name, rule, where)
        hint = clash(left.family, other.family)
        if hint is not None:
            names = (left.name, other.name)
            slip = _slip(relation, left, other.family) or _slip(relation, other, left.family)
            message = f"Cannot compare {left} with {other}{where}. {slip.hint if slip else hint}"
            raise SchemaError(message, columns=names, rule=rule, row=slip and slip.row, quoted=slip and slip.quoted)
        return
    literal = constant_family(right.value)
    hint = literal_clash(left.family, literal)
    if hint is not None:
        written, slip = _written(right.value), _slip(relation, left, literal)
        raise SchemaError(
            f"Cannot compare {left} with the {literal.value} {written}{where}. {slip.hint if slip else hint}",
            column=left.name,
            value=right.value,
            rule=rule,
            row=slip and slip.row,
            quoted=slip and slip.quoted,
        )


def check_column(relation: Relation, name: str, rule: str | None = None, where: str = "") -> ColumnType:
    """The type of a column; raises SchemaError unless it exists and can be compared."""
    if relation.computes(name) is not None:
        return _check_formula(relation, name, rule, where)
    if not relation.has(name):
        raise unknown_column(name, relation.names, rule=rule, where=where)
    kind = relation.type_of(name)
    if kind.family is Family.UNSUPPORTED:
        relation.column(name)  # says why, where its objects have no single type
        raise SchemaError(f"Column {kind} cannot be compared{where}. {READABLE}", column=name, rule=rule)
    return kind


def _check_formula(relation: Relation, name: str, rule: str | None, where: str) -> ColumnType:
    """The type of a formula; raises SchemaError unless its columns exist and go together."""
    for source in sources_of(name):
        check_column(relation, source, rule, where)
    try:
        return relation.type_of(name)
    except SchemaError as error:
        place = where.strip(" ()").removeprefix("in ")
        raise SchemaError(
            f"In {place}: {error}" if place else str(error), columns=sources_of(name), rule=rule
        ) from None


class _Slip(NamedTuple):
    """The first cell by which a column of numbers became one of text."""

    column: str
    row: int
    cell: str

    @property
    def hint(self) -> str:
        """What to do about it."""
        return (
            f"{self.column!r} is text because of cells such as {self.cell!r} in row {self.row:,}. Cells that stand for "
            "no value can be read as null (null_values of csv=, or --null-values for the command)."
        )

    @property
    def quoted(self) -> tuple[tuple[str, str], ...]:
        """What the message shows of it."""
        return ((self.column, repr(self.cell)),)


def _slip(relation: Relation, column: ColumnType, other: Family) -> _Slip | None:
    """The first cell of a text that is no number, where most are numbers and one is compared with them.

    There are no rows to look at where only the types of a table are known, as on Spark.
    """
    if column.family is not Family.STRING or not other.is_number or relation.computes(column.name) is not None:
        return None
    cells = relation.column(column.name).cast(pa.string())
    numbers = pc.match_substring_regex(cells, _NUMBER)
    others = pc.invert(numbers)
    if not 2 * (pc.sum(others).as_py() or 0) < len(cells) - cells.null_count:
        return None
    row = pc.index(others, True).as_py()
    return _Slip(column.name, row, cells[row].as_py())


def _written(value: Value) -> str:
    """A literal as an error shows it."""
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
