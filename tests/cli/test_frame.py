"""The frame of the command line: messages, exit codes, and the options that all commands share."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest

from refute.cli import app as frame
from refute.cli.app import COMMANDS, app, run
from refute.cli.exits import Exit
from refute.errors import DataError

CONTEXT = click.Context(app)


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one message of a run that could not be done."""
    assert run(arguments) == Exit.FAILED
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("refute: ")
    assert "Traceback" not in told.err
    return told.err


def test_every_command_exists_and_says_in_one_line_what_it_does() -> None:
    assert app.list_commands(CONTEXT) == list(COMMANDS)
    for name in COMMANDS:
        command = app.get_command(CONTEXT, name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(200)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_shared_options(name: str) -> None:
    command = app.get_command(CONTEXT, name)
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    assert {"--master", "--remote", "--quiet", "--nulls"} <= options


def test_the_exit_codes_are_those_that_scripts_rely_on() -> None:
    assert [code.value for code in (Exit.HOLDS, Exit.ERROR, Exit.WARN, Exit.FAILED, Exit.PARTIAL)] == [0, 1, 2, 3, 4]


def test_an_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "There is no command 'chek'. Did you mean 'check'?" in failure(capsys, "chek")


@pytest.mark.parametrize("name", ["propose", "verify", "count", "violations", "suspects"])
def test_the_name_of_a_function_leads_to_the_command_that_does_the_same(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hint = re.search(r"Try `refute (\w+) .*?(--\w+)?( \w+)?`", failure(capsys, name))
    assert hint is not None
    command = app.get_command(CONTEXT, hint[1])
    assert command is not None
    assert hint[2] is None or hint[2] in {option for parameter in command.params for option in parameter.opts}


def test_the_command_alone_shows_its_help_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == Exit.FAILED
    told = capsys.readouterr()
    assert run(["--help"]) == Exit.HOLDS
    assert told.out == ""
    assert told.err == capsys.readouterr().out


def test_a_glob_that_the_shell_spread_is_told_to_go_into_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "(rules.yaml). Quote the glob" in failure(capsys, "check", "1.csv", "2.csv", "rules.yaml")


def test_one_argument_too_many_is_not_taken_for_a_glob(capsys: pytest.CaptureFixture[str]) -> None:
    assert "extra argument (extra). See" in failure(capsys, "check", "1.csv", "rules.yaml", "extra")


def test_values_of_options_are_refused_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    check = ("check", "1.csv", "zip -> city")
    assert "'--list': 'x' is not a whole number." in failure(capsys, *check, "--list", "x")
    assert "'--time-limit': 'x' is not a number." in failure(capsys, "discover", "1.csv", "--time-limit", "x")
    assert "'--baseline': '' is not a file." in failure(capsys, *check, "--baseline", "")


def test_each_rule_that_does_not_fit_has_a_line_that_says_who_speaks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id,zip\n1,2\n", encoding="utf-8")
    (tmp_path / "rules.txt").write_text("zap -> id\nzop -> id\n", encoding="utf-8")
    told = failure(capsys, "check", str(tmp_path / "rows.csv"), str(tmp_path / "rules.txt"))
    assert [line.split("(")[0] for line in told.splitlines()] == [
        "refute: There is no column 'zap' ",
        "refute: There is no column 'zop' ",
    ]


@pytest.mark.parametrize("command", ["lint", "convert", "schema"])
def test_commands_that_read_no_data_do_not_offer_spark(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run([command, "--help"]) == Exit.HOLDS
    told = capsys.readouterr().out
    assert "--quiet" in told
    assert not re.search("--master|--remote|--conf|--py-files", told)


def test_an_unknown_option_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert re.search(r"No such option.*--jsn.*See `refute check --help`", failure(capsys, "check", "a", "b", "--jsn"))


def test_a_missing_argument_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'RULES'. These are a rule file, or a rule such as" in failure(capsys, "check", "data.csv")


def test_two_places_for_spark_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    told = failure(capsys, "demo", "--master", "local[1]", "--remote", "sc://x")
    assert "--master and --remote cannot be used together" in told


def test_an_error_of_ours_is_its_message(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise DataError("row 7 has no key")

    monkeypatch.setattr(frame.app, "main", fail)
    assert failure(capsys, "demo") == "refute: row 7 has no key\n"


def test_a_defect_never_looks_like_a_failed_rule(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(frame.app, "main", fail)
    assert "Internal error: ZeroDivisionError: division by zero" in failure(capsys, "demo")
    assert run(["demo", "--verbose"]) == Exit.FAILED
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), "refute: Interrupted.\n"),
        (EOFError(), "refute: Internal error: RuntimeError: A file ended too early. --verbose shows where.\n"),
    ],
)
def test_an_interruption_is_one_line_whatever_libraries_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: BaseException, told: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        logging.exception("KeyboardInterrupt while sending command.")  # as py4j does
        raise error

    monkeypatch.setattr("refute.cli.explain.open_data", interrupted)
    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        logging.getLogger().removeHandler(handler)
    try:
        assert run(["explain", "rows.csv", "unique(a)"]) == Exit.FAILED
        assert not logging.getLogger().handlers
    finally:
        for handler in handlers:
            logging.getLogger().addHandler(handler)
    assert capsys.readouterr() == ("", told)


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(**_: object) -> int:
        warnings.simplefilter("default")
        warnings.warn("types were inferred", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(frame.app, "main", warn)
    assert run(["demo"]) == 0
    assert capsys.readouterr() == ("", "refute: types were inferred\n")


def test_quiet_hides_warnings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame.app, "main", lambda **_: warnings.warn("hidden", UserWarning, stacklevel=1))
    assert run(["demo", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_help_and_version_exit_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert run(["check", "--help"]) == 0
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.endswith("refute 0.1.0\n")


def test_the_module_and_the_script_are_the_same_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "refute", "lint", "missing.yaml"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert "missing.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_while_the_command_is_loaded_is_one_line() -> None:
    script = """
import os, signal, sys
from refute.__main__ import main

class Sender:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Sender())
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "refute: Interrupted.\n")


@pytest.mark.parametrize(("close", "code"), [(True, 0), (False, 3)], ids=["closed", "left by its reader"])
def test_an_output_that_nobody_reads_is_no_failed_rule(tmp_path: Path, close: bool, code: int) -> None:
    (tmp_path / "rows.csv").write_text("a\n1\n", encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    redirect = "sys.stdout.close(); sys.stdout = None; " if close else ""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; {redirect}from refute.cli.app import main; main()",
            "check",
            "rows.csv",
            "unique(a)",
        ],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (code, "")
