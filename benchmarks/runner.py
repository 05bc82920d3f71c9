"""Runs a case: contestants take turns, so a busy moment of the machine hits all of them alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from benchmarks.case import US, Case, Contestant
from benchmarks.machine import commit, load, machine
from benchmarks.measure import Measurement, Run, run_call, run_command

SLOW = 20.0  # seconds: a contestant that takes longer runs once


@dataclass(frozen=True, slots=True)
class Result:
    """What a case found."""

    case: Case
    measured: dict[str, Measurement]
    absent: dict[str, str]
    differing: tuple[str, ...]  # contestants whose answer is not ours
    prepared: dict[str, float]  # seconds that a worker took to load its data, which is not measured

    @property
    def claims(self) -> dict[str, bool]:
        """Each claim, and whether it held; none when we had nothing to run on."""
        return {claim.text: claim.holds(self.measured) for claim in self.case.claims if US in self.measured}

    def ratio(self, name: str) -> float:
        """How many times as long as we a contestant took."""
        return self.measured[name].seconds / self.measured[US].seconds

    def rows(self) -> Iterator[dict[str, Any]]:
        """One JSON row per contestant."""
        common = {
            "commit": commit(),
            "machine": machine(),
            "load": load(),
            "at": datetime.now(UTC).isoformat("T", "seconds"),
        }
        for name, found in self.measured.items():
            yield {
                "case": self.case.name,
                "contestant": name,
                "seconds": round(found.seconds, 6),
                "cpu_seconds": round(found.cpu_seconds, 6),
                "peak_mb": None if found.peak_bytes is None else round(found.peak_bytes / 2**20, 1),
                "ratio": round(self.ratio(name), 3),
                "runs": found.runs,
                "stopped": found.stopped,
                "same_answer": name not in self.differing,
                "prepared": self.prepared.get(name),
                **found.facts,
                **common,
            }


def run_case(case: Case, repeat: int, warm: bool = True, alone: bool = False) -> Result:
    """The result of a case: one unmeasured round to warm up, `repeat` rounds for the time, one for the memory.

    Peers that are slow are not asked for their memory. A case that is run once has a single round for all. Run `alone`,
    peers stay out and nothing is claimed: that is how two versions of Refute are measured.
    """
    if case.once:
        repeat, warm = 1, False
    contestants = [one for one in case.contestants() if not alone or one.name == US]
    case = replace(case, claims=()) if alone else case
    present = [contestant for contestant in contestants if not contestant.absent]
    assert not present or present[0].name == US, f"{case.name} must name us first"
    runs: dict[str, list[Run]] = {contestant.name: [] for contestant in present}
    slow: set[str] = set()
    for round_ in range(repeat + warm):
        for contestant in present:
            if contestant.name in slow:
                continue
            run = _run(contestant, memory=case.once)
            if run.seconds > SLOW or run.stopped:
                slow.add(contestant.name)
            if round_ or not warm or contestant.name in slow:
                runs[contestant.name].append(run)
    for contestant in present:
        timed_only = not case.once and contestant.command is None
        if timed_only and (contestant.name == US or contestant.name not in slow):
            peak = _run(contestant, memory=True).peak_bytes
            runs[contestant.name][-1] = replace(runs[contestant.name][-1], peak_bytes=peak)
        if contestant.worker is not None:
            contestant.worker.close()
    answers = {name: done[0].answer for name, done in runs.items() if not done[0].stopped}
    differing = tuple(name for name in answers if case.same_answer and answers[name] != answers[US])
    measured = {name: Measurement.of(done) for name, done in runs.items()}
    absent = {contestant.name: contestant.absent for contestant in contestants if contestant.absent}
    prepared = {one.name: one.worker.prepared for one in present if one.worker and one.worker.prepared is not None}
    return Result(case, measured, absent, differing, prepared)


def _run(contestant: Contestant, *, memory: bool = False) -> Run:
    if contestant.call is not None:
        return run_call(contestant.call, memory=memory)
    if contestant.worker is not None:
        return contestant.worker.run(memory=memory)
    assert contestant.command is not None
    return run_command(contestant.command)
