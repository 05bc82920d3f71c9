"""Colours: on a terminal only, not where NO_COLOR is set, and never from data."""

from __future__ import annotations

import os
import pty
import select
from pathlib import Path

import pytest

from refute.cli.app import run

ROWS = "id,zip,city\n1,9,Berlin\n2,9,Ber\x1b[31mlin\n"


def on_terminal(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a run writes to a terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patched:
        patched.setattr("sys.stdout", terminal)
        assert run(arguments) == 1
        terminal.flush()
        told = b""
        while select.select([ours], [], [], 0)[0]:  # a terminal hands over what it has piece by piece
            told += os.read(ours, 1 << 16)
    os.close(ours)
    return told.decode()


def test_verdicts_are_coloured_on_a_terminal_unless_nobody_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    arguments = ["check", str(tmp_path / "rows.csv"), "zip -> city", "--engine", "local"]
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    coloured = on_terminal(arguments, monkeypatch)
    assert "\x1b[31m\x1b[1merror \x1b[0m" in coloured
    assert "Ber\x1b[31mlin" not in coloured, "what data asks for is not done"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            assert "\x1b" not in on_terminal(arguments, patched)
    assert run(arguments) == 1
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    assert "error zip_fixes_city: 2 violations in 2 rows" in plain
