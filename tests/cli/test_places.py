"""Where commands write without Spark: paths, addresses of this machine, and clear words for every other place."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.data import TABLE
from refute.errors import OptionError
from refute.language.addresses import is_address, local_path

ROWS = "id,zip,city\n1,10115,Berlin\n2,10115,Bernau\n"
CLASH = "zip -> city"
FOREIGN = ("s3://bucket/out", "s3:/bucket/out", "hdfs://node:8020/out", "abfss://c@a.dfs.net/out", "gs://b/o")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table with a clash; the current folder is its own, so nothing strange is made there unseen."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    return "rows.csv"


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one message of a run that failed."""
    assert run(arguments) == Exit.FAILED
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("refute: ")
    assert told.err.count("\n") == 1
    return told.err.strip()


@pytest.mark.parametrize("place", FOREIGN)
@pytest.mark.parametrize("flag", ["--violations", "--json", "--html", "--junit"])
def test_a_place_that_only_spark_knows_is_refused_without_it(
    data: str, flag: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = failure(capsys, "check", data, CLASH, "--engine", "local", flag, place)
    assert told.startswith(f"refute: {flag} {place}: Only Spark can write there")
    assert [path.name for path in Path().iterdir()] == [data]


def test_tables_and_rule_files_elsewhere_are_refused_without_spark(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        ("check", data, CLASH, "--violations", "table:dq.clashes"),
        ("discover", data, "--out", "s3://bucket/rules.yaml"),
    ):
        assert "Only Spark can write there" in failure(capsys, *arguments, "--engine", "local")
    assert [path.name for path in Path().iterdir()] == [data]


def test_a_dash_is_stdout_or_refused_and_never_a_file(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.yaml").write_text('version: 1\nrules:\n- {name: a, fd: "zip -> city"}\n', encoding="utf-8")
    local = ["--engine", "local"]
    on_stdout = {
        "version: 1": [
            ["discover", str(TABLE), *local, "--out", "-"],
            ["convert", "rules.yaml", "--to", "yaml", "--out", "-"],
        ],
        "# yaml-language-server": [["init", data, *local, "--out", "-"]],
        "<!doctype html>": [["discover", data, *local, "--html", "-"], ["check", data, CLASH, *local, "--html", "-"]],
        "id,rule,": [["check", data, CLASH, *local, "--key", "id", "--suspects", "-"]],
    }
    for begins, commands in on_stdout.items():
        for command in commands:
            assert run(command) in (Exit.HOLDS, Exit.ERROR, Exit.PARTIAL)  # partial: nothing is proposed of so few rows
            told = capsys.readouterr()
            body = told.out if begins != "version: 1" else told.out[told.out.index("version") :]
            assert body.startswith(begins), command
            assert "proposed rule" not in told.err
            assert told.out.count("\n\n\n") == 0
    for refused in (
        ["discover", data, "--out", "-", "--html", "-"],
        ["check", data, CLASH, "--violations", "-"],
        ["check", data, CLASH, "--quarantine", "-"],
        ["check", data, CLASH, "--history", "-"],
        ["check", data, CLASH, "--write-baseline", "-"],
        ["demo", "--html", "-"],
    ):
        assert run([*refused, *local]) == Exit.FAILED
        assert capsys.readouterr().out == ""
    assert sorted(path.name for path in Path().iterdir()) == [data, "rules.yaml"]


def test_an_address_of_this_machine_is_a_path(data: str, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    base = (tmp_path / "a b").as_uri()
    assert base.startswith("file:///")
    assert "%20" in base
    outputs = ["--json", f"{base}/r.json", "--html", f"{base}/r.html", "--junit", f"{base}/r.xml"]
    violations = ["--violations", f"{base}/clashes"]
    assert run(["check", data, CLASH, "--engine", "local", "--quiet", *outputs, *violations]) == Exit.ERROR
    assert json.loads((tmp_path / "a b" / "r.json").read_text(encoding="utf-8"))["ok"] is False
    assert (tmp_path / "a b" / "r.html").read_text(encoding="utf-8").startswith("<!")
    assert (tmp_path / "a b" / "r.xml").read_text(encoding="utf-8").startswith("<?xml")
    assert pq.read_table(tmp_path / "a b" / "clashes").num_rows == 2
    assert (
        run(["discover", data, "--complete", "--engine", "local", "--quiet", "--out", f"{base}/found.yaml"])
        == Exit.HOLDS
    )
    assert len(rf.load_rules(tmp_path / "a b" / "found.yaml")) > 0


def test_what_cannot_be_written_is_told_before_the_check(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    for flag, place, told in (
        ("--json", "folder", "Cannot write to 'folder': It is a folder, and --json takes a file"),
        ("--html", "none/r.html", "Cannot write to 'none/r.html': There is no folder none"),
        ("--violations", data, f"Cannot write to {data!r}: It is a file, and --violations takes a folder"),
        ("--json", "file://elsewhere/r.json", "'file://elsewhere/r.json' is not on this machine"),
        ("--junit", "table:x", "'table:x' is not a file or an address."),
        ("--violations", "table:", "'table:' is not a folder, an address or table:schema.name."),
    ):
        # A rule that does not fit shows that nothing was checked: places come first.
        assert told in failure(capsys, "check", data, "nothing -> at_all", "--engine", "local", flag, place)


def test_reports_and_rule_books_of_the_library_never_make_folders_of_addresses(data: str) -> None:
    report = rf.check(pa.table({"zip": ["10115", "10115"], "city": ["Berlin", "Bernau"]}), CLASH)
    for place in FOREIGN:
        for write in (report.to_json, report.to_html, report.to_junit, rf.RuleBook.of(CLASH).to_yaml):
            with pytest.raises(OptionError, match=r"is not on this machine. Write the text that this returns"):
                write(place)
    assert [path.name for path in Path().iterdir()] == [data]
    assert json.loads(report.to_json(Path("r.json").absolute().as_uri())) == json.loads(Path("r.json").read_text())


def test_paths_and_addresses_are_told_apart() -> None:
    assert [is_address(text) for text in ("s3://b", "file:/x", "C:/x", "a:b", "x/s3://b", "-")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert local_path("file:/tmp/a%20b") == Path("/tmp/a b") == local_path("file://localhost/tmp/a%20b")
    assert local_path("C:/x") == Path("C:/x")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--conf", "spark.x"], "'spark.x' is not of the form NAME=VALUE, as in spark.executor.memory=4g."),
        (["--conf", "=1"], "'=1' is not of the form NAME=VALUE"),
        (["--conf", "a b=1"], "'a b=1' is not of the form NAME=VALUE"),
        (["--conf", "fs.s3a.key=1"], "'fs.s3a.key' is not a Spark setting; their names begin with 'spark.'."),
        (["--conf", "spark.master=local"], "spark.master has its own flag: --master."),
        (["--conf", "spark.a=1", "--engine", "local"], "so --master, --remote, --conf and --py-files have no"),
        (["--py-files", "a.zip", "--engine", "local"], "so --master, --remote, --conf and --py-files have no"),
    ],
)
def test_bad_settings_are_one_message(
    data: str, given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in failure(capsys, "check", data, CLASH, *given)


def test_convert_writes_files_of_this_machine_alone(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    book = Path("rules.yaml")
    rf.RuleBook.of(CLASH).to_yaml(book)
    told = failure(capsys, "convert", str(book), "--to", "sql", "--out", "s3://bucket/rules.sql")
    assert "'s3://bucket/rules.sql' is not on this machine. --out needs a file on this machine" in told
    assert run(["convert", str(book), "--to", "sql", "--out", Path("r.sql").absolute().as_uri()]) == Exit.HOLDS
    assert "zip" in Path("r.sql").read_text(encoding="utf-8")


def test_no_output_replaces_an_input_however_it_is_spelled(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.yaml").write_text(
        "rules:\n- {name: zip, fd: zip -> city}\n- {name: known, references: id -> all.csv(id)}\n"
    )
    Path("all.csv").write_text("id\n1\n2\n", encoding="utf-8")
    Path("linked.csv").symlink_to(data)
    Path("folder").mkdir()
    Path("folder/rows.csv").write_text(ROWS, encoding="utf-8")
    Path("known.json").write_text("{}", encoding="utf-8")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    here = Path().absolute()
    for arguments, what in (
        (("check", data, "rules.yaml", "--html", data), "DATA"),
        (("check", data, "rules.yaml", "--json", "linked.csv"), "DATA"),
        (("check", "linked.csv", "rules.yaml", "--suspects", f"./folder/../{data}"), "DATA"),
        (("check", "folder", CLASH, "--suspects", "folder/rows.csv"), "DATA"),
        (("check", "fold*/*.csv", CLASH, "--junit", (here / "folder/rows.csv").as_uri()), "DATA"),
        (("check", "folder/rows.csv", CLASH, "--quarantine", "folder"), "DATA"),
        (("check", "folder/rows.csv", CLASH, "--violations", str(here / "folder")), "DATA"),
        (("check", data, "rules.yaml", "--write-baseline", "rules.yaml"), "RULES"),
        (("check", data, "rules.yaml", "--json", "all.csv"), "a table of `references`"),
        (("check", data, CLASH, "--baseline", "known.json", "--html", "known.json"), "--baseline"),
        (("check", "s3://b/rows/day", CLASH, "--violations", "s3://b/rows/"), "DATA"),
        (("check", "sales.rows", CLASH, "--violations", "table:Sales.rows"), "DATA"),
        (("discover", data, "--force", "--out", data), "DATA"),
        (("discover", data, "--html", data), "DATA"),
        (("init", data, "--force", "--out", data), "DATA"),
        (("convert", "rules.yaml", "--to", "yaml", "--out", "./rules.yaml"), "IN"),
        (("convert", "rules.yaml", "--to", "yaml", "--header", data, "--out", data), "--header"),
        (("demo", "--html", str(TABLE)), "the sample"),
        (("track", data, "--state", "kept", "--json", data), "DATA"),
        (("track", data, "--state", "folder", "--out", "folder/new.yaml"), "files of 'folder'"),
        (("monitor", "folder", "--json", "folder/manifest.json"), "files of 'folder'"),
    ):
        assert f"would replace {what}, which this command reads. Name another place" in failure(capsys, *arguments)
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_no_output_becomes_data_of_the_next_run(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder/deep").mkdir(parents=True)
    Path("folder/rows.csv").write_text(ROWS, encoding="utf-8")
    Path("link").symlink_to("folder")
    for read, outputs in (
        ("folder", ("--suspects", "folder/suspects.csv")),
        ("folder/", ("--json", "folder/deep/report.json")),
        ("folder", ("--history", "link")),
        ("link", ("--violations", "folder/deep/clashes")),
        ("folder", ("--quarantine", "folder/deep")),
        ("folder/*.csv", ("--suspects", "./folder/new.csv")),
        ("folder/**/*.csv", ("--suspects", "folder/deep/new.csv")),
        ("fold*", ("--history", "folder/deep")),
        ("f[o]lder/**", ("--violations", "folder/clashes")),
    ):
        told = failure(capsys, "check", read, CLASH, "--engine", "local", *outputs)
        assert told.endswith("would be read with DATA from then on. Name another place."), told
    allowed: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("folder", ("--html", "folder/report.html")),
        ("folder", ("--history", "folder/_runs")),
        ("folder/*.csv", ("--history", "folder/deep", "--json", "folder/report.json")),
        ("folder/*.csv", ("--suspects", "folder/deep/new.csv")),
        ("folder/rows.csv", ("--suspects", "folder/new.csv")),
    )
    for read, more in allowed:
        assert run(["check", read, CLASH, "--engine", "local", "--quiet", *more]) == Exit.ERROR


def test_no_output_replaces_another(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link").symlink_to(".")
    for outputs, told in (
        (("--html", "r", "--json", "link/r"), "--json and --html name the same place. Give each its own"),
        (("--violations", "v", "--quarantine", "v/"), "--violations and --quarantine name the same place"),
        (("--json", "-", "--suspects", "-"), "--json and --suspects name the same place"),
        (("--quarantine", "q", "--html", "q/r.html"), "--quarantine q replaces the whole folder, and --html q/r.html"),
    ):
        Path("q").mkdir(exist_ok=True)
        assert told in failure(capsys, "check", data, CLASH, "--engine", "local", *outputs)
    quiet = ("check", data, CLASH, "--engine", "local", "--quiet")
    assert run([*quiet, "--html", "/dev/null", "--json", "/dev/null"]) == Exit.ERROR
    assert run([*quiet, "--write-baseline", "known.json", "--history", "."]) == Exit.ERROR
    assert run([*quiet, "--baseline", "known.json", "--write-baseline", "./known.json"]) == Exit.HOLDS


def test_discover_replaces_a_rule_file_only_where_told_to(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.yaml").write_text("mine", encoding="utf-8")
    told = failure(capsys, "discover", data, "--engine", "local", "--out", "rules.yaml")
    assert told == "refute: rules.yaml already exists. Add --force to write over it, or name another file with --out."
    assert Path("rules.yaml").read_text(encoding="utf-8") == "mine"
    again = ("discover", data, "--complete", "--engine", "local", "--quiet", "--out", "rules.yaml", "--force")
    assert run(again) == Exit.HOLDS
    assert len(rf.load_rules("rules.yaml")) > 0
