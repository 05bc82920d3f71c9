"""Ctrl-C and SIGTERM while a search command works: it ends soon, with what was found, and says what is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from refute.cli.ending import Ending
from refute.cli.exits import Exit
from refute.discovery.options import DONE, Progress
from refute.language.rulebook.reading.load import load_rules

# The command, which sends itself a signal when it comes to a rule, and is slow then.
_SCRIPT = """
import os, signal, sys, time
from refute.cli.app import main
from refute.discovery import search
from refute.discovery.result import as_entries, discovery
from refute.proposing import result

moment, sign, times = sys.argv.pop(1), signal.Signals[sys.argv.pop(1)], int(sys.argv.pop(1))

def stopped():
    for _ in range(times):
        os.kill(os.getpid(), sign)
        time.sleep(2)

def told(real, place):
    def make(*given, **named):
        for number, rule in enumerate(real(*given, **named), 1):
            if number == place:
                stopped()
            yield rule
    return make

if moment == "ranking":
    real = search._Search._ranked
    search._Search._ranked = lambda *given: (stopped(), real(*given))[1]
elif moment == "both":  # in the search, and once more while the file is written
    real, times = search._Search._ranked, 1
    search._Search._ranked = lambda *given: (stopped(), real(*given))[1]
    as_entries.drafts = told(as_entries.drafts, 1)
elif moment == "starting":
    from refute.cli import source
    from refute.relation.read import files
    real = files.read_local
    files.read_local = lambda *given: (stopped(), real(*given))[1]
    import refute.relation
    refute.relation.read_local = files.read_local
elif moment == "ended":  # when the answer is given, and the process only has to end
    from refute.cli import app
    real = app._settle
    app._settle = lambda code: (real(code), stopped())
elif moment == "gone":  # and when Python has forgotten what to do on a signal
    class Last:
        def __del__(self, kill=os.kill, here=os.getpid(), sign=sign):
            kill(here, sign)
    sys.modules["last"] = Last()
elif moment == "writing":
    as_entries.drafts = told(as_entries.drafts, 100)
elif moment == "showing":
    discovery.CompleteDiscovery.each = told(discovery.CompleteDiscovery.each, 50)
else:
    result.Proposals.written = told(result.Proposals.written, 2)
main()
"""
COMPLETE = ("discover", "rows.csv", "--complete", "--no-cross-columns", "--top", "1000")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of some hundred rules."""
    found = tmp_path_factory.mktemp("ending")
    draws = np.random.default_rng(0).integers(0, 1000, (100, 8))
    head = ",".join(f"c{k}" for k in range(8))
    np.savetxt(found / "rows.csv", draws, fmt="%d", delimiter=",", header=head, comments="")
    (found / "people.csv").write_text("id,zip,age\n" + "".join(f"{i},z{i % 9},{i % 50}\n" for i in range(500)))
    return found


def run(folder: Path, moment: str, sign: str, times: int, *command: str) -> tuple[int, str, str]:
    """The exit code of a command that is stopped at a moment, and what it has printed."""
    script = [sys.executable, "-c", _SCRIPT, moment, sign, str(times)]
    done = subprocess.run(
        [*script, *command, "--engine", "local"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
def test_a_file_has_the_rules_that_were_written_by_then(folder: Path, sign: str) -> None:
    code, shown, said = run(folder, "writing", sign, 1, *COMPLETE, "--out", "cut.yaml", "--force")
    assert code == Exit.PARTIAL
    assert said.startswith("Wrote 99 proposed rules to cut.yaml, and stopped before the others.\n")
    text = (folder / "cut.yaml").read_text()
    assert "# Stopped while this was written, after 99 rules: others are missing.\n" in text
    assert len(load_rules(text)) == 99
    assert len(shown.splitlines()) > 99


def test_what_is_shown_ends_too_and_says_so(folder: Path) -> None:
    code, shown, said = run(folder, "showing", "SIGINT", 1, *COMPLETE)
    assert code == Exit.PARTIAL
    assert "Note: More rules were found than could be shown in time.\n" in shown
    assert len([line for line in shown.splitlines() if line.startswith("  ")]) == 49
    assert said == ""


def test_a_search_that_was_done_is_given_whole(folder: Path) -> None:
    code, shown, said = run(folder, "ranking", "SIGINT", 1, *COMPLETE[:4])
    assert code == Exit.HOLDS
    assert len([line for line in shown.splitlines() if line.startswith("  ")]) == 20
    assert said == ""


@pytest.mark.parametrize("moment", ["writing", "ranking", "both"])
def test_a_second_one_ends_the_command_and_leaves_the_file_as_it_was(folder: Path, moment: str) -> None:
    (folder / "kept.yaml").write_text("as it was")
    code, _, said = run(folder, moment, "SIGINT", 2, *COMPLETE, "--out", "kept.yaml", "--force")
    assert (code, said) == (Exit.FAILED, "refute: Interrupted.\n")
    assert (folder / "kept.yaml").read_text() == "as it was"
    assert not list(folder.glob(".kept*"))


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", [("init",), ("discover",), ("discover", "--complete")])
def test_a_command_that_is_stopped_before_it_searches_could_not_run(
    folder: Path, command: tuple[str, ...], sign: str
) -> None:
    (folder / "left.yaml").write_text("as it was")
    code, shown, said = run(folder, "starting", sign, 1, *command, "people.csv", "--out", "left.yaml", "--force")
    assert (code, shown, said) == (Exit.FAILED, "", "refute: Interrupted.\n")
    assert (folder / "left.yaml").read_text() == "as it was"


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("moment", ["ended", "gone"])
def test_a_signal_after_the_answer_changes_nothing_of_it(folder: Path, moment: str, sign: str) -> None:
    code, shown, said = run(folder, moment, sign, 1, "discover", "people.csv", "--quiet", "--out", "-")
    assert (code, said) == (Exit.HOLDS, "")
    assert len(load_rules(shown)) > 1


def test_a_page_has_the_rules_that_were_written_by_then(folder: Path) -> None:
    code, _, said = run(folder, "writing", "SIGINT", 1, *COMPLETE, "--html", "cut.html")
    page = (folder / "cut.html").read_text()
    assert (code, said) == (Exit.PARTIAL, "")
    assert page.count("Copy as rule") == 99
    assert "Stopped while this was written, after 99 rules: others are missing." in page


def test_two_at_once_are_an_interruption_whatever_they_break() -> None:
    def work() -> None:
        with Ending(None):
            for sign in (signal.SIGINT, signal.SIGTERM):
                with pytest.raises(KeyboardInterrupt):
                    os.kill(os.getpid(), sign)
            raise RuntimeError("release unlocked lock")

    with pytest.raises(KeyboardInterrupt):
        work()


@pytest.mark.parametrize("command", [("init",), ("discover", "--quiet")])
def test_proposals_are_written_as_far_as_they_were_by_then(folder: Path, command: tuple[str, ...]) -> None:
    code, _, said = run(folder, "proposals", "SIGINT", 1, *command, "people.csv", "--out", "few.yaml", "--force")
    assert code == Exit.PARTIAL
    assert said == "" or said.startswith("Wrote 1 proposed rule to few.yaml, and stopped before the others.\n")
    assert len(load_rules((folder / "few.yaml").read_text()).entries) == 1


def test_nothing_is_added_when_the_limit_has_passed_by_more_than_its_slack() -> None:
    with Ending(1.0) as ending:
        ending.begin(0.5)
        assert not ending.is_time_up()
        ending.begin(100.0)
        assert ending.is_time_up()
        assert list(ending.in_time(range(100))) == list(range(20))
        assert ending.is_cut


def test_progress_is_handed_on() -> None:
    heard: list[Progress] = []
    with Ending(None) as ending:
        follow = ending.following(heard.append)
        follow(Progress(DONE, 1, 2, 3))
    assert heard == [Progress(DONE, 1, 2, 3)]
