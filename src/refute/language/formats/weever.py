"""Weever: a JSON configuration whose constraints number their columns; a header gives the numbers their names."""

from __future__ import annotations

import json
from typing import Any

from refute.display import in_json
from refute.errors import RuleError, did_you_mean
from refute.faults import unknown_operator
from refute.language.constraint import DenialConstraint
from refute.language.formats.format import Format, FormatError, TableFacts, UnwritableError, book_of, plain_constraint
from refute.language.formats.json_text import is_json_with, read_object
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Row
from refute.language.rulebook import Dataset, ProblemLog, RuleBook, RuleMistake

_NAMES = {
    Operator.EQ: "EQUAL",
    Operator.NE: "UNEQUAL",
    Operator.LT: "LESS",
    Operator.LE: "LESS_EQUAL",
    Operator.GT: "GREATER",
    Operator.GE: "GREATER_EQUAL",
}
_OPERATORS = {name: operator for operator, name in _NAMES.items()}
_TITLE = "Weever JSON"
_SETTINGS: dict[str, object] = {
    "csvPath": "",
    "maxRows": 0,
    "tIdSetType": "RoaringBitSet",
    "measureMemory": False,
    "parallel": False,
    "sortOrder": "selectivityOnly",
    "inverseSorting": False,
    "combinePrefix": True,
    "storeViolations": True,
    "runId": 0,
    "experimentName": "",
    "dbName": "",
    "measureGranularity": 1000,
}


def read(text: str, table: TableFacts | None = None) -> RuleBook:
    """The rule book of a Weever configuration; names come from `table`, else from a `header` list in the JSON."""
    data = read_object(text, _TITLE)
    wrong = [key for key in ("constraints", "keyColumns", "header") if not isinstance(data.get(key, []), list)]
    if wrong or "constraints" not in data:
        raise FormatError(
            [RuleMistake(f"This is not {_TITLE}: Expected a list under {' and '.join(wrong) or 'constraints'}.")]
        )
    names = (table.columns if table is not None else ()) or tuple(map(str, data.get("header", ())))
    if not names:
        message = "Its columns are numbers. Give the header of the table (--header a,b,c or --header table.csv)."
        raise FormatError([RuleMistake(message)])
    log = ProblemLog()
    constraints = []
    for number, items in enumerate(data["constraints"], start=1):
        try:
            constraints.append(_constraint(items, names))
        except RuleError as error:
            log.add(f"Constraint {number}: {error}")
    key: tuple[str, ...] = ()
    try:
        key = tuple(_name(index, names) for index in data.get("keyColumns", ()))
    except RuleError as error:
        log.add(f"keyColumns: {error}")
    book = book_of(constraints, log, _TITLE)
    return RuleBook(book.rules, book.entries, Dataset(key=key))


def write(book: RuleBook, table: TableFacts | None = None) -> str:
    """The rules as a Weever configuration, with the header beside; without a given header the used columns are it."""
    used = dict.fromkeys((*book.dataset.key, *(name for rule in book for name in rule.constraint.columns)))
    names = (table.columns if table is not None else ()) or tuple(used)
    problems: list[RuleMistake] = []
    constraints: list[list[dict[str, object]]] = []
    for rule in book:
        try:
            constraints.append([_comparison(item, names) for item in plain_constraint(rule).predicates])
        except UnwritableError as error:
            problems.extend(FormatError.cannot_express(rule.name, _TITLE, str(error)).problems)
    missing = [name for name in book.dataset.key if name not in names]
    problems.extend(RuleMistake(f"The key column {name!r} is not in the header.") for name in missing)
    if problems:
        raise FormatError(problems)
    settings = {
        **_SETTINGS,
        "header": list(names),
        "types": _types(book, names, table),
        "keyColumns": [names.index(name) for name in book.dataset.key],
        "constraints": constraints,
        "predicateOrder": [],
    }
    return in_json(json.dumps(settings, indent=2, ensure_ascii=False)) + "\n"


def sniff(text: str) -> bool:
    """Whether it is a JSON object with `constraints`."""
    return is_json_with(text, "constraints")


def _constraint(items: object, names: tuple[str, ...]) -> DenialConstraint:
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        raise RuleError("Expected a list of predicates with colIdx1, colIdx2 and op.")
    return DenialConstraint(tuple(_predicate(item, names) for item in items))


def _predicate(item: dict[str, Any], names: tuple[str, ...]) -> Predicate:
    missing = [key for key in ("colIdx1", "colIdx2", "op") if key not in item]
    if missing:
        raise RuleError(f"A predicate lacks {' and '.join(missing)}.", expected=tuple(missing))
    operator = _OPERATORS.get(str(item["op"]))
    if operator is None:
        raise unknown_operator(str(item["op"]), _OPERATORS)
    left, right = (_name(item[key], names) for key in ("colIdx1", "colIdx2"))
    return Predicate.of(Column(Row.S, left), operator, Column(Row.T, right))


def _name(index: object, names: tuple[str, ...]) -> str:
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(names):
        raise RuleError(
            f"There is no column {index!r}: the header has {len(names)}, numbered from 0.",
            column=index,
            count=len(names),
        )
    return names[index]


def _comparison(item: Predicate, names: tuple[str, ...]) -> dict[str, object]:
    if not item.is_two_row or not isinstance(item.right, Column):
        raise UnwritableError("It has a predicate about one row, and this format compares two rows only.")
    for column in item.columns:
        if column.name not in names:
            raise UnwritableError(
                f"The column {column.name!r} is not in the header.{did_you_mean(column.name, names)}",
                column=column.name,
                known=tuple(names),
            )
    return {"colIdx1": names.index(item.left.name), "colIdx2": names.index(item.right.name), "op": _NAMES[item.op]}


def _types(book: RuleBook, names: tuple[str, ...], table: TableFacts | None) -> list[str]:
    """A type per column: as the header says, else FLOAT where a rule needs an order, else STRING."""
    ordered = {
        column.name
        for rule in book
        for item in rule.constraint.predicates
        if item.op.is_order
        for column in item.columns
    }
    given = dict(zip(table.columns, table.types, strict=False)) if table is not None else {}
    return [given.get(name) or ("FLOAT" if name in ordered else "STRING") for name in names]


FORMAT = Format("weever", _TITLE, sniff, read, write)
