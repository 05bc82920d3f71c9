"""The frame of the benchmarks: turns, ratios, answers that must agree, and rows that say where they come from."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.case import US, Case, Claim, Contestant, no_peer_faster
from benchmarks.cases import all_cases
from benchmarks.compare import Figures, figures, worse
from benchmarks.dirt import KINDS, METHODS, Dependency, DirtyTable, scores, with_errors
from benchmarks.measure import Measurement, Run, run_call, run_command
from benchmarks.runner import run_case
from benchmarks.worker import Worker


def measured(**seconds: float) -> dict[str, Measurement]:
    """Measurements with these times."""
    return {name: Measurement.of([Run(value, value, None, None)]) for name, value in seconds.items()}


def test_contestants_take_turns_after_one_round_that_does_not_count() -> None:
    order: list[str] = []
    contestants = [Contestant(name, call=lambda name=name: order.append(name)) for name in (US, "peer")]  # type: ignore[misc]
    result = run_case(Case("turns", "", lambda: contestants), repeat=2)
    assert order == [US, "peer"] * 4, "the last round is for the memory"
    assert result.measured[US].runs == 2


def test_a_case_that_is_run_once_has_one_round_for_time_and_memory() -> None:
    order: list[str] = []
    contestants = [Contestant(name, call=lambda name=name: order.append(name)) for name in (US, "peer")]  # type: ignore[misc]
    result = run_case(Case("once", "", lambda: contestants, once=True), repeat=5)
    assert order == [US, "peer"]
    assert result.measured[US].runs == 1


def test_a_contestant_with_another_answer_is_named() -> None:
    contestants = [
        Contestant(US, call=lambda: 1),
        Contestant("same", call=lambda: 1),
        Contestant("other", call=lambda: 2),
    ]
    result = run_case(Case("answers", "", lambda: contestants), repeat=1)
    assert result.differing == ("other",)
    assert [row["same_answer"] for row in result.rows()] == [True, True, False]


def test_who_is_absent_is_reported_with_the_reason() -> None:
    contestants = [Contestant(US, call=lambda: 1), Contestant("peer", absent="not installed")]
    assert run_case(Case("absent", "", lambda: contestants), repeat=1).absent == {"peer": "not installed"}


def test_rows_carry_commit_and_machine() -> None:
    result = run_case(Case("rows", "", lambda: [Contestant(US, call=lambda: 1)]), repeat=1)
    (row,) = result.rows()
    assert row["case"] == "rows"
    assert row["ratio"] == 1.0
    assert row["commit"]
    assert {"cpu", "cores", "memory_gb", "python"} <= set(row["machine"])


def test_claims_are_judged_by_the_medians() -> None:
    assert no_peer_faster().holds(measured(refute=1.0, peer=1.0))
    assert not no_peer_faster(8).holds(measured(refute=1.0, peer=7.0))
    case = Case("claim", "", lambda: [Contestant(US, call=lambda: 1)], [Claim("never", lambda _: False)])
    assert run_case(case, repeat=1).claims == {"never": False}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a process")
def test_memory_is_what_the_call_took_at_its_peak() -> None:
    peak = run_call(lambda: len(bytearray(64 << 20))).peak_bytes
    assert peak is not None
    assert 60 << 20 < peak < 100 << 20


def test_a_command_is_measured_as_a_process_of_its_own() -> None:
    held = b"x" * (64 << 20)  # by this process, and not by the one that it starts
    run = run_command([sys.executable, "-c", "print(6 * 7)"])
    assert run.answer == b"42\n"
    assert run.peak_bytes is not None
    assert run.peak_bytes < len(held)
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_command([sys.executable, "-c", "raise SystemExit(3)"])


def nap(seconds: str) -> Callable[[], str]:
    """A job for a worker: sleep, then say for how long."""

    def run() -> str:
        time.sleep(float(seconds))
        return seconds

    return run


def test_a_worker_loads_once_and_answers_whenever_told_to() -> None:
    worker = Worker("test_benchmarks:nap", ("0.01",))
    with patched_path():
        runs = [worker.run() for _ in range(2)]
    worker.close()
    assert [run.answer for run in runs] == ["0.01"] * 2
    assert worker.prepared is not None
    assert not any(run.stopped for run in runs)


def test_a_worker_that_takes_too_long_is_stopped_and_counts_as_slower_than_that() -> None:
    with patched_path():
        contestants = [
            Contestant(US, call=lambda: "60"),
            Contestant("peer", worker=Worker("test_benchmarks:nap", ("60",), limit=0.2)),
        ]
        result = run_case(Case("limit", "", lambda: contestants), repeat=3)
    assert result.measured["peer"].stopped == "stopped after 0.2 s"
    assert result.measured["peer"].runs == 1
    assert result.differing == ()


def test_a_worker_that_fails_says_so() -> None:
    with patched_path():
        run = Worker("test_benchmarks:nap", ("long",)).run()
        assert run.stopped == "ran out of memory or failed"
        assert "loading" in Worker("test_benchmarks:no_such_job", ()).run().stopped


@contextmanager
def patched_path() -> Iterator[None]:
    """Lets workers import this file, and the packages of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
        yield


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in all_cases()]
    assert len(set(names)) == len(names)
    assert "import" in names


def test_methods_that_blame_are_scored_against_what_can_be_found() -> None:
    clean = pa.table({"zip": ["1"] * 4 + ["2"], "city": ["a"] * 4 + ["b"]})
    dirty = clean.set_column(1, "city", pa.array(["a", "a", "a", "x", "y"]))  # nothing tells that the last is wrong
    table = DirtyTable(dirty, clean, [Dependency(("zip",), "city")])
    assert table.dirty_rows.tolist() == [False, False, False, True, True]
    assert table.findable.tolist() == [False, False, False, True, False]
    for name in ("refute", "majority", "greedy"):
        found = scores(table, METHODS[name](table))
        assert (found["F1"], found["recall of all"]) == (1, 0.5)
    ours = scores(table, METHODS["refute"](table))
    assert (ours["cells"], ours["values"], ours["values right"]) == (1, 1, 1)
    assert scores(table, METHODS["all rows"](table))["precision"] == 0.25


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_a_seed_are_the_same_each_time_and_one_a_row(kind: str) -> None:
    clean = pa.table({"zip": [str(i // 5) for i in range(100)], "city": [f"city {i // 5}" for i in range(100)]})
    rules = [Dependency(("zip",), "city")]
    one, again = (with_errors(clean, rules, kind, 0.2, 7) for _ in range(2))
    assert one.dirty.equals(again.dirty)
    wrong = np.sum(list(one.wrong.values()), axis=0)
    assert max(wrong) == 1
    assert 10 <= sum(wrong) <= 20


def test_alone_leaves_peers_and_claims_out() -> None:
    called: list[str] = []
    contestants = [Contestant(name, call=lambda name=name: called.append(name)) for name in (US, "peer")]  # type: ignore[misc]
    case = Case("alone", "", lambda: contestants, [Claim("needs the peer", lambda found: found["peer"].seconds > 0)])
    result = run_case(case, repeat=1, alone=True)
    assert set(called) == {US}
    assert not result.claims


def test_versions_are_compared_by_both_clocks_and_by_memory() -> None:
    before = {name: Figures(1.0, 1.0, 100.0) for name in ("same", "slow", "busy", "large", "gone")}
    after = {
        "same": Figures(1.05, 1.09, 101.0),
        "slow": Figures(1.2, 1.2, 90.0),
        "busy": Figures(3.0, 1.0, None),  # other processes ran
        "large": Figures(0.5, 0.5, 120.0),
        "new": Figures(9.0, 9.0, 9.0),
    }
    assert worse(before, after) == {"slow": "slower", "large": "more memory"}


def test_figures_of_a_file_are_medians_of_our_own_rows(tmp_path: Path) -> None:
    rows = [
        {"case": "a", "contestant": who, "seconds": time_, "cpu_seconds": 2 * time_, "peak_mb": peak}
        for who, time_, peak in ((US, 1.0, None), (US, 3.0, 7.0), (US, 2.0, 5.0), ("peer", 90.0, 90.0))
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert figures(path) == {"a": Figures(2.0, 4.0, 6.0)}
