"""Where tables come from, what a rule must fit, and what is computed once."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from refute.errors import DataError, SchemaError
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.relation import Family, Relation

ROWS: dict[str, list[Any]] = {
    "n": [3, None, 1, 3],
    "x": [0.5, float("nan"), -0.0, 0.0],
    "name": ["b", "", None, "b"],
    "day": [dt.date(2020, 1, 2), None, dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "at": [dt.datetime(2020, 1, 2), None, dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 2)],
    "flag": [True, False, None, True],
}
TABLE = pa.table(ROWS)
MAKERS: dict[str, Callable[[], Any]] = {
    "Arrow table": lambda: TABLE,
    "record batch": lambda: TABLE.to_batches()[0],
    "record batch reader": lambda: TABLE.to_reader(2),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas with Arrow types": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with categories": lambda: pd.DataFrame(ROWS).astype({"name": "category"}),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy polars": lambda: pl.DataFrame(ROWS).lazy(),
    "polars with categories": lambda: pl.DataFrame(ROWS).with_columns(pl.col("name").cast(pl.Categorical)),
    "string views": lambda: TABLE.set_column(
        TABLE.column_names.index("name"), "name", TABLE["name"].cast(pa.string_view())
    ),
    "relation": lambda: Relation.of(TABLE),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_every_kind_of_table_gives_the_same_codes(maker: str) -> None:
    relation = Relation.of(MAKERS[maker]())
    expected = Relation.of(TABLE)
    assert relation.names == tuple(ROWS)
    assert relation.n_rows == 4
    for name in ROWS:
        found = relation.encode(name, ordered=True, dense=True)
        assert found.values.tolist() == expected.encode(name, ordered=True, dense=True).values.tolist()
        assert relation.is_null(name).tolist() == expected.is_null(name).tolist()
    assert relation.head(2).encode("n", ordered=True, dense=True).values.tolist() == [0, -1]
    assert relation.arrow.num_rows == 4


def test_rows_of_string_views_can_be_taken() -> None:
    views = pa.table({"name": pa.array(["a" * 40, None, "b" * 40], pa.string_view())})
    assert Relation.of(views).column("name").take([2, 1]).to_pylist() == ["b" * 40, None]
    entries = pa.DictionaryArray.from_arrays([1, None, 0, 1], pa.array(["a" * 40, "b" * 40], pa.string_view()))
    relation = Relation.of(pa.table({"name": entries}))
    assert relation.column("name").take([2, 1]).to_pylist() == ["a" * 40, None]
    assert relation.encode("name", ordered=True).values.tolist() == [1, -1, 0, 1]


def test_what_is_no_table_is_named_in_the_error() -> None:
    with pytest.raises(DataError, match=r"of type dict\."):
        Relation.of({"a": [1]})


def test_the_schema_tells_families() -> None:
    table = pa.table(
        {
            "i": [1],
            "d": [Decimal("1.5")],
            "z": pa.array([0], pa.timestamp("s", "UTC")),
            "c": pa.array(["x"]).dictionary_encode(),
            "l": [[1]],
            "none": [None],
        }
    )
    assert {name: kind.family for name, kind in Relation.of(table).schema.items()} == {
        "i": Family.INTEGER,
        "d": Family.DECIMAL,
        "z": Family.ZONED,
        "c": Family.STRING,
        "l": Family.UNSUPPORTED,
        "none": Family.NULL,
    }


def test_columns_that_no_rule_reads_may_hold_anything() -> None:
    frame = pd.DataFrame({"a": [1, 2], "mess": [1, "x"], "lists": [[1], [2]]})
    relation = Relation.of(frame)
    assert relation.encode("a", ordered=True).values.tolist() == [0, 1]
    assert relation.schema["mess"].family is Family.UNSUPPORTED
    with pytest.raises(SchemaError, match="'mess' has no single type"):
        relation.encode("mess", ordered=False)
    with pytest.raises(SchemaError, match=r"'lists' \(list\) cannot be compared"):
        relation.encode("lists", ordered=False)


def test_a_column_name_that_occurs_twice_is_an_error_when_it_is_read() -> None:
    relation = Relation.of(pa.table([[1], [2], [3]], names=["a", "a", "b"]))
    assert relation.encode("b", ordered=True).size == 1
    with pytest.raises(SchemaError, match="more than one column 'a'"):
        relation.encode("a", ordered=True)


def rule(left: str, right: str | Constant, op: Operator = Operator.EQ) -> DenialConstraint:
    other = right if isinstance(right, Constant) else Column(Row.T, right)
    return DenialConstraint((Predicate.of(Column(Row.S, left), op, other),))


ODD = pa.table(
    {
        "salary": [1],
        "name": ["x"],
        "day": pa.array([0], pa.date32()),
        "seen": pa.array([0], pa.timestamp("us", "UTC")),
        "tags": [["x"]],
        "flag": [True],
        "nothing": [None],
        "at": pa.array([0], pa.time32("s")),
        "took": pa.array([0], pa.duration("ns")),
    }
)


@pytest.mark.parametrize(
    ("constraint", "parts"),
    [
        (rule("salery", "salary"), ["no column 'salery'", "Did you mean 'salary'?", "s.salery"]),
        (rule("zzz", "salary"), ["no column 'zzz'", "the columns 'salary', 'name'"]),
        (rule("name", "salary"), ["'name' (string)", "'salary' (int64)", "s.name = t.salary"]),
        (rule("seen", "day"), ["'seen' (timestamp[us, tz=UTC])", "'day' (date32[day])", "time zone"]),
        (rule("tags", "tags"), ["'tags' (list)", "cannot be compared", "s.tags = t.tags"]),
        (rule("flag", "salary"), ["'flag' (bool)", "'salary' (int64)"]),
        (rule("salary", Constant("x")), ["'salary' (int64)", "the string 'x'", "Write it like 5."]),
        (rule("at", Constant("10:00")), ["'at' (time32[s])", "no literal for a time of day", "number of seconds"]),
        (rule("at", Constant(3)), ["'at' (time32[s])", "no literal for a time of day"]),
        (rule("took", Constant(Decimal("1.5"))), ["the decimal 1.5", "no literal for a duration"]),
        (rule("salary", Constant(dt.date(2020, 1, 2))), ["the date 2020-01-02", "Write it like 5."]),
    ],
)
def test_a_rule_that_does_not_fit_names_column_type_rule_and_remedy(
    constraint: DenialConstraint, parts: list[str]
) -> None:
    with pytest.raises(SchemaError) as error:
        Relation.of(ODD).bind(constraint)
    for part in parts:
        assert part in str(error.value)


def test_a_rule_that_fits_binds_and_a_null_column_compares_with_all() -> None:
    relation = Relation.of(ODD)
    for left, right in (("salary", "salary"), ("nothing", "name"), ("nothing", "day"), ("flag", "flag")):
        relation.bind(rule(left, right, Operator.LE))


def test_a_named_rule_is_named_in_the_error() -> None:
    with pytest.raises(SchemaError, match="in rule 'pay'"):
        Relation.of(ODD).bind(rule("salery", "salary"), rule="rule 'pay'")


def test_many_threads_share_one_encoding() -> None:
    relation = Relation.of(pa.table({"a": np.arange(100_000), "b": np.arange(100_000) % 7}))
    built = []
    barrier = threading.Barrier(8)

    def ask(i: int) -> Any:
        barrier.wait()
        relation.shared("sort", lambda: built.append(i))
        return relation.encode("ab"[i % 2], ordered=True)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(built) == 1
    assert len({id(one) for one in found}) == 2


def test_a_stronger_encoding_serves_a_weaker_request() -> None:
    relation = Relation.of(pa.table({"a": [5, 9, 5], "b": [9, 1, 1]}))
    strong = relation.encode("a", ordered=True, dense=True)
    assert relation.encode("a", ordered=False) is strong
    first, second = relation.encode_joint(("a", "b"), ordered=True)
    again_second, again_first = relation.encode_joint(("b", "a"), ordered=True)
    assert first is again_first
    assert second is again_second
    (same,) = {id(one) for one in relation.encode_joint(("a", "a"), ordered=True)}
    assert same == id(strong)


@pytest.mark.parametrize("dense", [False, True])
def test_tables_without_rows_and_columns_without_values_have_no_codes(dense: bool) -> None:
    for table in (TABLE.slice(0, 0), pa.table({name: pa.nulls(3, TABLE.schema.field(name).type) for name in ROWS})):
        relation = Relation.of(table)
        for name in ROWS:
            found = relation.encode(name, ordered=True, dense=dense)
            assert found.values.tolist() == [-1] * table.num_rows
            assert (found.size, found.nulls) == (0, table.num_rows)
