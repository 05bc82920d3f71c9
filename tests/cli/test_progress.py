"""Progress: on a terminal once work lasts, and nowhere else."""

from __future__ import annotations

import io
import sys
import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest

import refute as rf
from refute.cli.output import progress
from refute.runtime import bars


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


def test_functions_of_the_library_show_a_bar_in_notebooks_and_where_they_are_asked_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own: list[object] = []
    with bars.stepping(own.append, "Checking", 1, str) as step:
        assert step == own.append
    for value in (None, False):
        with bars.stepping(value, "Checking", 1, str) as step:
            assert step is None
    monkeypatch.setattr(bars, "in_notebook", lambda: True)
    with bars.stepping(None, "Checking", 1, str) as step:
        step("a rule")
    with bars.stepping(False, "Checking", 1, str) as step:
        assert step is None


def test_a_notebook_shows_what_is_done_and_forgets_it_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    later = threading.Event()

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(data)
            later.set()

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        shown.append(data)
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    with bars.notebook_bar("Checking", 2, patience=0) as bar:
        bar.advance()
        bar.remark("zip_fixes_city")
        assert later.wait(20)
    assert shown[-2]["text/plain"].startswith("Checking: 1 of 2, zip_fixes_city, ")
    assert shown[-1] == {}
    with bars.notebook_bar("Checking", 2):
        pass  # too short for a bar
    assert shown[-1] == {}


def test_a_bar_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(bars.Bar, "remark", lambda _, text: shown.append(text))
    table = {"a": [1, 1, 2], "b": [1, 2, 3]}
    assert rf.check(pa.table(table), ["unique(a)", "a -> b"], progress=True).exit_code == 1
    assert sorted(shown) == ["a_fixes_b", "unique_a"]
    rf.propose(pa.table(table), progress=True)
    assert len(shown) > 2
    with pytest.raises(rf.errors.OptionError, match="progress must be a function that takes a rule, True or False"):
        rf.check(pa.table(table), "a -> b", progress="yes")  # type: ignore[arg-type]
