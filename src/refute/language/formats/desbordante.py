"""Desbordante: `!(s.State == t.State and s.Rate > t.Rate)`; names and constants stand without quotes."""

from __future__ import annotations

from refute.errors import RuleError
from refute.language.constraint import DenialConstraint
from refute.language.formats.format import (
    Format,
    TableFacts,
    UnwritableError,
    lines_of,
    read_each_line,
    write_each_line,
)
from refute.language.formats.loose import check_name, check_text, guess, read_constraint, spell
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate
from refute.language.rulebook import RuleBook


def read(text: str, table: TableFacts | None = None) -> RuleBook:
    """The rule book of constraints as Desbordante verifies (`!(...)`) or mines (`¬{ ... }`) them, one per line.

    Columns may be numbers, from 0 on, where `table` has the header that gives them their names.
    """
    names = table.columns if table is not None else ()

    def read_line(line: str) -> DenialConstraint:
        found = read_constraint(line, escapes=True, quotes=False)
        return found if not names else DenialConstraint(tuple(_named(item, names) for item in found.predicates))

    return read_each_line(text, FORMAT.title, read_line)


def write(book: RuleBook, table: TableFacts | None = None) -> str:
    """The rules as Desbordante's verifier takes them, one per line; names of rules are not kept."""
    return write_each_line(book, FORMAT.title, _line)


def sniff(text: str) -> bool:
    """Whether the first rule is a negation over rows named `s` and `t` and written with `!` or in curly brackets."""
    first = next(lines_of(text), (0, ""))[1].replace(" ", "")
    return first.startswith(("!(s.", "!(t.", "¬{s.", "¬{t."))


def _named(item: Predicate, names: tuple[str, ...]) -> Predicate:
    """The predicate with numbers of columns replaced by their names; a column that is called `0` is that one."""
    left, right = (
        Column(side.row, _name(side.name, names)) if isinstance(side, Column) else side
        for side in (item.left, item.right)
    )
    return Predicate.of(left, item.op, right)


def _name(written: str, names: tuple[str, ...]) -> str:
    if written in names or not written.isdecimal():
        return written
    if len(written) > len(str(len(names))) or int(written) >= len(names):
        raise RuleError(
            f"There is no column {written}: the header has {len(names)}, numbered from 0.",
            column=written,
            count=len(names),
        )
    return names[int(written)]


def _line(constraint: DenialConstraint) -> str:
    return f"!({' and '.join(map(_comparison, _operands(constraint)))})"


def _operands(constraint: DenialConstraint) -> list[tuple[str, Operator, str]]:
    return [(_spell(item.left), item.op, _spell(item.right)) for item in constraint.predicates]


def _comparison(parts: tuple[str, Operator, str]) -> str:
    left, op, right = parts
    return f"{left} {'==' if op is Operator.EQ else op.symbol} {right}"


def _spell(operand: Column | Constant) -> str:
    if isinstance(operand, Column):
        return f"{operand.row.value}.{check_name(operand.name)}".replace("\\", "\\\\", 1)
    text = spell(operand.value)
    if isinstance(operand.value, str) and isinstance(guess(text), str):
        if text.startswith(("s.", "t.")):
            raise UnwritableError(f"The constant {text!r} would be read as a column.", value=text)
        check_text(text)
    return text


FORMAT = Format("desbordante", "Desbordante", sniff, read, write)
