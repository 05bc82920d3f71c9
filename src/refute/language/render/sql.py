"""Rules as SQL queries that count or list violations, for Spark and for databases that follow the standard.

The queries mean what the rule means: ordered pairs of distinct rows, either null mode, NaN as null in the columns that
`floats` names. Two things are the database's own: text is compared by its collation (Spark: code points, as Refute
does), and types that do not compare are its errors.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from refute.errors import RuleError
from refute.language.arithmetic import Number, Span, Unit, formula_of, spelled
from refute.language.conditions import And, Compare, Condition, InTable, IsNull, Matches, Not, Or
from refute.language.form import Form
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Value
from refute.language.render.text import render_condition

if TYPE_CHECKING:
    from refute.language.rulebook import Rule


class Dialect(Enum):
    """A kind of SQL."""

    SPARK = "spark"
    ANSI = "ansi"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlWriter:
    """Writes queries over one table.

    `table` is a name, or its parts (schema and name). `key` names the columns that identify rows; without it, and for a
    rule that asks for rows with one key, listings number the rows. `floats` names the columns that may hold NaN, which
    counts as null.
    """

    table: str | tuple[str, ...]
    dialect: Dialect = Dialect.ANSI
    key: tuple[str, ...] = ()
    floats: Collection[str] = ()

    def count_query(self, rule: Rule) -> str:
        """A query that gives one number: how many violations there are. Needs no key."""
        source = self._source(self._table(), rule.where)
        if rule.constraint.is_single_row:
            return f"SELECT COUNT(*) AS violations\nFROM {source} AS s\nWHERE {self._all(rule)}"
        pairs = f"FROM {source} AS s\nJOIN {source} AS t\n  ON {self._all(rule)}"
        if not Form.of(rule).self_pairs:
            return f"SELECT COUNT(*) AS violations\n{pairs}"
        # A row is not its own partner: subtract the rows that satisfy the rule with themselves.
        return (
            f"SELECT (SELECT COUNT(*)\n{pairs})\n"
            f"     - (SELECT COUNT(*)\nFROM {source} AS s\nWHERE {self._all(rule, alias='s')}) AS violations"
        )

    def list_query(self, rule: Rule) -> str:
        """A query that gives one line for each violation: the key of `s`, and that of `t` in a rule about two rows."""
        constraint = rule.constraint
        number = _fresh("refute_row", (*constraint.columns, *self.key))
        numbered = not self.key or _equates(rule, self.key)
        key, telling = self.key or (number,), (number,) if numbered else self.key
        head = (
            f"WITH numbered AS (SELECT *, {self._row_number()} AS {self._name(number)} FROM {self._table()})\n"
            if numbered
            else ""
        )
        source = self._source("numbered" if numbered else self._table(), rule.where)
        shown = ", ".join(
            f"{row.value}.{self._name(name)} AS {self._name(f'{row.value}_{name}')}"
            for row in sorted(constraint.rows, key=lambda row: row.value)
            for name in key
        )
        if constraint.is_single_row:
            return f"{head}SELECT {shown}\nFROM {source} AS s\nWHERE {self._all(rule)}"
        apart = ""
        if Form.of(rule).self_pairs:
            same = " AND ".join(f"s.{self._name(name)} = t.{self._name(name)}" for name in telling)
            apart = f"\n AND NOT ({same})"
        return f"{head}SELECT {shown}\nFROM {source} AS s\nJOIN {source} AS t\n  ON {self._all(rule)}{apart}"

    def _all(self, rule: Rule, alias: str | None = None) -> str:
        return "\n AND ".join(self._predicate(predicate, rule.nulls, alias) for predicate in rule.constraint.predicates)

    def _predicate(self, predicate: Predicate, nulls: Nulls, alias: str | None) -> str:
        left = self._column(predicate.left, alias)
        right = predicate.right
        other = self._column(right, alias) if isinstance(right, Column) else self._literal(right.value)
        if nulls.reads(predicate.op):
            return self._null_safe(left, other, negated=not nulls.holds(predicate.op, both=True))
        return f"{left} {_SYMBOLS.get(predicate.op, predicate.op.symbol)} {other}"

    def _null_safe(self, left: str, right: str, *, negated: bool) -> str:
        if self.dialect is Dialect.SPARK:
            return f"NOT ({left} <=> {right})" if negated else f"{left} <=> {right}"
        return f"{left} IS {'' if negated else 'NOT '}DISTINCT FROM {right}"

    def _condition(self, condition: Condition) -> str:
        """Comparisons of a condition follow SQL in either null mode."""
        match condition:
            case Compare(predicate):
                right = predicate.right
                other = self._value_of(right.name) if isinstance(right, Column) else self._literal(right.value)
                return (
                    f"{self._value_of(predicate.left.name)} {_SYMBOLS.get(predicate.op, predicate.op.symbol)} {other}"
                )
            case IsNull(name, negated):
                return f"{self._value_of(name)} IS {'NOT ' if negated else ''}NULL"
            case Matches() | InTable():
                raise RuleError(_UNSAID[type(condition)], value=render_condition(condition))
            case Not(part):
                return f"NOT ({self._condition(part)})"
            case And(parts):
                return " AND ".join(f"({self._condition(part)})" for part in parts)
            case Or(parts):
                return " OR ".join(f"({self._condition(part)})" for part in parts)

    def _source(self, table: str, where: Condition | None) -> str:
        return table if where is None else f"(SELECT * FROM {table} WHERE {self._condition(where)})"

    def _table(self) -> str:
        parts = (self.table,) if isinstance(self.table, str) else self.table
        return ".".join(self._name(part) for part in parts)

    def _column(self, column: Column, alias: str | None) -> str:
        return self._value_of(column.name, f"{alias or column.row.value}.")

    def _value_of(self, name: str, prefix: str = "") -> str:
        formula = formula_of(name)
        if formula is not None:
            return f"({spelled(formula, lambda source: self._value_of(source, prefix), self._part)})"
        written = f"{prefix}{self._name(name)}"
        if name not in self.floats:
            return written
        return f"nanvl({written}, NULL)" if self.dialect is Dialect.SPARK else f"NULLIF({written}, 'NaN')"

    def _part(self, part: Number | Span) -> str:
        """A number or a length of time; without brackets around a sign, two of them would begin a comment."""
        if isinstance(part, Span):
            length = part.in_days if part.unit is Unit.WEEK else part
            return f"INTERVAL '{length.count}' {length.unit.name}"
        written = self._literal(part.value)
        return f"({written})" if written.startswith("-") else written

    def _name(self, name: str) -> str:
        mark = "`" if self.dialect is Dialect.SPARK else '"'
        return f"{mark}{name.replace(mark, mark * 2)}{mark}"

    def _row_number(self) -> str:
        return "monotonically_increasing_id()" if self.dialect is Dialect.SPARK else "ROW_NUMBER() OVER ()"

    def _literal(self, value: Value) -> str:
        spark = self.dialect is Dialect.SPARK
        match value:
            case bool():
                return "TRUE" if value else "FALSE"
            case int():
                return str(value)
            case float():
                if math.isinf(value):
                    name = "Infinity" if value > 0 else "-Infinity"
                    return f"double('{name}')" if spark else f"CAST('{name}' AS DOUBLE PRECISION)"
                written = repr(value).upper()
                return written if "E" in written else f"{written}E0"
            case Decimal():
                return format(value, "f")
            case str():
                if spark:
                    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
                return "'" + value.replace("'", "''") + "'"
            case dt.datetime():
                zoned = value.tzinfo is not None
                kind = (
                    ("TIMESTAMP" if zoned else "TIMESTAMP_NTZ")
                    if spark
                    else f"TIMESTAMP{' WITH TIME ZONE' if zoned else ''}"
                )
                return f"{kind} '{value.isoformat(' ')}'"
            case dt.date():
                return f"DATE '{value.isoformat()}'"


_SYMBOLS = {Operator.NE: "<>"}
_UNSAID = {
    Matches: "Databases differ in what their regular expressions mean.",
    InTable: "It reads another table, which the database may not have.",
}


def _equates(rule: Rule, key: Collection[str]) -> bool:
    """Whether a rule is about rows with one key, which the key then does not tell apart."""
    if rule.constraint.is_single_row:
        return False
    plain = [one for one in Form.of(rule).equal if not one.is_cross_column]
    return set(key) <= {one.left.name for one in plain}


def _fresh(name: str, taken: Collection[str]) -> str:
    """A name that no column has."""
    while name in taken:
        name += "_"
    return name
