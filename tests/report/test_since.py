"""Reports beside what was known before: baselines and histories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.cli.app import run
from refute.errors import DataError, OptionError
from refute.report import baseline as baselines
from refute.report.baseline import Baseline
from refute.report.history import History

RULES = {
    "version": 1,
    "rules": [{"name": "fd", "fd": "a -> b"}, {"name": "order", "dc": "not (s.a = t.a and s.b < t.b and s.c > t.c)"}],
}
ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2)), max_size=6)


def report_of(rows: list[tuple[int, int, int]], ids: list[int] | None = None) -> rf.Report:
    table = pa.table({name: pa.array([row[at] for row in rows], pa.int64()) for at, name in enumerate("abc")})
    if ids is None:
        return rf.check(table, rf.RuleBook.of(RULES))
    return rf.check(table.append_column("id", pa.array(ids, pa.int64())), rf.RuleBook.of(RULES), key="id")


def expected(rows: list[tuple[int, int, int]], rule: str, ids: list[int] | None) -> Counter[Any]:
    """All clashes of a rule, by brute force: those of the symmetric one in one direction."""
    found: Counter[Any] = Counter()
    for i, s in enumerate(rows):
        for j, t in enumerate(rows):
            if rule == "fd" and i < j and s[0] == t[0] and s[1] != t[1]:
                pair = (s[:2], t[:2]) if ids is None else (ids[i], ids[j])
                found[frozenset(pair)] += 1
            if rule == "order" and i != j and s[0] == t[0] and s[1] < t[1] and s[2] > t[2]:
                found[(s, t) if ids is None else (ids[i], ids[j])] += 1
    return found


@pytest.mark.parametrize("keyed", [False, True])
@given(before=ROWS, after=ROWS, data=st.data())
def test_new_and_healed_violations_are_those_in_one_table_only(
    before: list[Any], after: list[Any], data: st.DataObject, keyed: bool
) -> None:
    def ids(rows: list[Any]) -> list[int] | None:
        return data.draw(st.permutations(range(7)))[: len(rows)] if keyed else None

    old, new = ids(before), ids(after)
    text = Baseline.of(report_of(before, old)).text()
    known = Baseline.parsed(text, "a baseline")
    report = report_of(after, new).against(known)
    for result in report:
        was, now = expected(before, result.name, old), expected(after, result.name, new)
        assert result.compared is not None
        assert result.compared.known == (was & now).total()
        assert len(result.compared.new) == (now - was).total()
        assert len(result.compared.healed) == (was - now).total()
        assert result.passed == (not now - was)
        counts, violations = result.compared.counts, result.finding.violations
        assert violations is not None
        assert counts["known"] + counts["new"] == violations, "in one unit with the violations beside them"
        assert counts["healed"] == (was - now).total() * (2 if result.name == "fd" else 1)
        if now - was:
            assert result.finding.witness is not None
            assert result.values is not None
            shown = [result.values[role] for role in "st"]
            read = "ab" if result.name == "fd" else "abc"
            pair: Any = tuple(
                result.finding.witness if keyed else (tuple(row[c] for c in read) for row in shown if row)
            )
            assert (frozenset(pair) if result.name == "fd" else pair) in now - was, "the clash that is shown is new"
            assert not keyed or pair == tuple(row["id"] for row in shown if row)
    assert report.ok == all(result.passed for result in report)
    assert Baseline.parsed(text, "a baseline").text() == text


def test_a_baseline_lets_known_violations_pass_and_names_the_healed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, file = tmp_path / "rows.csv", tmp_path / "known.json"
    data.write_text("id,zip,city\n1,9,Berlin\n2,9,Bernau\n3,7,Ulm\n", encoding="utf-8")
    check = ["check", str(data), "zip -> city", "--engine", "local", "--key", "id"]
    assert run([*check, "--write-baseline", str(file)]) == 1
    assert run([*check, "--baseline", str(file)]) == 0
    assert "known zip_fixes_city: 2 violations in 2 rows, 0 of them new" in capsys.readouterr().out
    data.write_text("id,zip,city\n1,9,Berlin\n2,9,Berlin\n3,7,Ulm\n4,7,Bonn\n", encoding="utf-8")
    assert run([*check, "--baseline", str(file)]) == 1
    told = capsys.readouterr().out
    assert "2 violations in 2 rows, 2 of them new" in told, "both orders, as in the count"
    assert "healed since the baseline: 1 with 2" in told
    assert "new since the baseline: 3 with 4" in told
    assert run([*check[:-1], "zip", "--baseline", str(file)]) == 3, "the key must be the same, and unique"
    past = tmp_path / "past"
    assert run([*check, "--history", str(past), "--mask", "nope"]) == 3
    assert not past.exists(), "nothing is written for a check that cannot be shown"


def test_every_form_counts_new_violations_in_the_unit_of_violations() -> None:
    known = Baseline.of(report_of([(0, 0, 0), (0, 0, 1)]))
    report = report_of([(0, 0, 0), (0, 1, 1)]).against(known)
    assert report["fd"].to_dict()["violations"] == 2
    assert report["fd"].to_dict()["baseline"] == {"known": 0, "new": 2, "healed": 0, "changed": False}
    assert report.to_arrow().select(["rule", "new", "healed"]).to_pylist()[0] == {"rule": "fd", "new": 2, "healed": 0}
    assert "2 violations in 2 rows, 2 of them new" in str(report)


def test_rules_with_known_violations_only_blame_nobody_and_others_say_what_counts() -> None:
    before = [(0, 0, 0), (0, 1, 0), (1, 0, 9), (1, 5, 5)]
    known = Baseline.of(report_of(before))
    after = report_of([*before, (0, 2, 0)])
    assert set(after.suspects.shares) == {"fd", "order"}
    report = after.against(known)
    assert report["order"].state.value == "known"
    assert [name for name, share in report.suspects.shares.items() if share] == ["fd"]
    assert report.suspects.notes == ("Known violations of 'fd' count too, not only new ones.",)
    assert after.suspects.notes == ()
    assert "Known violations of &#39;fd&#39; count too" in report.to_html()
    assert "Known violations of 'fd' count too" in str(report)


def test_a_history_that_cannot_be_read_is_reported_before_anything_is_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, past = tmp_path / "rows.csv", tmp_path / "past"
    data.write_text("id,zip\n1,9\n", encoding="utf-8")
    check = ["check", str(data), "unique(id)", "--engine", "local", "-q", "--history", str(past)]
    assert run(check) == 0
    (past / "odd.parquet").write_text("not Parquet", encoding="utf-8")
    for more in ([], ["--html", str(tmp_path / "report.html")]):
        assert run([*check, *more]) == 3
        assert "odd.parquet': It is not a file of a history" in capsys.readouterr().err
    assert len(list(past.iterdir())) == 2
    assert not (tmp_path / "report.html").exists()


def test_what_is_not_a_baseline_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    report = report_of([(0, 0, 0), (0, 1, 0)])
    for text in ("{", "[]", '{"version": 1}', '{"version": 2, "key": [], "rules": {}}'):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"known\.json"):
            Baseline.read(file)
    with pytest.raises(DataError, match="none"):
        Baseline.read(tmp_path / "none.json")
    with pytest.raises(DataError, match="The key of the baseline is id"):
        report.against(Baseline(("id",), {}))
    changed = Baseline((), {"fd": baselines.KnownRule("another", {"[1, 2]": 1})})
    told = report.against(changed)["fd"]
    assert told.compared is not None
    assert told.compared.changed
    assert not told.passed


def test_too_many_violations_are_not_named() -> None:
    table = pa.table({"a": [1] * 500})
    with pytest.raises(OptionError, match="Give it a tolerance instead"):
        Baseline.of(rf.check(table, "unique(a)"))


def test_a_history_grows_by_a_file_a_run_and_gives_them_back_in_order(tmp_path: Path) -> None:
    history = History.of(tmp_path / "past")
    assert history.runs("t", ["fd"]) == {"fd": []}
    for rows in ([(0, 0, 0)], [(0, 0, 0), (0, 1, 0)], [(0, 0, 0), (0, 1, 0), (0, 2, 0)]):
        report = report_of(rows)
        history.add(report)
    found = history.runs(report.data.name, ["fd", "other"])
    assert [run.violations for run in found["fd"]] == [0, 2, 6]
    assert [run.state for run in found["fd"]] == ["ok", "error", "error"]
    assert found["other"] == []
    assert history.runs("another table", ["fd"]) == {"fd": []}
    (tmp_path / "past" / "z.parquet").write_text("no", encoding="utf-8")
    with pytest.raises(DataError, match=r"z\.parquet"):
        history.runs(report.data.name, ["fd"])
    assert report.to_pandas()["violations"].tolist() == [6, 0]


def test_rules_are_chosen_by_name_and_tag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,1\n1,2\n", encoding="utf-8")
    rules = (
        "version: 1\nrules:\n  - {name: one, unique: a, tags: [x]}\n"
        "  - {name: two, row: 'a > 0 and b > 0', tags: [x, y]}\n  - {name: three, fd: 'a -> b'}\n"
    )
    (tmp_path / "rules.yaml").write_text(rules, encoding="utf-8")
    check = ["check", str(tmp_path / "rows.csv"), str(tmp_path / "rules.yaml"), "--engine", "local"]
    assert run([*check, "--rule", "two"]) == 0, "an entry stands for its rules"
    assert run([*check, "--rule", "two[2]"]) == 0
    assert run([*check, "--tags", "y"]) == 0
    assert run([*check, "--tags", "x,y"]) == 1
    capsys.readouterr()
    for flags, said in (
        (["--rule", "tow"], "Did you mean 'two'?"),
        (["--tags", "z"], "'x' or 'y'"),
        (["--rule", "three", "--tags", "x"], "No rule has one of the names"),
    ):
        assert run([*check, *flags]) == 3
        assert said in capsys.readouterr().err


def test_a_baseline_of_references_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    reports = []
    for folder in ("one", "two"):
        place = tmp_path / folder
        place.mkdir()
        (place / "cities.csv").write_text("id\n1\n")
        (place / "rules.yaml").write_text("version: 1\nrules:\n  - {name: r, references: a -> cities.csv(id)}\n")
        reports.append(rf.check(pa.table({"a": [1, 2]}), rf.load_rules(place / "rules.yaml")))
    known = Baseline.of(reports[0])
    assert known.text() == Baseline.of(reports[1]).text()
    (result,) = reports[1].against(known)
    assert result.passed
    assert result.compared is not None
    assert not result.compared.changed
