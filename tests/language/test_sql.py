"""The SQL of a rule gives the oracle's answer when a database runs it."""

from __future__ import annotations

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from oracle import rows_of, violations
from refute.language.conditions import evaluate
from refute.language.nulls import Nulls
from refute.language.parsing.parser import parse, parse_condition
from refute.language.render.sql import SqlWriter
from refute.language.rulebook import Rule
from strategies import KINDS, Case, cases
from thorough import examples

# Types that DuckDB compares exactly with each other; it compares large integers with doubles as doubles.
COMPARABLE = tuple(
    kind
    for kind in KINDS
    if kind.arrow in (pa.int32(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us"))
)


def run(table: pa.Table, query: str) -> list[tuple[int, ...]]:
    """The query's rows, sorted."""
    with duckdb.connect() as connection:
        connection.register("data", table)
        return sorted(connection.execute(query).fetchall())


def writer(table: pa.Table, *, keyed: bool = False) -> SqlWriter:
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    return SqlWriter(table="data", floats=floats, key=("number",) if keyed else ())


def rule_of(case: Case) -> Rule:
    return Rule(name="rule", constraint=case.rule, nulls=Nulls(case.nulls))


def numbered(table: pa.Table) -> pa.Table:
    return table.append_column("number", pa.array(range(table.num_rows), pa.int64()))


@examples(60)
@given(cases(max_rows=8, kinds=COMPARABLE))
def test_the_count_query_gives_the_number_of_violations(case: Case) -> None:
    query = writer(case.table).count_query(rule_of(case))
    assert run(case.table, query) == [(len(violations(case.table, case.rule, case.nulls)),)]


@examples(60)
@given(cases(max_rows=8, kinds=COMPARABLE))
def test_the_list_query_gives_the_violations_by_key(case: Case) -> None:
    table = numbered(case.table)
    query = writer(table, keyed=True).list_query(rule_of(case))
    assert run(table, query) == violations(table, case.rule, case.nulls)


@examples(30)
@given(cases(max_rows=8, kinds=COMPARABLE))
def test_the_list_query_without_a_key_numbers_the_rows(case: Case) -> None:
    found = run(case.table, writer(case.table).list_query(rule_of(case)))
    assert [tuple(row - 1 for row in rows) for rows in found] == violations(case.table, case.rule, case.nulls)


def test_a_rule_about_the_key_itself_lists_rows_that_share_it() -> None:
    table = pa.table({"number": [1, 2, 2, 2, 3], "part": [1, 1, 1, 2, 1]})
    by_number = writer(table, keyed=True)
    by_both = SqlWriter(table="data", key=("number", "part"))
    assert run(table, by_number.list_query(Rule.of("unique(number)"))) == [(2, 2)] * 6
    assert run(table, by_number.list_query(Rule.of("unique(number, part)"))) == [(2, 2)] * 2
    assert run(table, by_both.list_query(Rule.of("unique(part, number)"))) == [(2, 1, 2, 1)] * 2
    assert "numbered" not in by_both.list_query(Rule.of("unique(part)")), "the key tells the rows apart"


@examples(60)
@given(
    st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.floats(0, 2, width=16) | st.just(float("nan")))),
    st.sampled_from(
        ["a > 1", "b is null", "not b > 1 or a = 2", "a in (0, 1) and b is not null", "not (a = 1 and b >= 1)", "a > b"]
    ),
)
def test_a_where_condition_selects_the_rows_for_which_it_is_true(rows: list[tuple[int, float]], text: str) -> None:
    table = numbered(
        pa.table({"a": pa.array([r[0] for r in rows], pa.int64()), "b": pa.array([r[1] for r in rows], pa.float64())})
    )
    where = parse_condition(text)
    rule = Rule(name="rule", constraint=parse("not (s.number >= 0)"), where=where)
    chosen = [(i,) for i, row in enumerate(rows_of(table)) if evaluate(where, row) is True]
    query = SqlWriter(table="data", floats=["b"], key=("number",)).list_query(rule)
    assert run(table, query) == chosen


def test_literals_of_every_type_are_what_a_database_reads() -> None:
    table = pa.table(
        {
            "text": ['it\'s \\ "é"'],
            "real": [float("-inf")],
            "exact": pa.array(["1.50"]).cast(pa.decimal128(9, 2)),
            "day": pa.array(["2020-01-31"]).cast(pa.date32()),
            "moment": pa.array(["2020-01-31 12:00:00.5"]).cast(pa.timestamp("us")),
            "flag": [True],
        }
    )
    rule = Rule.of(
        """not (s.text = 'it''s \\ "é"' and s.real = float '-inf' and s.exact = 1.5 and s.day = date '2020-01-31'
        and s.moment = timestamp '2020-01-31 12:00:00.5' and s.flag = true and s.real < 1e-300)"""
    )
    assert run(table, SqlWriter(table="data").count_query(rule)) == [(1,)]
