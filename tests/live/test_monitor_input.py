"""What a monitor takes as rows and keys, and what it says to the rest."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import refute as rf
from refute.errors import DataError, OptionError, RefuteError, SchemaError

ROWS = pa.table({"id": [1, 2, 3], "zip": ["a", "a", "b"], "city": ["x", "y", "z"]})
PAIRS = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "zip": ["a", "a", "b"], "city": ["x", "y", "z"]})
RULE = "zip_fixes_city"


def watching(table: Any = ROWS, key: Any = "id", **options: Any) -> rf.Monitor:
    """A monitor with some rows."""
    monitor = rf.Monitor("zip -> city", key=key, **options)
    monitor.insert(table)
    return monitor


TABLES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(),
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "lazy polars": lambda table: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    "dicts": lambda table: table.to_pylist(),
    "categories": lambda table: table.to_pandas().astype("category"),
}


@pytest.mark.parametrize("form", TABLES)
def test_rows_come_as_any_table(form: str) -> None:
    make = TABLES[form]
    monitor = rf.Monitor("zip -> city", key="id")
    assert monitor.would_violate(make(ROWS)).n_added == {RULE: 2}
    assert monitor.insert(make(ROWS)).n_added == {RULE: 2}
    assert monitor.update(make(ROWS.set_column(2, "city", pa.array(["x", "x", "z"])))).n_removed == {RULE: 2}
    feed = ROWS.append_column("op", pa.array(["update", "delete", "update"]))
    assert monitor.apply(make(feed)).counts == {RULE: 0}
    assert monitor.table().column("id").to_pylist() == [1, 3]


@pytest.mark.parametrize("form", TABLES)
def test_a_feed_that_only_deletes_needs_the_key_alone(form: str) -> None:
    monitor = watching()
    assert monitor.apply(TABLES[form](pa.table({"op": ["delete", "DELETE"], "id": [1, 3]}))).n_removed == {RULE: 2}
    assert monitor.table().column("id").to_pylist() == [2]


def test_a_feed_of_dicts_may_leave_out_what_a_deletion_does_not_need() -> None:
    monitor = watching()
    monitor.apply([{"op": "delete", "id": 1}, {"op": "insert", "id": 4, "zip": "b", "city": "q"}])
    assert monitor.counts == {RULE: 2}
    with pytest.raises(DataError, match=r"Row 1 of the list lacks the column 'city'\. Give None"):
        monitor.apply([{"op": "insert", "id": 8, "zip": "b", "city": "q"}, {"op": "insert", "id": 9, "zip": "b"}])


@pytest.mark.parametrize(
    "keys",
    [
        [1, 2],
        (1, 2),
        {1, 2},
        range(1, 3),
        (key for key in [1, 2]),
        [(1,), (2,)],
        [{"id": 1}, {"id": 2}],
        [1.0, 2.0],
        [Decimal(1), Decimal(2)],
        np.array([1, 2]),
        np.array([1, 2], np.uint8),
        np.array([1, 2], object),
        pd.Series([1, 2]),
        pd.Index([1, 2]),
        pd.Categorical([1, 2]),
        pl.Series([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        ROWS.slice(0, 2),
        ROWS.select(["id"]).slice(0, 2).to_pandas(),
        pl.DataFrame({"id": [1, 2]}),
    ],
    ids=lambda keys: type(keys).__module__ + "." + type(keys).__name__,
)
def test_keys_come_as_any_sequence_or_table(keys: Any) -> None:
    monitor = watching()
    assert monitor.delete(keys).n_removed == {RULE: 2}
    assert monitor.table().column("id").to_pylist() == [3]


@pytest.mark.parametrize(
    "keys",
    [
        [(1, "x")],
        [[1, "x"]],
        [{"b": "x", "a": 1}],
        [{"b": "x", "a": 1, "more": 3}],
        pa.array([{"a": 1, "b": "x"}]),
        PAIRS.select(["b", "a"]).slice(0, 1),
        pd.DataFrame({"b": ["x"], "a": [1]}),
        pd.MultiIndex.from_tuples([(1, "x")]),
        pl.DataFrame({"b": ["x"], "a": [1]}),
    ],
    ids=lambda keys: type(keys).__module__ + "." + type(keys).__name__,
)
def test_keys_of_two_columns(keys: Any) -> None:
    monitor = watching(PAIRS, ["a", "b"])
    assert monitor.delete(keys).n_removed == {RULE: 2}
    assert len(monitor) == 2


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ([(1,)], r"Key 0 of the list is \(1,\). Give keys as a table with the columns a, b, or as a list of tuples"),
        ([1], "Key 0 of the list is 1. Give keys as"),
        ([{"a": 1}], "The given keys lack the column 'b'. The key is a, b"),
        (pa.table({"a": [1]}), "The given keys lack the column 'b'. The key is a, b"),
        (pa.array([1]), "The given keys lack the column 'b'. The key is a, b"),
        ([("x", 1)], "Column 'a' holds int64, but string was given. Convert it to int64 first"),
        ([(1, None)], "The key column 'b' is null in 1 row"),
        ([(9, "x")], "There are no rows with these keys: a = 9, b = 'x'. Nothing was changed"),
    ],
)
def test_wrong_keys_of_two_columns_are_told(keys: Any, said: str) -> None:
    monitor = watching(PAIRS, ["a", "b"])
    with pytest.raises(RefuteError, match=said):
        monitor.delete(keys)
    assert len(monitor) == 3


def test_a_key_is_never_another_value_made_to_fit() -> None:
    monitor = watching()
    with pytest.raises(SchemaError, match="Column 'id' holds int64, and the given double does not fit"):
        monitor.delete([1.5])
    for keys in (["1"], [True], [dt.date(1970, 1, 2)]):
        with pytest.raises(SchemaError, match="Column 'id' holds int64, but"):
            monitor.delete(keys)
    assert len(monitor) == 3


@pytest.mark.parametrize("keys", ["ab", b"ab", 1, None, {"id": [1]}])
def test_a_single_key_is_no_sequence_of_keys(keys: Any) -> None:
    monitor = watching(pa.table({"id": ["a", "b", "ab"], "zip": ["a"] * 3, "city": ["x"] * 3}))
    with pytest.raises(DataError, match="Give keys as a table with the column id, or as a list of values, not as"):
        monitor.delete(keys)
    assert len(monitor) == 3


ZONE = dt.timezone(dt.timedelta(hours=1))
NOON = dt.datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        (pa.array([True, False]), [True]),
        (pa.array([Decimal("1.10"), Decimal("2.20")]), [Decimal("1.1")]),
        (pa.array([Decimal("1.10"), Decimal("2.20")]), [1.1]),
        (pa.array([2**64 - 1, 2], pa.uint64()), [2**64 - 1]),
        (pa.array([1.5, 2.5], pa.float32()), [1.5]),
        (pa.array(["a", "b"]).dictionary_encode(), pd.Series(["a"], dtype="category")),
        (pa.array([NOON, NOON.replace(hour=2)]), [NOON]),
        (pa.array([NOON, NOON.replace(hour=2)]), np.array([NOON], "datetime64[ns]")),
        (pa.array([NOON, NOON.replace(hour=2)]), pd.Series([NOON])),
        (pa.array([NOON, NOON.replace(hour=2)], pa.timestamp("us", "UTC")), [NOON.replace(hour=13, tzinfo=ZONE)]),
        (pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)]), [dt.date(2020, 1, 1)]),
    ],
)
def test_keys_of_all_types(column: pa.Array, keys: Any) -> None:
    monitor = watching(pa.table({"id": column, "zip": ["a", "a"], "city": ["x", "y"]}))
    assert monitor.delete(keys).n_removed == {RULE: 2}
    assert monitor.table().column("id").to_pylist() == column.to_pylist()[1:]


@pytest.mark.parametrize(
    ("there", "coming"),
    [
        (pa.array([1]), pa.array(["1"])),
        (pa.array(["1"]), pa.array([1])),
        (pa.array([True]), pa.array([1])),
        (pa.array([1]), pa.array([True])),
        (pa.array([1]), pa.array([1.5])),
        (pa.array([1]), pa.array([float("nan")])),
        (pa.array([1.5]), pa.array([2**60 + 1])),
        (pa.array([1.5], pa.float32()), pa.array([0.1])),
        (pa.array([Decimal("1.10")]), pa.array([0.125])),
        (pa.array([Decimal("1.10")]), pa.array([Decimal("1.105")])),
        (pa.array([NOON]), pa.array([NOON], pa.timestamp("us", "UTC"))),
        (pa.array([NOON], pa.timestamp("us", "UTC")), pa.array([NOON])),
        (pa.array([dt.date(2020, 1, 1)]), pa.array([NOON])),
        (pa.array([b"a"]), pa.array(["a"])),
    ],
)
def test_values_that_would_become_others_are_refused(there: pa.Array, coming: pa.Array) -> None:
    monitor = rf.Monitor("unique(id)", key="id")
    monitor.insert(pa.table({"id": [1], "v": there}))
    with pytest.raises(SchemaError, match=r"Column 'v' holds .*(was given|does not fit|would round)"):
        monitor.insert(pa.table({"id": [2], "v": coming}))
    assert len(monitor) == 1


@pytest.mark.parametrize(
    ("there", "coming", "kept"),
    [
        (pa.array([1]), pa.array([2.0]), 2),
        (pa.array([1.5]), pa.array([2]), 2.0),
        (pa.array([1.5]), pa.array([float("nan")], pa.float32()), pytest.approx(float("nan"), nan_ok=True)),
        (pa.array([Decimal("1.10")]), pa.array([0.1]), Decimal("0.10")),
        (pa.array(["a"]), pa.array(["b"]).dictionary_encode(), "b"),
        (pa.array(["a"]), pa.array([None]), None),
        (pa.array([None]), pa.array(["b"]), "b"),
        (pa.array([NOON]), pa.array([NOON], pa.timestamp("ns")), NOON),
    ],
)
def test_values_that_stay_the_same_are_taken(there: pa.Array, coming: pa.Array, kept: Any) -> None:
    monitor = rf.Monitor("unique(id)", key="id")
    monitor.insert(pa.table({"id": [1], "v": there}))
    monitor.insert(pa.table({"id": [2], "v": coming}))
    assert monitor.table().column("v").to_pylist()[1] == kept


@pytest.mark.parametrize("empty", [pd.DataFrame(ROWS.to_pydict()).head(0), ROWS.slice(0, 0), pl.from_arrow(ROWS[:0])])
def test_a_table_without_rows_may_come_first(empty: Any) -> None:
    monitor = rf.Monitor("zip -> city", key="id")
    assert not monitor.insert(empty)
    assert monitor.insert(ROWS.to_pandas()).n_added == {RULE: 2}


def test_an_empty_pandas_table_says_nothing_of_types() -> None:
    monitor = rf.Monitor("zip -> city", key="id")
    monitor.insert(pd.DataFrame({"id": [], "zip": [], "city": []}))
    monitor.insert(ROWS.to_pandas())
    assert monitor.counts == {RULE: 2}


def test_an_empty_list_changes_nothing_once_columns_are_known() -> None:
    monitor = watching()
    for change in (monitor.insert, monitor.update, monitor.delete, monitor.apply):
        assert not change([])
    with pytest.raises(DataError, match="The first rows define the columns, and none came"):
        rf.Monitor("zip -> city", key="id").insert([])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"id": 1}, "Cannot read rows from a dict. Give a table, or a list with one dict for each row"),
        ([(1, "a", "x")], r"Row 0 of the list is \(1, 'a', 'x'\). Give a dict with its columns, or a table"),
        ([{}], r"Row 0 of the list is \{\}. Give a dict with its columns, or a table"),
        ([{"id": 1, "zip": "a", "city": "x"}, {"id": 2, "zip": "a"}], "Row 1 of the list lacks the column 'city'"),
        ([{"id": 7, "zip": "a", "city": 1}, {"id": 8, "zip": "a", "city": "x"}], "The values of 'city' cannot be read"),
        ("rows.csv", "A table cannot be of type str"),
    ],
)
def test_what_is_no_table_is_told(rows: Any, said: str) -> None:
    with pytest.raises(RefuteError, match=said):
        watching().insert(rows)


@pytest.mark.parametrize("make", [list, pd.DataFrame])
def test_decimals_of_python_leave_room_for_larger_ones(make: Callable[[Any], Any]) -> None:
    monitor = rf.Monitor("unique(v)", key="id")
    monitor.insert(make([{"id": 1, "v": Decimal("1.10")}]))
    assert (
        monitor.insert(make([{"id": 2, "v": Decimal("1234.5")}, {"id": 3, "v": Decimal("1.1")}])).counts["unique_v"]
        == 2
    )
    with pytest.raises(SchemaError, match="Column 'v' holds"):
        monitor.insert(make([{"id": 4, "v": Decimal("1.105")}]))


def test_an_index_of_pandas_is_no_column() -> None:
    with pytest.raises(SchemaError, match=r"lack the column 'id'. Use reset_index\(\) first"):
        watching().insert(pd.DataFrame({"zip": ["a"], "city": ["q"]}, index=pd.Index([9], name="id")))


def test_would_violate_refuses_what_insert_refuses() -> None:
    monitor = watching()
    for ids in ([9, 9], [9, None], [9, 1]):
        rows = pa.table({"id": ids, "zip": ["a", "a"], "city": ["q", "q"]})
        for change in (monitor.insert, monitor.would_violate):
            with pytest.raises(DataError, match=r"more than once|is null in 1 row|already exist: id = 1"):
                change(rows)


def test_rows_without_a_key_keep_their_numbers() -> None:
    monitor = watching(key=None)
    monitor.delete([0])
    added = monitor.insert(ROWS.slice(0, 1)).added[RULE]
    assert added.select(["s", "t"]).to_pydict() == {"s": [3, 1], "t": [1, 3]}
    assert added.select(["s_city", "t_city"]).to_pydict() == {"s_city": ["x", "y"], "t_city": ["y", "x"]}
    assert sorted(monitor.violations(RULE)) == sorted(rf.violations(monitor, "zip -> city")) == [(1, 3), (3, 1)]
    assert sorted(monitor.report().violations(RULE)) == [(1, 3), (3, 1)]
    assert {*rf.verify(monitor, "zip -> city").witness} == {1, 3}  # type: ignore[misc]
    assert {*rf.verify(monitor, "not (s.zip = t.zip and s.id > t.id)").witness} == {1, 3}  # type: ignore[misc]
    monitor.delete(monitor.violations(RULE).to_arrow().column("s").slice(0, 1))
    assert monitor.counts == {RULE: 0}


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([7], "There is no row 7. Nothing was changed"),
        ([-1], "There is no row -1"),
        ([0, 0], "Row 0 is listed more than once"),
        ([None], "The number of a row is null"),
    ],
)
def test_wrong_numbers_are_told(numbers: list[Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        watching(key=None).delete(numbers)


def test_a_monitor_without_rows_answers() -> None:
    monitor = rf.Monitor(["zip -> city", "row(rate < 100)"], key="id")
    assert monitor.report().ok
    assert rf.check(monitor, "zip -> city").ok
    assert list(monitor.violations("zip -> city")) == []
    assert len(monitor.rows) == len(monitor.table()) == 0
    assert monitor.counts == {RULE: 0, "rate": 0}
    for change in (monitor.delete, lambda keys: monitor.apply([{"op": "delete", "id": key} for key in keys])):
        with pytest.raises(DataError, match=r"The monitor has no rows yet\. Insert some first"):
            change([1])


def test_a_rule_is_known_by_name_text_or_constraint() -> None:
    monitor = watching()
    for rule in (RULE, "zip -> city", rf.parse("not (s.zip = t.zip and s.city != t.city)"), monitor.rules[0]):
        assert monitor.count(rule) == len(list(monitor.violations(rule))) == 2
    with pytest.raises(OptionError, match=r"no rule 'zip_fixes_cit'. Did you mean 'zip_fixes_city'"):
        monitor.count("zip_fixes_cit")
    with pytest.raises(OptionError, match=r"no rule 'city -> zip'. Its only rule is 'zip_fixes_city'"):
        monitor.count("city -> zip")


def test_the_last_rule_stays() -> None:
    monitor = watching()
    with pytest.raises(OptionError, match=r"This is the monitor's only rule\. Add another before you drop it"):
        monitor.drop(RULE)
    assert monitor.add("city -> zip") == {"city_fixes_zip": 0}
    monitor.drop("zip -> city")
    assert monitor.counts == {"city_fixes_zip": 0}


def test_a_rule_without_a_name_gets_one_that_is_free() -> None:
    monitor = rf.Monitor("not (s.zip < t.zip and s.city > t.city)", key="id")
    monitor.insert(ROWS)
    assert list(monitor.add("not (s.zip < t.zip and s.city < t.city)")) == ["zip_city_2"]
    for again in ("not (s.zip < t.zip and s.city > t.city)", replace(monitor.rules[1], name="zip_city")):
        with pytest.raises(OptionError, match="already has a rule 'zip_city'"):
            monitor.add(again)
    assert list(monitor.counts) == ["zip_city", "zip_city_2"]


def test_functions_take_a_monitor_as_a_table() -> None:
    monitor = watching()
    assert rf.count(monitor, "zip -> city") == 2
    assert [str(result) for result in rf.check(monitor, "city -> zip")]
    clean, broken = monitor.report().split(blame="all")
    assert (clean.column("id").to_pylist(), broken.column("id").to_pylist()) == ([3], [1, 2])
    assert rf.discover(monitor).rules
    assert '<td>zip_fixes_city</td><td class="number">2</td>' in monitor._repr_html_()
    assert repr(monitor) == "Monitor(1 rule, 3 rows, 2 violations)"
    for options in ({"engine": "spark"}, {"engine": "nowhere"}, {"schema": "a int"}, {"key": "zip"}):
        with pytest.raises(OptionError):
            rf.check(monitor, "zip -> city", **options)  # type: ignore[arg-type]


def test_a_closed_monitor_says_so_first() -> None:
    monitor = watching()
    monitor.close()
    changes: list[Callable[[], object]] = [
        lambda: monitor.insert(ROWS),
        lambda: monitor.update(ROWS),
        lambda: monitor.delete([99]),
        lambda: monitor.apply(ROWS),
        lambda: monitor.add("city -> zip"),
        lambda: monitor.drop(RULE),
    ]
    for change in changes:
        with pytest.raises(OptionError, match=r"The monitor is closed\. Open it again"):
            change()
    assert monitor.counts == {RULE: 2}


def test_a_monitor_is_opened_again_as_what_it_is(tmp_path: Path) -> None:
    given: dict[str, Any] = {"key": "id", "store": "pairs", "nulls": "equal"}
    rf.Monitor.open(tmp_path, "zip -> city", **given).close()
    rf.Monitor.open(tmp_path, "zip -> city", **given).close()
    rf.Monitor.open(tmp_path, nulls="equal").close()
    wrong: list[tuple[str | None, dict[str, Any], str]] = [
        ("zip -> city", {}, "a rule 'zip_fixes_city' with other predicates or options"),
        (None, {"nulls": "sql"}, "Leave nulls= out"),
        (None, {"store": "counts"}, "Leave store= and most_pairs= out"),
        (None, {"method": "lt_tree"}, "Leave method= out"),
        (None, {"key": "zip"}, "Leave key= out"),
        (["zip -> city", "city -> zip"], {"nulls": "equal"}, "has no rule 'city_fixes_zip'"),  # type: ignore[list-item]
    ]
    for rules, options, said in wrong:
        with pytest.raises(OptionError, match=said):
            rf.Monitor.open(tmp_path, rules, **options)
    with pytest.raises(OptionError, match=r"'s3://b/c' is not on this machine\. A monitor needs a folder"):
        rf.Monitor.open("s3://b/c", "zip -> city")


def test_a_column_may_be_named_as_what_a_monitor_has() -> None:
    frame = pd.DataFrame({"zip": ["a", "a"], "live_engine": [1, 2]})
    assert rf.count(frame, "zip -> live_engine") == 2
    assert rf.discover(frame) is not None


def test_a_monitor_answers_as_an_engine_does() -> None:
    monitor = rf.Monitor("zip -> city", key="id")
    monitor.insert(pa.table({"id": [1, 2], "zip": ["a", "a"], "city": ["x", "y"]}))
    (only_verified,) = rf.check(monitor, "zip -> city", counts=False)
    assert (only_verified.finding.holds, only_verified.finding.violations) == (False, None)
    assert "read the violations that the monitor keeps" in str(rf.explain(monitor, "zip -> city"))
    assert "sweep" in str(rf.explain(monitor, "city -> zip"))
    with pytest.raises(rf.errors.OptionError, match="a method cannot be chosen"):
        rf.check(monitor, "zip -> city", method="refine")
    with pytest.raises(rf.errors.SchemaError, match=r"(?s)zipp.*cityy"):
        rf.check(monitor, ["zipp -> city", "zip -> cityy"])


def test_a_question_settles_no_type_and_changes_no_later_answer() -> None:
    monitor = rf.Monitor(["k -> a", "k -> b"], key="id")
    none = pa.nulls(2)
    monitor.insert(pa.table({"id": [1, 2], "k": [1, 1], "a": [5, 5], "b": [1, 1], "c": none}))
    nulls = pa.array([None, None], pa.int64())
    asked = pa.table({"id": [3, 4], "k": [1, 1], "a": nulls, "b": [2, 2], "c": ["x", "y"]})
    for _ in range(2):
        assert monitor.would_violate(asked).n_added == {"k_fixes_a": 0, "k_fixes_b": 8}
    monitor.insert(asked.set_column(4, "c", pa.array([1.5, 2.5])))
    assert monitor.counts == {"k_fixes_a": 0, "k_fixes_b": 8}


@pytest.mark.parametrize("late", [pa.float64(), pa.decimal128(10, 2), pa.uint64(), pa.int8()], ids=str)
def test_a_column_without_values_takes_any_type_that_compares(late: pa.DataType) -> None:
    monitor = rf.Monitor("not (s.a < t.b)", key="id")
    monitor.insert(pa.table({"id": [1, 2], "a": [1, 3], "b": pa.nulls(2)}))
    rows = pa.table({"id": [3], "a": [2], "b": pa.array([3], pa.int8()).cast(late)})
    assert monitor.insert(rows).counts == {"a_b": 1}


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.decimal128(18, 2),
        pa.decimal256(60, 2),
        pa.date32(),
        pa.timestamp("ns"),
        pa.timestamp("s", "UTC"),
        pa.time64("us"),
        pa.duration("s"),
        pa.string(),
        pa.bool_(),
    ],
    ids=str,
)
def test_a_row_without_a_value_fits_a_column_of_any_type(kind: pa.DataType) -> None:
    monitor = rf.Monitor(["not (s.v = t.v)"], key="id", nulls="equal")
    monitor.insert(pa.table({"id": [1], "v": pa.array([None], kind)}))
    assert monitor.insert([{"id": 2, "v": None}]).counts == {"unique_v": 2}
    assert monitor.update([{"id": 1, "v": None}]).counts == {"unique_v": 2}
    assert monitor.apply([{"op": "insert", "id": 3, "v": None}]).counts == {"unique_v": 6}
    assert monitor.schema is not None
    assert monitor.schema.field("v").type == kind


def test_no_keys_of_a_float_are_no_keys() -> None:
    monitor = rf.Monitor(["not (s.v = t.v)"], key="id")
    monitor.insert([{"id": 1.5, "v": 1}])
    assert not monitor.delete([])
    with pytest.raises(DataError, match="null"):
        monitor.delete([None])
    assert len(monitor) == 1


def test_a_value_that_is_refused_costs_no_index() -> None:
    monitor = rf.Monitor("not (s.g = t.g and s.v != t.v)", key="id", nulls="equal")
    monitor.insert(pa.table({"id": [1], "g": [1], "v": [1]}))
    frame = monitor._state.frame
    assert frame is not None
    index = frame.ready(monitor._state)
    with pytest.raises(DataError, match=r"-2\^63"):
        monitor.insert(pa.table({"id": [2], "g": [1], "v": [-(2**63)]}))
    assert frame.ready(monitor._state) is index
    assert monitor.insert(pa.table({"id": [2], "g": [1], "v": [2]})).counts == {"g_fixes_v": 2}
