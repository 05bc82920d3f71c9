"""A tolerance of suspects: the rows to blame for one rule, which grow with every further mistake."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest

import refute as rf
from random_cases import random_case
from refute.detect.local import LocalEngine
from refute.errors import RuleError
from refute.language.formats.dbt import write
from refute.language.rulebook import Limit, RuleBook, Tolerance
from refute.language.rulebook.reading.loader import book_from_yaml
from refute.report.forms.as_json import shipped_schema
from refute.watching.watcher import Watcher, WatchOptions
from thorough import THOROUGH

CASES = 2_000 if THOROUGH else 60
BOOK = "rules:\n- name: zips\n  fd: zip -> city\n  tolerance: {suspects: 1}\n"


def rows(wrong: int) -> pa.Table:
    """A group of twelve rows, so many of them wrong, each in another way, and a row alone."""
    cities = [f"wrong {i}" if i < wrong else "right" for i in range(12)]
    return pa.table({"id": range(13), "zip": [*["94110"] * 12, "1"], "city": [*cities, "x"]})


@pytest.mark.parametrize("seed", range(CASES))
def test_the_rows_to_blame_for_a_rule_are_those_of_suspects(seed: int) -> None:
    table, (rule,) = random_case(seed)
    assert LocalEngine(table).blamed(rule) == rf.suspects(table, rule).count


def test_one_wrong_row_is_one_although_its_whole_group_clashes() -> None:
    book = RuleBook.of(book_from_yaml(BOOK))
    for wrong, passes in ((0, True), (1, True), (2, False)):
        report = rf.check(rows(wrong), book)
        result = report.results[0]
        assert (report.ok, result.suspects) == (passes, wrong or None)
        assert result.finding.rows == (12 if wrong else 0), "which does not tell one from two"
    assert "in 12 rows, 2 rows to blame" in str(report)
    jsonschema.validate(json.loads(report.to_json()), json.loads(shipped_schema()))
    assert json.loads(report.to_json())["rules"][0]["tolerance"] == {"suspects": 1}
    assert rf.suspects(rows(1), book).count == 0, "what is tolerated blames nobody"
    assert rf.suspects(rows(2), book).count == 2


def test_a_tolerance_of_suspects_is_read_and_written() -> None:
    (rule,) = book_from_yaml(BOOK)
    assert rule.tolerance == Tolerance.of(suspects=1)
    text = RuleBook.of([rule]).to_yaml()
    assert [one.tolerance for one in book_from_yaml(text)] == [rule.tolerance]
    assert str(Tolerance.of(rows="5%", suspects="0.30%")) == "5% rows, 0.3% suspects"
    assert Tolerance.of(suspects="10%").counted(25) == Tolerance.of(suspects=2)
    assert Tolerance.of(suspects="10%").allows(900, 30, 30, suspects=3)
    assert not Tolerance.of(suspects="10%").allows(900, 30, 30, suspects=4)
    assert not Tolerance.of(suspects="10%", rows=3).allows(900, 30, 30, suspects=3)
    assert Tolerance(suspects=Limit.share(2, 983)).plain() == {"suspects": "0.3%"}
    with pytest.raises(RuleError, match="rows, suspects or violations"):
        book_from_yaml(BOOK.replace("{suspects: 1}", "1"))
    with pytest.raises(RuleError, match="not on rows, suspects or shares"):
        write(RuleBook.of([rule]))


def test_a_rule_about_one_row_blames_the_rows_that_break_it() -> None:
    book = book_from_yaml("rules:\n- name: ids\n  row: id <= 10\n  tolerance: {suspects: 2}\n")
    assert rf.check(rows(0), book).results[0].suspects == 2
    assert rf.check(rows(0), book).ok


def test_a_monitor_and_a_watch_judge_as_a_check(tmp_path: Path) -> None:
    book = RuleBook.of(book_from_yaml(BOOK))
    for wrong, passes in ((1, True), (2, False)):
        monitor = rf.Monitor(book, key="id")
        monitor.insert(rows(wrong))
        assert monitor.report().ok is passes
        folder = tmp_path / str(wrong)
        watcher = Watcher.open(folder, WatchOptions(tuple(book), ("id",)))
        (folder / "checkpoint").mkdir()
        (folder / "checkpoint" / "metadata").write_text('{"id": "query"}')
        record = watcher.take(0, "query", rows(wrong))
        assert record is not None
        assert record.rules[0].broken is not passes
