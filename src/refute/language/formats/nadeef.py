"""NADEEF: a cleaning plan in JSON whose rules are denial constraints, (conditional) dependencies, or code."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from refute.display import in_json
from refute.errors import RuleError
from refute.language.constraint import DenialConstraint
from refute.language.formats.format import Format, FormatError, TableFacts, UnwritableError, book_of, plain_constraint
from refute.language.formats.json_text import is_json_with, read_object
from refute.language.formats.loose import guess
from refute.language.operators import Operator
from refute.language.parsing.parser import parse
from refute.language.predicate import Column, Constant, Predicate, Row, Value
from refute.language.rulebook import ProblemLog, Rule, RuleBook, RuleMistake
from refute.language.rulebook.expand import short_form
from refute.language.short_forms.sugar import FunctionalDependency

_TITLE = "NADEEF JSON"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLES = {Row.S: "t1", Row.T: "t2"}
_ANY = "_"


def read(text: str, table: TableFacts | None = None) -> RuleBook:
    """The rule book of a plan: its rules of type dc, fd and cfd; a rule of another type is code, and an error here."""
    data = read_object(text, _TITLE)
    log = ProblemLog()
    found: list[tuple[str | None, DenialConstraint]] = []
    for number, item in enumerate(data["rule"] if isinstance(data.get("rule"), list) else (), start=1):
        name = str(item["name"]) if isinstance(item, dict) and item.get("name") else None
        try:
            constraints = list(_constraints(item))
        except RuleError as error:
            log.add(f"Rule {name or number!r}: {error}")
            continue
        labels = [""] if len(constraints) == 1 else [f"[{index}]" for index in range(1, len(constraints) + 1)]
        found.extend((name and name + label, item) for label, item in zip(labels, constraints, strict=True))
    rules = [constraint if name is None else Rule(name=name, constraint=constraint) for name, constraint in found]
    for name, uses in Counter(name for name, _ in found if name is not None).items():
        if uses > 1:
            log.add(f"The name {name!r} is used twice.")
    return book_of(rules, log, _TITLE)


def write(book: RuleBook, table: TableFacts | None = None) -> str:
    """The rules as a plan with an empty source and target, which NADEEF's user fills in."""
    problems: list[RuleMistake] = []
    rules: list[dict[str, object]] = []
    for rule in book:
        try:
            kind, value = _spell(plain_constraint(rule))
            rules.append({"name": rule.name, "type": kind, "value": [value]})
        except UnwritableError as error:
            problems.extend(FormatError.cannot_express(rule.name, _TITLE, str(error)).problems)
    if problems:
        raise FormatError(problems)
    plan = {"source": {"type": "csv", "file": []}, "rule": rules}
    return in_json(json.dumps(plan, indent=4, ensure_ascii=False)) + "\n"


def sniff(text: str) -> bool:
    """Whether it is a JSON object with a list under `rule`."""
    return is_json_with(text, "rule")


def _constraints(item: Any) -> Iterator[DenialConstraint]:
    if not isinstance(item, dict):
        raise RuleError("Expected an object with type and value.")
    kind = item["type"][0] if isinstance(item.get("type"), list) and item["type"] else item.get("type")
    value = item.get("value")
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(line, str) for line in values):
        raise RuleError("Its value must be a text or a list of texts.", expected="a text or a list of texts")
    match kind:
        case "dc":
            yield from (parse(line) for line in values)
        case "fd":
            for line in values:
                yield from FunctionalDependency(*_sides(line)).constraints()
        case "cfd":
            left, right = _sides(values[0])
            for line in values[1:]:
                yield from _conditional(left, right, line)
        case _:
            raise RuleError(
                f"{kind!r} rules are not constraints and cannot be converted; dc, fd and cfd rules can.", type=kind
            )


def _sides(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sides = [tuple(name.strip() for name in side.split(",")) for side in line.split("|")]
    if len(sides) != 2 or not all(name for side in sides for name in side):
        raise RuleError(f"Expected columns as in 'zip | city, state', but found {line!r}.", text=line)
    return sides[0], sides[1]


def _conditional(left: tuple[str, ...], right: tuple[str, ...], line: str) -> Iterator[DenialConstraint]:
    """The constraints of one pattern of a conditional dependency: `_` is any value, all else is a constant."""
    pattern = [part.strip() for part in line.split(",")]
    if len(pattern) != len(left) + len(right):
        raise RuleError(
            f"The pattern {line!r} has {len(pattern)} values for {len(left) + len(right)} columns.",
            text=line,
            count=len(pattern),
            expected=len(left) + len(right),
        )
    conditions = [
        _fixed(name, Operator.EQ, guess(value)) for name, value in zip(left, pattern, strict=False) if value != _ANY
    ]
    for name, value in zip(right, pattern[len(left) :], strict=True):
        if value != _ANY:
            yield DenialConstraint((*conditions, _fixed(name, Operator.NE, guess(value))))
        else:
            (dependency,) = FunctionalDependency(left, (name,)).constraints()
            yield DenialConstraint((*conditions, *dependency.predicates))


def _fixed(name: str, op: Operator, value: Value) -> Predicate:
    return Predicate.of(Column(Row.S, name), op, Constant(value))


def _spell(constraint: DenialConstraint) -> tuple[str, str]:
    sugar = short_form(constraint)
    if isinstance(sugar, FunctionalDependency) and sugar.left:
        return "fd", f"{', '.join(map(_column_name, sugar.left))} | {_column_name(sugar.right[0])}"
    return "dc", f"not({'&'.join(map(_comparison, constraint.predicates))})"


def _comparison(item: Predicate) -> str:
    return f"{_operand(item.left)}{item.op.symbol}{_operand(item.right)}"


def _operand(operand: Column | Constant) -> str:
    if isinstance(operand, Column):
        return f"{_VARIABLES[operand.row]}.{_column_name(operand.name)}"
    value = operand.value
    if isinstance(value, str) and "'" not in value:
        return f"'{value}'"
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or Constant(guess(str(value))) != operand:
        raise UnwritableError(
            f"Constants must be plain numbers or text without quotes, and {value!r} is neither.", value=value
        )
    return str(value)


def _column_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UnwritableError(f"The column {name!r} is not made of letters, digits and underscores.", column=name)
    return name


FORMAT = Format("nadeef", _TITLE, sniff, read, write)
