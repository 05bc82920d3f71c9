"""Input that makes no sense gets a clear error or a clear answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import refute as rf
from refute.errors import DataError, OptionError, RefuteError, RuleError, SchemaError

TABLE = pa.table({"zip": [1, 1, 2], "city": ["a", "b", "c"], "rate": [0.5, 1.5, 2.5]})
RULE = "not (s.zip = t.zip and s.city != t.city)"


@pytest.mark.parametrize("ask", [rf.verify, rf.count, rf.check, rf.explain])
def test_an_unknown_column_is_named_with_the_nearest_one(ask: Any) -> None:
    with pytest.raises(SchemaError, match=r"'citty'.*Did you mean 'city'"):
        ask(TABLE, "zip -> citty")


def test_types_that_do_not_compare_are_named_with_their_columns() -> None:
    with pytest.raises(SchemaError, match=r"'zip' \(int64\) with 'city' \(string\)"):
        rf.count(TABLE, "not (s.zip = t.city)")
    with pytest.raises(SchemaError, match=r"'city' \(string\) with the integer 1"):
        rf.count(TABLE, "not (s.city = 1)")
    with pytest.raises(SchemaError, match="cannot be compared"):
        rf.count(pa.table({"a": [[1], [2]]}), "not (s.a = t.a)")


@pytest.mark.parametrize(
    "rule",
    [
        "not (s.zip < t.zip and s.zip > t.zip)",
        "not (s.zip = t.zip and s.zip != t.zip)",
        "not (s.zip < 1 and s.zip > 2)",
        "not (s.zip < t.rate and t.rate < s.rate and s.rate < s.zip)",
    ],
)
def test_a_rule_that_can_never_be_violated_holds(rule: str) -> None:
    assert rf.verify(TABLE, rule).holds
    assert rf.count(TABLE, rule) == 0
    assert list(rf.violations(TABLE, rule)) == []
    assert rf.check(TABLE, rule).ok
    assert "can never be violated" in str(rf.explain(TABLE, rule))


def test_an_empty_table_breaks_nothing() -> None:
    empty = TABLE.slice(0, 0)
    for rule in (RULE, "zip -> city", "unique(zip)", "row(rate > 1)", "not (s.rate < t.rate and s.zip > t.zip)"):
        assert rf.verify(empty, rule).holds
        assert rf.count(empty, rule) == 0
        assert rf.violations(empty, rule).to_arrow().num_rows == 0
        report = rf.check(empty, rule)
        assert report.ok
        assert report.rows.num_rows == 0
        assert str(rf.explain(empty, rule))


@pytest.mark.parametrize("ask", [rf.verify, rf.count, rf.check, rf.explain])
def test_no_rule_at_all_is_an_error(ask: Any) -> None:
    with pytest.raises(RuleError, match="no rule"):
        ask(TABLE, [])
    with pytest.raises(RuleError, match="NoneType"):
        ask(TABLE, None)


def test_several_rules_need_check() -> None:
    with pytest.raises(RuleError, match=r"Expected one rule, but this stands for 2.*check"):
        rf.verify(TABLE, "zip -> city, rate")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_an_error(limit: int) -> None:
    with pytest.raises(OptionError, match="at least 1"):
        rf.violations(TABLE, RULE, limit)


@pytest.mark.parametrize("limit", [True, 1.5, "3"])
def test_a_limit_is_a_whole_number(limit: Any) -> None:
    with pytest.raises(OptionError, match="whole number"):
        rf.violations(TABLE, RULE, limit)


def test_an_unknown_method_gets_a_suggestion() -> None:
    with pytest.raises(OptionError, match="Did you mean 'sweep'"):
        rf.verify(TABLE, RULE, method="swep")
    with pytest.raises(OptionError, match=r"method must be .*, not 3"):
        rf.verify(TABLE, RULE, method=3)  # type: ignore[arg-type]


def test_an_unknown_engine_or_null_mode_gets_a_suggestion() -> None:
    with pytest.raises(OptionError, match="Did you mean 'local'"):
        rf.verify(TABLE, RULE, engine="locl")
    with pytest.raises(OptionError, match="'sql' or 'equal'"):
        rf.verify(TABLE, RULE, nulls="sqll")


@pytest.mark.parametrize(
    ("key", "kind", "words"),
    [
        (5, OptionError, "a column name or a list of them, not 5"),
        ([1], OptionError, "a column name or a list of them, not 1"),
        (["zip", None], OptionError, "not None"),
        (["zip", "zip"], SchemaError, "'zip' is listed twice"),
    ],
)
def test_a_key_is_made_of_names_each_of_them_once(key: Any, kind: type[Exception], words: str) -> None:
    for ask in (rf.verify, rf.violations, rf.check):
        with pytest.raises(kind, match=words):
            ask(TABLE, RULE, key=key)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert len(list(rf.violations(TABLE, RULE, np.int64(1)))) == 1  # type: ignore[arg-type]
    assert rf.count(TABLE, RULE, threads=np.uint8(2)) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [0, -2, 1.5])
def test_threads_are_one_or_more(threads: Any) -> None:
    with pytest.raises(OptionError, match="threads must be"):
        rf.count(TABLE, RULE, threads=threads)


def test_a_key_identifies_every_row() -> None:
    with pytest.raises(DataError, match="not unique: 2 rows have zip = 1"):
        rf.verify(TABLE, RULE, key="zip")
    with pytest.raises(DataError, match=r"null in 1 row\."):
        rf.verify(pa.table({"a": [1, None]}), "not (s.a = t.a)", key="a")
    with pytest.raises(SchemaError, match="Did you mean 'zip'"):
        rf.verify(TABLE, RULE, key="zipp")


def test_two_columns_of_one_name_are_an_error_only_for_rules_that_read_them() -> None:
    table = pa.table([pa.array([1, 1]), pa.array([2, 3]), pa.array([4, 4])], names=["a", "a", "b"])
    with pytest.raises(SchemaError, match="more than one column 'a'"):
        rf.verify(table, "not (s.a = t.a)")
    report = rf.check(table, "not (s.b = t.b)")
    assert report.results[0].finding.violations == 2
    assert report.rows.num_columns == 4
    assert report.split(blame="all")[1].num_rows == 2


def test_the_limits_of_integers_are_exact() -> None:
    table = pa.table({"a": [2**63 - 1, -(2**63), 2**53, 2**53 + 1]})
    assert rf.count(table, "not (s.a < t.a)") == 6
    assert rf.count(table, f"not (s.a < {10**30})") == 4
    assert rf.count(table, f"not (s.a = {2**53 + 1})") == 1
    unsigned = pa.table({"a": pa.array([2**64 - 1, None, 2**53 + 1, 2**53], pa.uint64())})
    assert rf.count(unsigned, "not (s.a < t.a)") == 3
    assert rf.count(unsigned, "not (s.a = t.a)", nulls="equal") == 0


def test_integers_beyond_any_column_are_an_error() -> None:
    assert rf.count(pd.DataFrame({"a": [2**70, 2**70, 1]}), "not (s.a = t.a)") == 2
    with pytest.raises(SchemaError, match="'a' has no single type"):
        rf.count(pd.DataFrame({"a": [10**76, 10**76, 1]}), "not (s.a = t.a)")
    with pytest.raises(SchemaError, match="'a' has no single type"):
        rf.count(pd.DataFrame({"a": [1, "x", 2.5]}), "not (s.a = t.a)")


def test_names_of_pandas_columns_need_not_be_texts() -> None:
    frame = pd.DataFrame({0: [1, 1], 1: [2, 3]}, index=[7, 7])
    report = rf.check(frame, "not (s.`0` = t.`0` and s.`1` != t.`1`)")
    assert report.results[0].finding.violations == 2
    assert list(report.rows.columns) == [0, 1, "refute"]
    clean, broken = report.split(blame="all")
    assert list(broken.columns) == [0, 1]
    assert len(clean) == 0
    assert len(broken) == 2
    with pytest.raises(SchemaError, match="more than one column '1'"):
        rf.verify(pd.DataFrame([[1, 2]], columns=[1, "1"]), "not (s.`1` = t.`1`)")


@pytest.mark.parametrize("table", [None, [1, 2], {"a": [1]}, 7])
def test_what_is_no_table_is_an_error(table: Any) -> None:
    with pytest.raises(DataError, match="A table cannot be of type"):
        rf.verify(table, RULE)


def test_every_error_has_one_root() -> None:
    for error in (SchemaError, DataError, OptionError, RuleError):
        assert issubclass(error, RefuteError)


def test_all_rules_that_do_not_fit_are_told_at_once_and_by_name() -> None:
    table = pa.table({"zip": [1], "city": ["A"]})
    rules = [
        {"name": "one", "fd": "zp -> city"},
        {"name": "two", "dc": "not (s.zip = t.city)"},
        {"name": "three", "unique": "zip", "where": "citty = 'A'"},
        {"name": "four", "unique": "zip"},
    ]
    with pytest.raises(SchemaError) as caught:
        rf.check(table, rf.RuleBook.of({"version": 1, "rules": rules}))
    first, second, third = str(caught.value).splitlines()
    assert first == "There is no column 'zp' (in one). Did you mean 'zip'?"
    assert second.startswith("Cannot compare 'zip' (int64) with 'city' (string) (in two).")
    assert third == "There is no column 'citty' (in the condition of three). Did you mean 'city'?"


def test_errors_carry_their_facts() -> None:
    with pytest.raises(SchemaError) as missing:
        rf.count(TABLE, "unique(nothing)")
    assert missing.value.facts == {"column": "nothing", "known": tuple(TABLE.column_names), "rule": "unique_nothing"}
    with pytest.raises(DataError) as repeated:
        rf.check(pa.table({"a": [1, 1]}), "unique(a)", key="a")
    assert repeated.value.facts == {"key": ("a",), "values": {"a": 1}, "count": 2, "quoted": (("a", "1"),)}
    assert str(repeated.value).endswith("Choose columns that identify a row.")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: rf.count(TABLE, "unique(zip)", engine=5), "engine must be 'auto', 'spark' or 'local', not 5"),  # type: ignore[arg-type]
        (lambda: rf.discover(TABLE, columns=[5]), "columns must be names of columns, not 5"),  # type: ignore[list-item]
        (lambda: rf.discover(TABLE, max_predicates=10**30), "max_predicates must be at most"),
        (lambda: rf.discover(TABLE, threads=10**30), "threads must be at most"),
        (lambda: rf.discover(TABLE, seed=-1), "seed must be at least 0"),
        (lambda: rf.discover(TABLE, time_limit=float("nan")), "time_limit must be above 0"),
        (lambda: rf.discover(TABLE, where=5), "where must be a condition as text"),  # type: ignore[arg-type]
        (lambda: rf.check(TABLE, "unique(zip)", progress=5), "progress must be a function"),  # type: ignore[arg-type]
        (lambda: rf.parse(5), "A rule must be a text, not int"),  # type: ignore[arg-type]
        (lambda: rf.load_rules(5), "not int"),  # type: ignore[arg-type]
        (lambda: rf.load_rules("/no/such/rules"), "There is no file or folder '/no/such/rules'"),
        (lambda: rf.load_rules("/"), "is a folder, not a file of rules"),
        (lambda: rf.check(TABLE, "unique(zip)").to_json(5), "The path must be a text or a Path"),  # type: ignore[arg-type]
        (lambda: rf.check(TABLE, "unique(zip)").to_json("a\0b"), "zero byte"),
        (lambda: rf.count("a" * 5000 + ".csv", "unique(a)", engine="local"), "There is no file"),
        (lambda: rf.check(TABLE, "unique(zip)").violations("unique_zip", 0), "limit must be at least 1"),
        (lambda: rf.check(TABLE, "unique(zip)").violations("unique_zip", True), "limit must be a whole number"),
        (lambda: rf.check(TABLE, "unique(zip)").violations("unique_zap"), "Did you mean 'unique_zip'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_in_words(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(RefuteError, match=message):
        ask()


def test_rows_of_columns_that_arrow_cannot_choose_from_are_split_too() -> None:
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", "y"]))
    table = pa.table(
        {"a": [1, 1, 2], "v": pa.array(["p", None, "q"], pa.string_view()), "b": pa.array([b"1"] * 3, pa.binary_view())}
    ).append_column("r", pa.chunked_array([ends]))
    clean, dirty = rf.check(table, "unique(a)").split(blame="all")
    assert clean.column("v").to_pylist() == ["q"]
    assert dirty.column("v").to_pylist() == ["p", None]
    assert dirty.column("r").to_pylist() == ["x", "x"]


@pytest.mark.parametrize("rule", ["row(qty >= 0)", "row(qty >= id)", "row(id <= qty)"])
def test_a_column_that_a_few_cells_make_a_text_is_said_to_be_one_by_its_first_such_cell(rule: str) -> None:
    rows = pa.table({"id": range(6), "qty": ["3", " 4.5", None, "n/a", "-1e3", "?"], "word": list("abc123")})
    with pytest.raises(
        SchemaError, match=r"'qty' is text because of cells such as 'n/a' in row 3. .*--null-values"
    ) as error:
        rf.check(rows, rule)
    assert "Write it like" not in str(error.value)
    assert "'n/a'" not in str(error.value.hiding(lambda _: True, "(hidden)"))
    with pytest.raises(SchemaError, match=r"Did you mean 'qty'") as error:
        rf.check(rows, [rule, "unique(qtyy)", "row(qty < 9)"])
    assert str(error.value).count("'n/a'") == 2
    hidden = error.value.hiding(lambda _: True, "(hidden)")
    assert "'n/a'" not in str(hidden) + repr(hidden.facts)
    with pytest.raises(SchemaError, match=r"Write it like") as error:
        rf.check(rows, "row(word >= 0)")
    assert "because" not in str(error.value)


def test_cells_that_are_read_as_null_leave_a_column_of_numbers(tmp_path: Path) -> None:
    file, rules = tmp_path / "day.csv", ["row(qty >= 0)", "not_null(qty)", "row(state in ('open', 'paid'))"]
    file.write_text("id,qty,state\n0,3,open\n1,n/a,opne\n2,5,paid\n")
    with pytest.raises(SchemaError, match="--null-values"):
        rf.check(str(file), rules, engine="local")
    report = rf.check(str(file), rules, engine="local", csv={"null_values": ["n/a"]})
    assert [result.finding.holds for result in report] == [True, False, False]
