"""A space is a value: saved, read again, and given to a search over other rows than those that it was made from."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.brute import check_discovered
from discovery.test_space import OPERATORS, space_of, texts
from discovery.test_tiles import NULLS
from refute.discovery.options import Options, SearchMethod
from refute.discovery.result.discovery import CompleteDiscovery
from refute.discovery.search import discover, search
from refute.discovery.space.saved import space_as_json, space_of_json
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.space.states import kind_of
from refute.discovery.table import LocalTable
from refute.errors import DataError, OptionError
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Row
from refute.relation import Relation
from thorough import examples

NUMBERS = (pa.int64(), pa.float64())


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    """Two tables of one schema; columns hold nulls in one of them, in both or in none."""
    kinds = draw(st.lists(st.sampled_from((*NUMBERS, pa.string())), min_size=1, max_size=2))
    tables = []
    for _ in range(2):
        size, columns = draw(st.integers(2, 6)), {}
        for name, kind in zip("ab", kinds, strict=False):
            cell = st.sampled_from(("x", "y", "z") if kind == pa.string() else (0, 1, 2, 3))
            cells = draw(st.lists(st.none() | cell if draw(st.booleans()) else cell, min_size=size, max_size=size))
            columns[name] = pa.array(cells, kind)
        tables.append(pa.table(columns))
    return tables[0], tables[1]


def search_in(table: pa.Table, options: Options, space: PredicateSpace) -> CompleteDiscovery:
    return search(LocalTable(Relation.of(table)), options, space=space)


@given(two_tables(), NULLS, st.sampled_from(list(SearchMethod)), st.booleans(), st.booleans(), st.data())
@examples(60)
def test_a_space_made_from_other_rows_gives_the_rules_of_its_definition(
    tables: tuple[pa.Table, pa.Table],
    nulls: Nulls,
    method: SearchMethod,
    cross: bool,
    within: bool,
    data: st.DataObject,
) -> None:
    numbers = all(kind in NUMBERS for kind in tables[0].schema.types)
    options = Options(
        nulls=nulls,
        method=method,
        cross_columns=cross,
        one_row=within,
        shared_values=0.0,
        average_ratio=0.0,
        constants=data.draw(st.sampled_from((0, 2))) if numbers else 0,
        constant_share=0.0,
        max_predicates=2,
        threads=1,
    )
    made, used = tables
    space = space_of(made, options)
    found = search_in(used, options, space)
    assert found.space.predicates == space.predicates
    check_discovered([rule.constraint for rule in found.rules], used, space.predicates, nulls.value, 2)
    again = search_in(used, options, space_of_json(json.loads(json.dumps(space_as_json(space)))))
    assert [rule.text for rule in again.rules] == [rule.text for rule in found.rules]
    wider = search_in(used, options, space.widened(used.column_names))
    assert {rule.text for rule in wider.rules} == {rule.text for rule in found.rules}


@pytest.mark.parametrize("nulls", list(Nulls))
def test_a_search_widens_a_space_that_was_made_before_the_first_null(nulls: Nulls) -> None:
    options = Options(cross_columns=False, nulls=nulls)
    first = pa.table({"a": pa.array([1, 2, 2, 3]), "b": pa.array([1, 1, 2, 2])})
    later = pa.concat_tables([first, pa.table({"a": pa.array([None, 3]), "b": pa.array([1, 1])})])
    space = space_of(first, options)
    assert search_in(later, options, space).space == space.widened({"a"}) == space_of(later, options)
    assert texts(later, options, space) == texts(later, options)
    given_by_name = discover(later, space=space, cross_columns=False, nulls=nulls)
    assert [rule.text for rule in given_by_name.rules] == texts(later, options)


def test_a_column_may_lose_all_its_values_and_its_type() -> None:
    options = Options(shared_values=0.0, average_ratio=0.0, one_row=True)
    space = space_of(pa.table({"a": [1, 2, 2, 3], "b": [1, 1, 2, 2]}), options)
    empty = pa.table({"a": [1, 2, 2, 3], "b": pa.nulls(4)})
    typed = empty.set_column(1, "b", pa.nulls(4, pa.int64()))
    assert texts(empty, options, space) == texts(typed, options, space)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, 2]}, "uses column 'b'"),
        ({"a": ["u", "v"], "b": ["u", "v"]}, "orders column 'a'"),
        ({"a": [1, 2], "b": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]}, "compares 'a' .int64. with 'b' .date32"),
        ({"a": [[1], [2]], "b": [1, 2]}, "compares 'a' .*with 'a'"),
    ],
)
def test_a_space_over_other_columns_is_refused(columns: dict[str, list[object]], message: str) -> None:
    options = Options(shared_values=0.0, average_ratio=0.0)
    space = space_of(pa.table({"a": [1, 2, 2, 3], "b": [1, 1, 2, 2]}), options)
    with pytest.raises(OptionError, match=message):
        texts(pa.table(columns), options, space)


def test_a_space_is_searched_as_it_reads_nulls_and_constants() -> None:
    options = Options(constants=1)
    table = pa.table({"a": [1, 2, 2, 3]})
    with pytest.raises(OptionError, match="made for nulls='sql', not for 'equal'"):
        texts(table, Options(constants=1, nulls=Nulls.EQUAL), space_of(table, options))
    kind = kind_of(ordered=False, nullable=False, nulls=Nulls.SQL, operators=(Operator.EQ,))
    named = PredicateSpace((Slot(Column(Row.S, "a"), Constant("two"), kind),))
    with pytest.raises(OptionError, match=r"compares 'a' .int64. with two"):
        texts(table, options, named)


CONSTANTS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.text(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.just(Decimal("1E+3")),
)
COLUMNS = st.builds(Column, st.sampled_from(list(Row)), st.text(max_size=3))
KINDS = st.builds(
    lambda ordered, nullable, nulls, operators: kind_of(
        ordered=ordered, nullable=nullable, nulls=nulls, operators=operators
    ),
    st.booleans(),
    st.booleans(),
    NULLS,
    OPERATORS,
)
SLOTS = st.builds(Slot, COLUMNS, COLUMNS | CONSTANTS.map(Constant), KINDS)


@given(st.lists(SLOTS, max_size=4).map(lambda slots: PredicateSpace(tuple(slots))))
@examples(100)
def test_a_space_comes_back_from_json_as_it_was(space: PredicateSpace) -> None:
    assert space_of_json(json.loads(json.dumps(space_as_json(space)))) == space


def test_a_space_that_cannot_be_read_says_so() -> None:
    saved = space_as_json(space_of(pa.table({"a": [1, 2]}), Options()))
    with pytest.raises(DataError, match="version 2, not 1"):
        space_of_json({**saved, "version": 2})
    with pytest.raises(DataError, match="cannot be read"):
        space_of_json({**saved, "slots": [{**saved["slots"][0], "operators": ["~"]}]})
    with pytest.raises(DataError, match="cannot be read"):
        space_of_json({"version": 1})
