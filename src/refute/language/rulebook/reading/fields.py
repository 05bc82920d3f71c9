"""The keys of a rule file: for each its meaning, its JSON schema and how it is read. Loader and schema share them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from refute.errors import RuleError, did_you_mean
from refute.language.nulls import Nulls
from refute.language.parsing.parser import RuleKind
from refute.language.predicate import Constant
from refute.language.render.text import quote_bare
from refute.language.rulebook.expand import join_names, source_of
from refute.language.rulebook.reading.nodes import BookNode
from refute.language.rulebook.reading.problems import ProblemLog
from refute.language.rulebook.rule import Severity, Status
from refute.language.rulebook.tolerance import Limit, Tolerance
from refute.language.short_forms.column_rules import AllowedValues, Patterns

VERSION = 1
MOST_CHOICES = 1000  # values of a list; beyond, a file of them is easier to keep


@dataclass(frozen=True, slots=True)
class Field:
    """One key. `read` turns its node into a value, and raises a `RuleError` that says what would be right."""

    key: str
    doc: str
    schema: Mapping[str, object]
    read: Callable[[BookNode, ProblemLog], object]


def read_mapping(
    node: BookNode, fields: tuple[Field, ...], log: ProblemLog, owner: str, *, inner: ProblemLog | None = None
) -> dict[str, object]:
    """The values of a mapping by key. Unknown keys and values that cannot be read are noted and left out.

    Mappings inside it note their problems in `inner`, where one is given.
    """
    if not isinstance(node.value, dict):
        log.add(f"{owner} must be a mapping of keys to values, not {node.kind}.", node.line)
        return {}
    known = {field.key: field for field in fields}
    values: dict[str, object] = {}
    for key, child in node.items.items():
        if key not in known:
            hint = did_you_mean(key, known) or f" The keys are {', '.join(known)}."
            log.add(f"{owner} has an unknown key {key!r}.{hint}", node.line_of(key))
            continue
        try:
            values[key] = known[key].read(child, log if inner is None else inner)
        except RuleError as error:
            log.add(f"{owner}: {key}: {error}", node.line_of(key))
    return values


def _text(node: BookNode, log: ProblemLog) -> str:
    if not isinstance(node.value, str):
        hint = " Put it in quotes." if isinstance(node.value, bool | int | float | dt.date) else ""
        raise RuleError(f"Expected text, not {node.kind}.{hint}", type=node.kind, expected="text")
    if not node.value.strip():
        raise RuleError("The text is empty.")
    return node.value


def _texts(node: BookNode, log: ProblemLog) -> tuple[str, ...]:
    if isinstance(node.value, list):
        if not node.value:
            raise RuleError("The list is empty.")
        return tuple(_text(element, log) for element in node.elements)
    return (_text(node, log),)


def _text_or_names(node: BookNode, log: ProblemLog) -> str:
    return join_names(_texts(node, log)) if isinstance(node.value, list) else _text(node, log)


def _patterns(node: BookNode, log: ProblemLog) -> str:
    if isinstance(node.value, str):
        return _text(node, log)
    columns = _columns(node, "a regular expression", "{zip: '[0-9]{5}'}")
    found = []
    for name, child in columns.items():
        if not isinstance(child.value, str):
            raise RuleError(
                f"Expected a regular expression for {name!r}, not {child.kind}. Put it in quotes.",
                column=name,
                type=child.kind,
            )
        found.append((name, child.value))
    return source_of(Patterns(tuple(found)))


def _choices(node: BookNode, log: ProblemLog) -> str:
    if isinstance(node.value, str):
        return _text(node, log)
    columns = _columns(node, "a list of values", "{status: [open, closed]}")
    found = []
    for name, child in columns.items():
        if not child.elements:
            raise RuleError(
                f"Expected a list of values for {name!r}, as in {{status: [open, closed]}}, not {child.kind}.",
                column=name,
                type=child.kind,
            )
        if len(child.elements) > MOST_CHOICES:
            raise RuleError(
                f"{name!r} has {len(child.elements):,} values, and a rule may list at most {MOST_CHOICES:,}. Put them "
                "into a file, and name that by `references`.",
                column=name,
                most=MOST_CHOICES,
            )
        found.append((name, tuple(_constant(name, element) for element in child.elements)))
    return source_of(AllowedValues(tuple(found)))


def _constant(name: str, node: BookNode) -> Constant:
    """A value of a list; a number with a point is a decimal, as in the text of a rule."""
    value = node.value
    if value is None:
        raise RuleError(
            f"Null cannot be a value of {name!r}: leave it out. Null passes unless the rule has `nulls: equal`.",
            column=name,
        )
    if isinstance(value, float) and math.isfinite(value):
        value = Decimal(repr(value))
    if not isinstance(value, bool | int | float | str | Decimal | dt.date):
        raise RuleError(f"Expected a value for {name!r}, not {node.kind}.", column=name, type=node.kind)
    return Constant(value)


def _references(node: BookNode, log: ProblemLog) -> str:
    if isinstance(node.value, dict):
        found = _columns(node, "a column of another table", "{customer: customers.csv(id)}")
        return "; ".join(f"{quote_bare(name)} -> {_text(child, log)}" for name, child in found.items())
    return "; ".join(_texts(node, log))


def _columns(node: BookNode, what: str, example: str) -> dict[str, BookNode]:
    if not node.items:
        raise RuleError(f"Expected columns, each with {what}, as in {example}, not {node.kind}.", type=node.kind)
    return node.items


def _choice(choices: type[Enum]) -> Callable[[BookNode, ProblemLog], Enum]:
    names = [str(choice.value) for choice in choices]

    def read(node: BookNode, log: ProblemLog) -> Enum:
        if node.value in names:
            return choices(node.value)
        hint = did_you_mean(node.value, names) if isinstance(node.value, str) else ""
        raise RuleError(f"Expected {' or '.join(names)}, not {node.kind}.{hint}", type=node.kind, expected=tuple(names))

    return read


def _version(node: BookNode, log: ProblemLog) -> int:
    if node.value != VERSION or isinstance(node.value, bool):
        raise RuleError(
            f"This version of Refute reads format version {VERSION}, not {node.kind}.",
            value=node.kind,
            expected=VERSION,
        )
    return VERSION


def _limit(node: BookNode, log: ProblemLog) -> Limit:
    return Limit.of(node.value)


def _tolerance(node: BookNode, log: ProblemLog) -> Tolerance:
    if not isinstance(node.value, dict):
        raise RuleError(
            f"Expected rows, suspects or violations, as in {{rows: 0.1%}}, not {node.kind}.",
            type=node.kind,
            expected=("rows", "suspects", "violations"),
        )
    values = read_mapping(node, TOLERANCE_FIELDS, log, "tolerance")
    if not node.items:
        raise RuleError("It sets no limit: give rows, suspects or violations, as in {rows: 0.1%}.")
    return Tolerance.of(**values)


def _dataset(node: BookNode, log: ProblemLog) -> dict[str, object]:
    return read_mapping(node, DATASET_FIELDS, log, "dataset")


def _rules(node: BookNode, log: ProblemLog) -> list[BookNode]:
    if not isinstance(node.value, list):
        raise RuleError(f"Expected a list of rules, not {node.kind}.", type=node.kind, expected="a list of rules")
    return node.elements


def _enum_schema(choices: type[Enum]) -> dict[str, object]:
    return {"enum": [choice.value for choice in choices]}


_TEXT: dict[str, object] = {"type": "string", "pattern": r"\S"}
_NAME_LIST: dict[str, object] = {"type": "array", "items": _TEXT, "minItems": 1}
_TEXT_OR_LIST: dict[str, object] = {"anyOf": [_TEXT, _NAME_LIST]}
_VALUES: dict[str, object] = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_CHOICES,
    "items": {"type": ["string", "number", "boolean"]},
}
_LIMIT: dict[str, object] = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": r"^\s*(\d+|(\d+(\.\d+)?|\.\d+)\s*%)\s*$"},
    ]
}

TOLERANCE_FIELDS = (
    Field(
        "rows",
        "How many rows may be part of a violation: a number, or a share of all rows such as 0.1%.",
        _LIMIT,
        _limit,
    ),
    Field(
        "suspects",
        "How many rows may be to blame, counted for this rule alone: a number, or a share of all rows such as 0.1%.",
        _LIMIT,
        _limit,
    ),
    Field(
        "violations",
        "How many violations there may be: a number, or a share of all ordered pairs (of all rows, for a row rule).",
        _LIMIT,
        _limit,
    ),
)
DATASET_FIELDS = (
    Field("key", "The columns that identify a row.", _TEXT_OR_LIST, _texts),
    Field(
        "nulls",
        "How nulls compare unless a rule says otherwise: sql (the default) or equal.",
        _enum_schema(Nulls),
        _choice(Nulls),
    ),
)
KIND_FIELDS = (
    Field("dc", "A denial constraint, e.g. not (s.zip = t.zip and s.city != t.city).", _TEXT, _text),
    Field("fd", "A functional dependency, e.g. zip -> city, state.", _TEXT, _text),
    Field("unique", "Columns whose values together are unique.", _TEXT_OR_LIST, _text_or_names),
    Field("order", "Two columns in the same order, e.g. (salary asc, rate asc) by state.", _TEXT, _text),
    Field("no_overlap", "Intervals that do not overlap, e.g. (from, to) by room.", _TEXT, _text),
    Field("row", "A condition that every row must satisfy, e.g. qty >= 0.", _TEXT, _text),
    Field("not_null", "Columns that are never null.", _TEXT_OR_LIST, _text_or_names),
    Field(
        "matches",
        "For each column a regular expression (RE2) that its whole values match, e.g. {zip: '[0-9]{5}'}.",
        {"anyOf": [_TEXT, {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}]},
        _patterns,
    ),
    Field(
        "one_of",
        "For each column the values that it may have, e.g. {status: [open, closed]}.",
        {"anyOf": [_TEXT, {"type": "object", "minProperties": 1, "additionalProperties": _VALUES}]},
        _choices,
    ),
    Field(
        "references",
        "Columns whose values another table has, e.g. customer_id -> customers.csv(id).",
        {"anyOf": [_TEXT, _NAME_LIST, {"type": "object", "minProperties": 1, "additionalProperties": _TEXT}]},
        _references,
    ),
)
RULE_FIELDS = (
    Field("name", "The name of the rule, unique in the file.", _TEXT, _text),
    *KIND_FIELDS,
    Field(
        "severity",
        "How severe a violation is: error (the default) fails a run, warn does not.",
        _enum_schema(Severity),
        _choice(Severity),
    ),
    Field(
        "tolerance",
        "How many violations are allowed before the rule fails.",
        {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": {}},
        _tolerance,
    ),
    Field("nulls", "How nulls compare: sql or equal.", _enum_schema(Nulls), _choice(Nulls)),
    Field("where", "Which rows the rule applies to, e.g. country = 'DE'.", _TEXT, _text),
    Field("description", "What the rule says, for people.", _TEXT, _text),
    Field("tags", "Words to group rules by.", _TEXT_OR_LIST, _texts),
    Field(
        "status",
        "Whether the rule is active (the default), or proposed until somebody accepts it: then it only warns.",
        _enum_schema(Status),
        _choice(Status),
    ),
)
BOOK_FIELDS = (
    Field("version", "The version of this file format.", {"const": VERSION}, _version),
    Field(
        "dataset",
        "Settings for the whole table.",
        {"type": "object", "additionalProperties": False, "properties": {}},
        _dataset,
    ),
    Field("rules", "The rules.", {"type": "array", "minItems": 1}, _rules),
)

assert [field.key for field in KIND_FIELDS] == [kind.value for kind in RuleKind]
