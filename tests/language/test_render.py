"""Renderings against `renderings.txt`: a rule, then what it must become in each notation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from language.rules import short_form
from refute.language.conditions import Condition
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.parsing.parser import parse, parse_condition
from refute.language.render import Dialect, SqlWriter, render_english, render_logic, render_text
from refute.language.rulebook import Rule

FIXTURES = Path(__file__).parent / "renderings.txt"
ANSI = SqlWriter(table="orders")
SPARK = SqlWriter(table=("db", "orders"), dialect=Dialect.SPARK)


def _asked(
    query: Callable[[Rule], str], nulls: Nulls = Nulls.SQL, where: Condition | None = None
) -> Callable[[DenialConstraint], str]:
    return lambda constraint: query(Rule(name="rule", constraint=constraint, nulls=nulls, where=where))


NOTATIONS: dict[str, Callable[[DenialConstraint], str]] = {
    "text": render_text,
    "rule": short_form,
    "logic": render_logic,
    "english": render_english,
    "ansi count": _asked(ANSI.count_query),
    "ansi list": _asked(ANSI.list_query),
    "ansi keyed list": _asked(SqlWriter(table="orders", key=("id", "line")).list_query),
    "ansi nulls equal count": _asked(ANSI.count_query, nulls=Nulls.EQUAL),
    "ansi floats count": _asked(SqlWriter(table="orders", floats=("x",)).count_query),
    "ansi where count": _asked(ANSI.count_query, where=parse_condition("x > 0 and (y is null or not y = 'n')")),
    "spark count": _asked(SPARK.count_query),
    "spark list": _asked(SPARK.list_query),
    "spark nulls equal count": _asked(SqlWriter(table="orders", dialect=Dialect.SPARK).count_query, nulls=Nulls.EQUAL),
    "spark floats count": _asked(SqlWriter(table="orders", dialect=Dialect.SPARK, floats=("x",)).count_query),
}


def cases() -> Iterator[tuple[str, str, str]]:
    """(rule, notation, expected). A block starts with the rule; `notation:` goes before lines that start with `|`."""
    for block in FIXTURES.read_text(encoding="utf-8").strip().split("\n\n"):
        rule, *lines = [line for line in block.splitlines() if not line.startswith("#")]
        notation, expected = "", []
        for line in (*lines, "end:"):
            if line.startswith("|"):
                expected.append(line[2:])
                continue
            if notation:
                yield rule, notation, "\n".join(expected)
            notation, expected = line.removesuffix(":"), []


@pytest.mark.parametrize(("rule", "notation", "expected"), list(cases()))
def test_a_rule_is_rendered_as_written_down(rule: str, notation: str, expected: str) -> None:
    assert NOTATIONS[notation](parse(rule)) == expected


def test_every_notation_has_an_example() -> None:
    assert {notation for _, notation, _ in cases()} == set(NOTATIONS)
