"""Rules as tests of dbt: rendered by Jinja as dbt does it, they list as many rows as there are violations."""

from __future__ import annotations

import re

import duckdb
import jinja2
import pyarrow as pa
import pytest

import refute as rf
from refute.language.formats import FormatError, write_rules
from refute.language.rulebook import RuleBook

TABLE = pa.table(
    {
        "id": [1, 2, 3, 4],
        "zip": ["94110", "94110", "94612", None],
        "city": ["San Francisco", "Oakland", "{{ model }} {% endtest %} {#", "Oakland"],
        "qty": [1, 2, 2, 5],
    }
)
BLOCK = re.compile(r"^\{% test (\w+)\(model\) %\}\n(.*?)^\{% endtest %\}$", re.MULTILINE | re.DOTALL)


def counted(text: str) -> dict[str, tuple[int, dict[str, str]]]:
    """The number of rows that each test lists, and what it sets."""
    found = {}
    connection = duckdb.connect()
    connection.register("shop", TABLE)
    for name, body in BLOCK.findall(text):
        given: dict[str, str] = {}
        query = jinja2.Template(body).render(model="shop", config=lambda given=given, **kept: given.update(kept) or "")
        found[name] = (len(connection.execute(query).fetchall()), given)
    return found


@pytest.mark.parametrize("key", [["id"], []])
def test_a_test_lists_every_violation(key: list[str]) -> None:
    rules = [
        {"name": "zip -> city", "fd": "zip -> city", "severity": "warn"},
        {"name": "order", "dc": "not (s.qty >= t.qty and s.city = t.city)", "tolerance": {"violations": 3}},
        {"name": "odd", "row": "city != '{{ model }} {% endtest %} {#'", "description": "#} {# {{ 1 / 0 }}"},
        {"name": "Odd", "row": "qty < 5", "where": "zip is null", "nulls": "equal"},
    ]
    book = RuleBook.of(
        {"version": 1, "dataset": {"key": key}, "rules": rules} if key else {"version": 1, "rules": rules}
    )
    counts = [rf.count(TABLE, rule) for rule in book]
    assert counts == [2, 1, 1, 1]
    assert counted(write_rules(book, "dbt")) == {
        "refute_zip_city": (2, {"severity": "warn"}),
        "refute_order": (1, {"severity": "error", "error_if": ">3", "warn_if": ">3"}),
        "refute_odd": (1, {"severity": "error"}),
        "refute_odd_": (1, {"severity": "error"}),
    }


@pytest.mark.parametrize("tolerance", [{"rows": 1}, {"rows": "1%"}, {"violations": "1%"}])
def test_limits_that_dbt_lacks_are_an_error(tolerance: dict[str, object]) -> None:
    book = RuleBook.of({"version": 1, "rules": [{"name": "a", "unique": "id", "tolerance": tolerance}]})
    with pytest.raises(FormatError, match=r"Rule 'a' cannot be written as dbt: dbt has limits on the number"):
        write_rules(book, "dbt")
