"""`refute discover` from the shell, on files read in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.cli.app import run
from refute.cli.exits import Exit
from refute.language.rulebook import Status
from refute.language.rulebook.reading.load import load_rules

ROWS = "id,zip,city,qty\n" + "".join(f"{i},{i % 5:05},c{i % 5 % 3},{i * 7 % 11}\n" for i in range(40))
BROKEN = ROWS + "40,00001,c2,3\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Forty rows whose zip tells the city."""
    file = tmp_path / "rows.csv"
    file.write_text(ROWS, encoding="utf-8")
    return file


def discover(data: Path, *arguments: str) -> int:
    """The exit code of `refute discover --complete` in this process."""
    return run(["discover", str(data), "--complete", *arguments, "--engine", "local", "--no-cross-columns"])


def proposed(data: Path, *arguments: str) -> int:
    """The exit code of `refute discover` in this process."""
    return run(["discover", str(data), *arguments, "--engine", "local"])


def test_rules_that_a_few_rows_break_are_proposed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(
        "id,zip,city,qty\n"
        + "".join(f"{i},z{i % 20:02},{'?' if i % 97 == 5 else f'c{i % 20 // 2}'},{i * 7 % 11}\n" for i in range(400))
    )
    file = tmp_path / "rules.yaml"
    assert proposed(data, "--out", str(file)) == Exit.HOLDS
    told = capsys.readouterr()
    assert "  zip -> city\n" in told.out
    assert "Two rows with the same zip have the same city. 5 of 400 rows break it, by chance" in told.out
    assert f"proposed rules to {file}" in told.err
    assert run(["check", str(data), str(file), "--engine", "local", "--quiet"]) == Exit.HOLDS
    assert proposed(data, "--kinds", "key", "--tendencies", "--top", "1") == Exit.HOLDS
    assert "unique(id)" in capsys.readouterr().out
    assert proposed(data, "--time-limit", "0.000001") == Exit.PARTIAL


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--error", "0.1"), "--error needs --complete"),
        (("--no-cross-columns",), "--cross-columns needs --complete"),
        (("--nulls", "equal"), "--nulls equal needs --complete"),
        (("--complete", "--tendencies"), "--tendencies cannot be used with --complete"),
        (("--kinds", "keyy"), "Did you mean 'key'?"),
        (("--columns", "zip,citty"), "Did you mean 'city'?"),
        (("--where", "zip ="), "^"),
    ],
)
def test_options_of_the_other_search_are_refused(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    assert proposed(data, "--quiet", *arguments) == Exit.FAILED
    assert expected in capsys.readouterr().err


def test_the_best_rules_are_shown_in_words(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert discover(data, "--max-predicates", "2", "--top", "30") == Exit.HOLDS
    told = capsys.readouterr().out
    assert "Two rows with the same zip have the same city." in told
    assert "No two rows have the same id." in told
    assert "Note: Rules of more than 2 predicates were not searched" in told


def test_top_limits_what_is_shown_and_out_has_all(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "proposed.yaml"
    assert discover(data, "--max-predicates", "2", "--top", "1", "--out", str(file)) == Exit.HOLDS
    told = capsys.readouterr()
    book = load_rules(file)
    assert "the best:" in told.out
    assert f"Wrote {len(book.entries)} proposed rules to {file}" in told.err
    assert len(book) > 1
    assert {rule.status for rule in book} == {Status.PROPOSED}
    assert run(["check", str(data), str(file), "--engine", "local", "--quiet"]) == Exit.HOLDS


def test_columns_limit_the_search(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "proposed.yaml"
    assert discover(data, "--columns", "zip, city", "--quiet", "--out", str(file)) == Exit.HOLDS
    assert {name for rule in load_rules(file) for name in rule.constraint.columns} == {"zip", "city"}


def test_a_condition_limits_the_rows(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text(BROKEN, encoding="utf-8")
    assert discover(data, "--columns", "zip,city", "--top", "50") == Exit.HOLDS
    assert "same zip have the same city" not in capsys.readouterr().out
    assert discover(data, "--columns", "zip,city", "--top", "50", "--where", "id < 40") == Exit.HOLDS
    assert "same zip have the same city" in capsys.readouterr().out


def test_almost_shows_rules_that_a_few_pairs_break(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text(BROKEN, encoding="utf-8")
    assert discover(data, "--columns", "zip,city", "--almost", "8") == Exit.HOLDS
    assert "Two rows with the same zip have the same city. (16 violations, 1 row to blame)" in capsys.readouterr().out


def test_a_search_that_was_stopped_exits_with_four(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert discover(data, "--time-limit", "0.000001") == Exit.PARTIAL
    assert "Note: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--columns", "zip,citty"), "Did you mean 'city'?"),
        (("--method", "tile"), "Did you mean 'tiles'?"),
        (("--error", "1.5"), "--error"),
        (("--time-limit", "-1"), "time_limit"),
        (("--where", "zip ="), "^"),
        (("--out", "/nowhere/at/all.yaml"), "/nowhere/at/all.yaml"),
    ],
)
def test_what_cannot_run_is_one_message(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    assert discover(data, "--max-predicates", "2", "--quiet", *arguments) == Exit.FAILED
    told = capsys.readouterr().err
    assert told.startswith("refute: ")
    assert "Internal error" not in told
    assert expected in told
