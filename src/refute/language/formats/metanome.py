"""What Hydra, DCFinder, FACET and IncDC print: `¬(t0.Zip(String) == t1.Zip(String) ^ ...)` and `[DC: ...  ... ]`."""

from __future__ import annotations

import re

from refute.language.constraint import DenialConstraint
from refute.language.formats.format import Format, TableFacts, lines_of, read_each_line, write_each_line
from refute.language.formats.loose import check_name, read_constraint, spell
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Row
from refute.language.rulebook import RuleBook

_SYMBOLS = {Operator.EQ: "==", Operator.NE: "<>"}
_VARIABLES = {Row.S: "t0", Row.T: "t1"}


def read(text: str, table: TableFacts | None = None) -> RuleBook:
    """The rule book of constraints as discovery tools around Metanome print them, one per line."""
    return read_each_line(text, FORMAT.title, read_constraint)


def write(book: RuleBook, table: TableFacts | None = None) -> str:
    """The rules as `¬(t0.A == t1.A ^ ...)`, one per line, without types; names of rules are not kept."""
    return write_each_line(book, FORMAT.title, _line)


def sniff(text: str) -> bool:
    """Whether the first rule is a `[DC: ...]` or a negation over rows that are named neither `s` nor by text."""
    first = next(lines_of(text), (0, ""))[1]
    return re.match(r"\[DC:|(¬|!|not)\s*[({\[]\s*t[x012]\.", first) is not None


def _line(constraint: DenialConstraint) -> str:
    comparisons = (
        f"{_spell(item.left)} {_SYMBOLS.get(item.op, item.op.symbol)} {_spell(item.right)}"
        for item in constraint.predicates
    )
    return f"¬({' ^ '.join(comparisons)})"


def _spell(operand: Column | Constant) -> str:
    if isinstance(operand, Column):
        return f"{_VARIABLES[operand.row]}.{check_name(operand.name)}"
    if isinstance(operand.value, str):
        return "'" + operand.value.replace("'", "''") + "'"
    return spell(operand.value)


FORMAT = Format("metanome", "Metanome (Hydra, DCFinder, IncDC)", sniff, read, write)
