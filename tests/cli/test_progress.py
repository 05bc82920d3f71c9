"""Progress: on a terminal once work lasts, and nowhere else."""

from __future__ import annotations

import io
import sys
import time

import pytest

from refute.cli import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, quiet: bool = False) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.counting("Checking", 2, quiet, patience=0.05) as step:
        step("first")
        time.sleep(0.3)
    return stream.getvalue()


def test_a_terminal_sees_how_many_steps_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown = _shown(monkeypatch, _Terminal())
    assert "Checking" in shown
    assert "1/2" in shown


def test_files_and_those_who_asked_for_silence_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shown(monkeypatch, io.StringIO()) == ""
    assert _shown(monkeypatch, _Terminal(), quiet=True) == ""
