"""Suspects as users ask for them: functions, reports, halves of tables, the command and the monitor."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from random_cases import random_case
from refute.cli.app import run
from refute.errors import OptionError
from thorough import THOROUGH

CASES = 2_000 if THOROUGH else 60

TABLE = pa.table(
    {
        "id": [1, 2, 3, 4, 5, 5],
        "zip": ["80836", "80836", "80836", "1", "1", "2"],
        "city": ["Fairdale", "Fairdale", "Faridale", "X", "X", None],
        "rate": [1, 2, 3, 4, 120, 5],
    }
)
RULES = ["zip -> city", "unique(id)", "row(rate <= 100)"]


def test_the_lines_say_who_why_and_what_it_should_be() -> None:
    found = rf.suspects(TABLE, RULES)
    assert (found.count, found.lower_bound, found.exact) == (2, 2, True)
    assert repr(found) == "Suspects(2 rows; no fewer will do)"
    assert found.shares == {"zip_fixes_city": 1 / 6, "unique_id": 1 / 6, "rate": 1 / 6}
    lines = list(found)
    assert [(line.row, line.rule, line.removed) for line in lines] == [
        (2, "zip_fixes_city", True),
        (4, "unique_id", True),
        (4, "rate", True),
    ]
    assert not any(line.either for line in lines), "the other rule tells which of the two is wrong"
    assert len(found) == found.to_arrow().num_rows == len(found.to_pandas()) == found.to_polars().height == 3
    assert "2 of 3 rows with zip 80836 say Fairdale" in str(found)


def test_rows_with_one_key_are_both_listed_and_one_stays() -> None:
    found = rf.suspects(TABLE, "unique(id)")
    assert [(line.row, line.either, line.removed, line.violations, line.clears) for line in found] == [
        (4, True, False, 2, 0),
        (5, True, True, 2, 2),
    ]
    assert found.count == 1
    assert "either" in str(found)


def test_ids_are_keys_where_given() -> None:
    keyed = TABLE.slice(0, 5)
    assert [line.row for line in rf.suspects(keyed, "zip -> city", key="id")] == [3]
    assert [line.row for line in rf.suspects(keyed, "zip -> city", key=["id", "zip"])] == [{"id": 3, "zip": "80836"}]


def test_a_flat_table_has_the_key_and_one_line_for_each_cell() -> None:
    names = [
        "rule",
        "violations",
        "clears",
        "column",
        "value",
        "suggestion",
        "support",
        "severity",
        "either",
        "removed",
    ]
    pay = pa.table({"rule": [1, 2, 3, 4, 5], "id": [5, 6, 7, 8, 9], "a": [10, 20, 30, 40, 50], "b": [1, 2, 9, 4, 5]})
    order = "not (s.a < t.a and s.b > t.b)"
    flat = rf.suspects(pay, order).to_arrow()
    assert flat.column_names == ["row", *names]
    assert flat.select(["row", "column", "value"]).to_pylist() == [
        {"row": 2, "column": "a", "value": "30"},
        {"row": 2, "column": "b", "value": "9"},
    ]
    keyed = rf.suspects(pay, order, key=["id", "rule"])
    assert keyed.to_arrow().column_names == ["id", "key_rule", *names]
    assert keyed.to_arrow()["key_rule"].to_pylist() == [3, 3]
    again = rf.suspects(pay.rename_columns(["rule", "key_rule", "a", "b"]), order, key=["rule", "key_rule"]).to_arrow()
    assert again.column_names == ["key_key_rule", "key_rule", *names]
    assert again.select([0, 1]).slice(0, 1).to_pylist() == [{"key_key_rule": 3, "key_rule": 7}]
    assert (keyed.rows, rf.suspects(pay, order, key="id").rows) == ([{"id": 7, "rule": 3}], [7])
    assert rf.suspects(TABLE, RULES).rows == [2, 4], "each once, whatever rules blame it"
    assert rf.suspects(TABLE, "unique(id)").rows == [5], "a row that stays is listed, and is not one that goes"
    empty = rf.suspects(TABLE.slice(0, 2), RULES)
    assert (empty.rows, empty.to_arrow().num_rows, empty.to_arrow().column_names) == ([], 0, ["row", *names])


def test_no_suspects_are_no_rows() -> None:
    found = rf.suspects(TABLE, "id -> rate", nulls="sql")
    clean = rf.suspects(TABLE.slice(0, 2), RULES)
    assert (found.count, clean.count, len(clean), clean.lower_bound) == (1, 0, 0, 0)
    assert repr(clean) == "Suspects(no rows)"
    assert list(clean) == []
    kept, suspects = clean.split()
    assert (kept.num_rows, suspects.num_rows) == (2, 0)
    assert rf.suspects(TABLE.slice(0, 0), RULES).count == 0


@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow], ids=["arrow", "pandas", "polars"]
)
def test_split_gives_clean_rows_and_suspects_with_reasons_in_a_table_of_the_same_kind(make: Any) -> None:
    table = make(TABLE)
    clean, suspects = rf.check(table, RULES).split()
    assert type(clean) is type(suspects) is type(table)
    names = [list(half.column_names if isinstance(half, pa.Table) else half.columns) for half in (clean, suspects)]
    assert names == [TABLE.column_names, [*TABLE.column_names, "refute"]]
    assert (len(clean), len(suspects)) == (4, 2)
    assert rf.check(clean, RULES).ok
    reasons = suspects["refute"].to_pylist() if isinstance(suspects, pa.Table) else list(suspects["refute"])
    assert [[one["rule"] for one in why] for why in reasons] == [["zip_fixes_city"], ["unique_id", "rate"]]
    assert reasons[0][0]["cells"][0]["suggestion"] == "Fairdale"


def test_split_by_all_keeps_its_old_meaning() -> None:
    report = rf.check(TABLE, RULES)
    clean, broken = report.split(blame="all")
    assert (clean.num_rows, broken.num_rows) == (1, 5)
    with pytest.raises(OptionError, match="blame must be 'suspects' or 'all'"):
        report.split(blame="none")


def test_a_rule_within_its_tolerance_blames_nobody() -> None:
    rules = {
        "version": 1,
        "rules": [
            {"name": "city", "fd": "zip -> city", "tolerance": {"rows": 3}},
            {"name": "rate", "row": "rate <= 100", "severity": "warn"},
        ],
    }
    for found in (rf.suspects(TABLE, rules), rf.check(TABLE, rules).suspects):
        assert [(line.row, line.rule, line.severity) for line in found] == [(4, "rate", "warn")]
        assert "city" not in found.shares
    rules["rules"][0]["tolerance"] = {"rows": 2}  # type: ignore[index]
    assert rf.suspects(TABLE, rules).count == 2


def test_both_readings_of_null_are_honoured() -> None:
    table = pa.table({"a": [1, 1, 1, 1, None, None], "b": ["x", "x", "x", None, "y", "y"]})
    assert rf.suspects(table, "a -> b").count == 0
    equal = rf.suspects(table, "a -> b", nulls="equal")
    assert [(line.row, line.cells[0].value, line.cells[0].suggestion) for line in equal] == [(3, None, "x")]
    apart = pa.table({"a": [None, None, None], "b": ["y", "y", "z"]})
    (line,) = rf.suspects(apart, "a -> b", nulls="equal")
    assert line.cells[0].support == "2 of 3 rows with a null say y"


def test_a_notebook_shows_hostile_cells_as_text() -> None:
    table = pa.table({"a": [1, 1, 1], "b": ["x", "x", "<script>alert(1)</script>"]})
    shown = rf.suspects(table, "a -> b")._repr_html_()
    assert "<script>" not in shown
    assert "2 of 3 rows with a 1 say x" in shown


def test_the_command_writes_suspects_and_both_halves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, folder = tmp_path / "data.parquet", tmp_path / "apart"
    pq.write_table(TABLE, data)
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules: [{name: city, fd: 'zip -> city'}, {name: rate, row: 'rate <= 100'}]\n")
    common = ["check", str(data), str(rules), "--engine", "local"]
    files = [tmp_path / name for name in ("s.csv", "s.json", "s.parquet")]
    for file in files:
        assert run([*common, "--suspects", str(file), "--quarantine", str(folder)]) == 1
    assert "Suspects: 2 rows; no fewer will do" in capsys.readouterr().out
    with files[0].open(newline="") as stream:
        (first, second) = csv.DictReader(stream)
    assert (first["row"], first["suggestion"], second["row"]) == ("2", "Fairdale", "4")
    assert [line["row"] for line in json.loads(files[1].read_text())] == [2, 4]
    assert pq.read_table(files[2]).equals(rf.suspects(TABLE, rf.load_rules(rules)).to_arrow())
    assert sorted(file.name for file in folder.iterdir()) == ["_SUCCESS", "clean.parquet", "suspects.parquet"]
    clean, suspects = pq.read_table(folder / "clean.parquet"), pq.read_table(folder / "suspects.parquet")
    assert (clean.num_rows, suspects.num_rows) == (4, 2)
    assert suspects.column_names[-1] == "refute"
    assert run([*common, "--suspects", "-"]) == 1
    assert capsys.readouterr().out.startswith("row,rule,violations,clears,column,value,suggestion,support")


def test_the_command_replaces_no_folder_that_holds_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.parquet"
    pq.write_table(TABLE, data)
    common = ["check", str(data), "zip -> city", "--engine", "local"]
    assert run([*common, "--quarantine", str(tmp_path)]) not in (0, 1, 2)
    assert "--quarantine would replace DATA" in capsys.readouterr().err
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").touch()
    assert run([*common, "--quarantine", str(other)]) not in (0, 1, 2)
    assert "it holds notes.txt" in capsys.readouterr().err
    assert run([*common, "--suspects", str(tmp_path / "s.txt")]) not in (0, 1, 2)
    assert "ends in .csv, .json or .parquet" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["data.parquet", "notes.txt", "other"]


def test_a_monitor_blames_the_same_rows_after_every_change() -> None:
    monitor = rf.Monitor(["zip -> city", "row(rate <= 100)"], key="id")
    monitor.insert(TABLE.slice(0, 4))
    assert [line.row for line in monitor.suspects] == [3]
    monitor.insert(TABLE.slice(4, 1))
    assert [line.row for line in monitor.suspects] == [3, 5]
    monitor.delete([3])
    again = rf.suspects(monitor.table(), ["zip -> city", "row(rate <= 100)"], key="id")
    assert list(monitor.suspects) == list(again)
    assert monitor.report().suspects.count == 1


def test_frames_of_pandas_keep_their_index() -> None:
    frame = pd.DataFrame({"a": [1, 1, 1], "b": [2, 2, 3]}, index=["x", "y", "z"])
    clean, suspects = rf.check(frame, "a -> b").split()
    assert (list(clean.index), list(suspects.index)) == (["x", "y"], ["z"])


def test_what_stays_of_random_tables_obeys_all_rules() -> None:
    for seed in range(CASES):
        table, rules = random_case(seed, rules=3)
        suspects = rf.suspects(table, rules)
        clean, blamed = suspects.split()
        assert rf.check(clean, rules).ok, seed
        assert blamed.num_rows == suspects.count >= suspects.lower_bound, seed
        assert clean.num_rows + blamed.num_rows == table.num_rows


def test_rows_that_errors_blame_come_first_then_those_in_most_violations() -> None:
    table = pa.table(
        {"id": [*range(9)], "a": [1, 1, 1, 2, 2, 3, 3, 3, 3], "b": [5, 5, 6, 7, 8, 9, 9, 9, 0], "c": [0] * 9}
    )
    table = table.set_column(3, "c", pa.array([0, 9, 0, 0, 0, 0, 0, 0, 9]))
    rules = {
        "version": 1,
        "rules": [{"name": "low", "row": "c < 5", "severity": "warn"}, {"name": "same", "fd": "a -> b"}],
    }
    report = rf.check(table, rules, key="id")
    assert [(line.row, line.rule) for line in report.suspects.first(10)] == [
        (8, "low"),
        (8, "same"),
        (2, "same"),
        (4, "same"),
        (1, "low"),
    ]
    assert [line.row for line in report.suspects.first(2)] == [8, 8]
    assert list(report.suspects.shares) == ["same", "low"]
    text = str(report)
    assert (
        text.index("Suspects: 4 rows; no fewer will do")
        < text.index("row 8")
        < text.index("row 2:")
        < text.index("warn ")
    )
    page = report._repr_html_()
    assert page.index("Suspects:") < page.index("<h3>")
    assert rf.suspects(table.slice(0, 2), "a -> b").first(3) == []
    keyed = rf.suspects(table, ["a -> b", "not (s.c > 5)"], key=["id", "a"])
    assert [line.row for line in keyed.first(2)] == [{"id": 8, "a": 3}] * 2


def test_rows_come_first_by_the_violations_of_all_rules_together() -> None:
    table = pa.table({"a": [1, 1, 1, 1, 2, 2, 2], "b": [0, 0, 0, 9, 5, 5, 6], "c": [1, 1, 1, 1, 2, 2, 3]})
    rules = ["a -> b", "a -> c", "b -> c"]  # row 3: 6 violations of one rule; row 6: 4 of each of two
    suspects = rf.suspects(table, rules)
    assert {(line.row, line.violations) for line in suspects} == {(3, 6), (6, 4)}
    assert [line.row for line in suspects.first()] == [6, 6, 3]
    assert suspects.first(0) == []
    with pytest.raises(OptionError, match="from 0 on, not -1"):
        suspects.first(-1)


def test_a_report_that_does_not_look_for_suspects_says_so_and_shows_those_that_were_asked_for() -> None:
    n = 150_000
    large = pa.table({"a": pa.array(range(n)), "b": pa.array([*range(n - 1), 0]), "c": pa.array([0] * n)})
    report = rf.check(large, "a -> b")
    assert "Suspects: " not in str(report), "nothing is wrong"
    assert "Suspects: 1 row; no fewer will do" in str(rf.check(large, "unique(b)")), "groups are cheap"
    costly = rf.check(large, ["unique(b)", *(f"not (s.a < t.b and s.b < t.c and s.c != {i})" for i in range(3))])
    assert "Suspects are not searched for by default" in str(costly)
    assert "not searched for by default" in costly.to_html()
    assert costly.suspects.count == 1
    assert "Suspects: 1 row; no fewer will do" in str(costly)
    verified = rf.check(large, "unique(b)", counts=False)
    assert "Suspects" not in str(verified)
