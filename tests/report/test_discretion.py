"""Values that a report keeps to itself, in whatever form it leaves the process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from refute.cli.app import run
from refute.errors import SchemaError

ROWS = 'id,zip,city,qty\nKEY-1,ZIP-9,Berlin,1\nKEY-2,ZIP-9,Berlin,2\nKEY-3,ZIP-9,Bernau,3\nKEY-4,ZIP-8,Leipzig,"-4"\n'
RULES = """version: 1
dataset: {key: [id]}
rules:
  - {name: zip_city, fd: "zip -> city"}
  - {name: order, dc: "not (s.zip = t.zip and s.city < t.city and s.qty > t.qty)"}
  - {name: positive, row: "qty >= 0"}
"""
SECRETS = {"id": ["KEY-1", "KEY-2", "KEY-3", "KEY-4"], "zip": ["ZIP-9", "ZIP-8"], "city": ["Berlin", "Bernau"]}


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    return ["check", str(tmp_path / "rows.csv"), str(tmp_path / "rules.yaml"), "--engine", "local", "--list", "5"]


@pytest.mark.parametrize(
    ("flags", "hidden"),
    [
        (["--mask", "city"], ["city"]),
        (["--mask", "city, zip"], ["city", "zip"]),
        (["--mask", "id"], ["id"]),
        (["--no-values"], ["id", "zip", "city"]),
    ],
    ids=" ".join,
)
def test_what_is_hidden_is_in_no_output(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], hidden: list[str]
) -> None:
    kinds = {"--json": "r.json", "--html": "r.html", "--junit": "r.xml", "--suspects": "s.csv"}
    outputs = [part for flag, name in kinds.items() for part in (flag, str(tmp_path / name))]
    assert run([*arguments, *flags, *outputs]) == 1
    told = {"terminal": capsys.readouterr().out}
    told |= {name: (tmp_path / name).read_text(encoding="utf-8") for name in kinds.values()}
    for name, text in told.items():
        for column, secrets in SECRETS.items():
            shown = [secret for secret in secrets if secret in text]
            assert not (column in hidden and shown), (name, column, shown)
        assert "***" in text, name
        shows = [column for column, secrets in SECRETS.items() if any(secret in text for secret in secrets)]
        assert set(shows) == set(SECRETS) - set(hidden) or name == "s.csv", "and all else is"


def test_listed_violations_leave_hidden_columns_out_and_need_the_key(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "clashes"
    assert run([*arguments, "--mask", "city", "-q", "--violations", str(folder)]) == 1
    assert pq.read_schema(folder / "zip_city.parquet").names == ["s", "t", "s_id", "s_zip", "t_id", "t_zip"]
    assert run([*arguments, "--no-values", "-q", "--violations", str(folder)]) == 1
    assert pq.read_schema(folder / "zip_city.parquet").names == ["s", "t", "s_id", "t_id"]
    assert run([*arguments, "--mask", "id", "--violations", str(folder)]) == 3
    assert "--mask hides 'id'" in capsys.readouterr().err


def test_a_column_that_is_not_there_cannot_be_hidden() -> None:
    report = rf.check(pa.table({"zip": [1, 1], "city": ["a", "b"]}), "zip -> city")
    with pytest.raises(SchemaError, match="Did you mean 'city'"):
        report.hiding("citty")
    hidden = report.hiding("city")
    assert hidden["zip_fixes_city"].values == {"s": {"zip": 1, "city": "***"}, "t": {"zip": 1, "city": "***"}}
    assert "***" not in str(report["zip_fixes_city"].values)
    assert hidden.suspects.rows == report.suspects.rows, "which rows they are is the answer itself"
