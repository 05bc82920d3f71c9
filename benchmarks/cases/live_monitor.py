"""Monitors of a million rows: what batches, single rows and deletes cost, in memory and on disk.

Figures are CPU milliseconds of this process, by batch, with all that a user waits for: keys are looked up, values
encoded, rows kept, runs merged. Facts named `weever_..._elsewhere` were not measured in the same run and are no peers:
they are CPU milliseconds of Weever's published Java code for the same rules over 1,000,000 rows of Tax, from another
run on another day.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.measure import Measurement, Told
from benchmarks.rules import RULES
from benchmarks.tables import DATA, MILLION, read, tax
from benchmarks.worker import Worker

STEP = 1000  # rows of a batch
FILL = 10_000  # rows of the batches that come before the clock starts
TABLE = MILLION + 200_000  # rows of the table: those that are there, and those that come while the clock runs
FEWER = 100_000
DIRTY = 0.0002  # wrong cells per row
BATCHES = 10  # of a measured call
SINGLES = 200  # rows of a measured call that come one by one
FOUR = ("c1", "c2", "c3", "c4")
LOGGED = 137_700  # bytes that a commit of a batch appends to the log, in the mean
LONG = 300.0  # seconds that a whole stream may take
SOME = 64  # batches of a stream for which kernels are loaded before the clock starts

# CPU ms of Weever, measured elsewhere: 1000 inserts, the least of 1000 deletes, and growth from 100,000 to a million.
WEEVER = {"c1": 1.6, "c2": 6.0, "c3": 82.0, "c4": 543.0, "all": 674.0}
WEEVER_DELETES = 4.0
WEEVER_GROWTH = 7.5

CLAIMED = {"c1": 2.0, "c2": 2.0, "c3": 2.0, "c4": 6.0, "all": 12.0}  # ms for 1000 inserts

Names = Sequence[str]


def cases() -> Iterator[Case]:
    """Inserts by rule, growth, single rows, deletes, a whole stream in memory and on disk, and opening."""
    for name in CLAIMED:
        yield _batches(name)
    yield _growth()
    yield _singles("c4")
    yield _singles("all")
    yield _deletes()
    yield _stream()
    yield _open()


@dataclass(slots=True)
class ChangeMeter:
    """CPU seconds of calls of one kind, the first of which are not told."""

    do: Callable[[int], object]  # the n-th of them
    at_once: int  # calls that are measured together
    facts: dict[str, float]
    spent: list[float] = field(default_factory=list)
    done: int = 0

    def __call__(self) -> Told:
        """The next calls; what all of them took so far, in the mean and at most."""
        first = self.done == 0
        spent = []
        for number in range(self.done, self.done + self.at_once):
            start = time.process_time()
            self.do(number)
            spent.append(1e3 * (time.process_time() - start))
        self.done += self.at_once
        self.spent = spent if first else [*self.spent, *spent]
        told = self.spent[self.at_once :] or spent
        return Told(None, {"ms": round(sum(told) / len(told), 4), "most_ms": round(max(told), 2), **self.facts})


def _batches(name: str) -> Case:
    def contestants() -> Sequence[Contestant]:
        facts = {"weever_ms_elsewhere": WEEVER[name]}
        return [Contestant(US, call=_inserts(filled(_rules(name), MILLION), MILLION, facts))]

    claims = [_at_most(CLAIMED[name]), _no_batch_over(100)]
    if name == "c4":
        claims.append(
            Claim("at least 90 times cheaper than Weever was elsewhere", lambda of: _ms(of) * 90 <= WEEVER["c4"])
        )
    return Case(f"live_monitor.batches.{name}", f"1000 inserts beside a million rows: {name}", contestants, claims)


def _growth() -> Case:
    few = f"{FEWER:,} rows"

    def contestants() -> Sequence[Contestant]:
        facts = {"weever_growth_elsewhere": WEEVER_GROWTH}
        return [
            Contestant(US, call=_inserts(filled(["c4"], MILLION), MILLION, facts)),
            Contestant(few, call=_inserts(filled(["c4"], FEWER), FEWER, {})),
        ]

    claim = Claim("a million rows take at most 3 times as much", lambda of: _ms(of) <= 3 * _ms(of, few))
    return Case("live_monitor.growth", f"1000 inserts beside a million rows and {few}: c4", contestants, [claim])


def _singles(name: str) -> Case:
    def contestants() -> Sequence[Contestant]:
        monitor, table = filled(_rules(name), MILLION), _table()
        meter = ChangeMeter(
            lambda number: monitor.insert(table.slice(MILLION + number, 1)),
            SINGLES,
            {"weever_ms_of_1000_elsewhere": WEEVER[name]},
        )
        return [Contestant(US, call=meter)]

    claims = [_at_most(0.1)] if name == "c4" else []
    return Case(f"live_monitor.singles.{name}", f"rows one by one beside a million: {name}", contestants, claims)


def _deletes() -> Case:
    def contestants() -> Sequence[Contestant]:
        monitor = filled(FOUR, MILLION)
        ids = np.random.default_rng(5).permutation(MILLION)
        meter = ChangeMeter(
            lambda number: monitor.delete(pa.table({"id": ids[number * STEP : (number + 1) * STEP]})),
            BATCHES,
            {"weever_least_ms_elsewhere": WEEVER_DELETES},
        )
        return [Contestant(US, call=meter)]

    claims = [_at_most(8), _no_batch_over(100)]
    return Case("live_monitor.deletes", "1000 deletes of a million rows by key: all four", contestants, claims)


def _stream() -> Case:
    durable, sync = "durable, a commit per batch", "sync alone"
    whole, half = "check of all rows", "check of half of them"  # after the last batch, and in the mean of all

    def contestants() -> Sequence[Contestant]:
        tax(TABLE, DIRTY)
        return [
            Contestant(US, worker=Worker("benchmarks.cases.live_monitor:streamed", ("memory",), LONG)),
            Contestant(durable, worker=Worker("benchmarks.cases.live_monitor:streamed", ("disk",), LONG)),
            Contestant(sync, call=_synced),
            Contestant(whole, worker=Worker("benchmarks.cases.live_monitor:checked", (str(MILLION),), LONG)),
            Contestant(half, worker=Worker("benchmarks.cases.live_monitor:checked", (str(MILLION // 2),), LONG)),
        ]

    def lasting(of: Mapping[str, Measurement], what: str) -> bool:
        took = {name: float(getattr(of[name], what)) for name in (US, durable, sync)}
        return not of[durable].stopped and took[durable] <= 2 * took[US] + took[sync]

    claims = [
        Claim("at most 20 s of CPU", lambda of: of[US].cpu_seconds <= 20),
        _no_batch_over(100),
        Claim(
            "a change takes at most a 20th of a check of all rows",
            lambda of: of[US].cpu_seconds / (MILLION // STEP) <= of[whole].cpu_seconds / 20,
        ),
        Claim(
            "as many violations as a check finds",
            lambda of: {of[name].facts.get("violations") for name in (US, durable)} == {of[whole].facts["violations"]},
        ),
        Claim("durable takes at most twice the CPU, and the sync's", lambda of: lasting(of, "cpu_seconds")),
        Claim("durable takes at most twice as long, and the sync's time", lambda of: lasting(of, "seconds")),
        Claim("a monitor has at most 400 MB", lambda of: of[US].facts["own_mb"] <= 400),
        Claim("its process has at most 400 MB more", lambda of: of[US].facts["rss_mb"] <= 400),
    ]
    title = "a million rows in batches of 1000, all four rules"
    return Case("live_monitor.stream", title, contestants, claims, same_answer=False, once=True)


def _open() -> Case:
    plain = "without checksums"

    def contestants() -> Sequence[Contestant]:
        DATA.mkdir(exist_ok=True)
        kept = tempfile.TemporaryDirectory(dir=DATA)  # goes when the contestants do
        folder = Path(kept.name, "monitor")
        with rf.Monitor.open(folder, _texts(FOUR), key="id") as monitor:
            for batch in _slices(MILLION, FILL):
                monitor.insert(batch)
                monitor.commit()
            counts = monitor.counts

        def opened(verify: bool) -> Told:
            assert Path(kept.name).exists()
            with rf.Monitor.open(folder, verify=verify) as again:
                return Told(again.counts, {"as_before": float(again.counts == counts and len(again) == MILLION)})

        return [Contestant(US, call=lambda: opened(True)), Contestant(plain, call=lambda: opened(False))]

    claims = [
        Claim("at most 3 s", lambda of: of[US].seconds <= 3),
        Claim("counts are those before it was closed", lambda of: all(one.facts["as_before"] for one in of.values())),
    ]
    return Case("live_monitor.open", "open a durable monitor of a million rows: all four", contestants, claims)


def filled(names: Names, rows: int) -> rf.Monitor:
    """A monitor of these rules after the first rows came."""
    monitor = rf.Monitor(_texts(names), key="id")
    for batch in _slices(rows, FILL):
        monitor.insert(batch)
    return monitor


def streamed(where: str) -> Callable[[], Told]:
    """A worker's job: all rows, batch after batch, into a monitor in memory or on the disk, which is given up then."""
    _table()
    _run_through(rf.Monitor(_texts(FOUR), key="id"), SOME * STEP, commits=False)

    def run() -> Told:
        gc.collect()
        before = psutil.Process().memory_info().rss
        with tempfile.TemporaryDirectory(dir=DATA) as folder:
            texts, on_disk = _texts(FOUR), where == "disk"
            monitor = rf.Monitor.open(Path(folder, "m"), texts, key="id") if on_disk else rf.Monitor(texts, key="id")
            facts = _run_through(monitor, MILLION, commits=on_disk)
            facts["rss_mb"] = round((psutil.Process().memory_info().rss - before) / 2**20, 1)
            facts["violations"] = float(sum(monitor.counts.values()))
            facts["own_mb"] = round(monitor._state.nbytes / 2**20, 1)
            monitor.close()
        return Told(None, facts)

    return run


def checked(rows: str) -> Callable[[], Told]:
    """A worker's job: all violations of the first rows counted anew, as one without a monitor has to."""
    table, texts = _table().slice(0, int(rows)), _texts(FOUR)
    rf.check(table.slice(0, FILL), texts)  # loads the kernels

    def run() -> Told:
        counts = [one.finding.violations or 0 for one in rf.check(table, texts).results]
        return Told(counts, {"violations": float(sum(counts))})

    return run


def _run_through(monitor: rf.Monitor, rows: int, *, commits: bool) -> dict[str, float]:
    spent = []
    for batch in _slices(rows, STEP):
        start = time.process_time()
        monitor.insert(batch)
        if commits:
            monitor.commit()
        spent.append(1e3 * (time.process_time() - start))
    return {"ms": round(sum(spent) / len(spent), 3), "most_ms": round(max(spent), 1)}


def _synced() -> None:
    """What the disk takes for as many commits: as many bytes as the log gets, appended to a file and waited for.

    One sync for each commit, as the log has, and nobody else writes. What the monitor writes beside its log, and how
    long its commits wait for that, is its own choice and counts as its own time.
    """
    payload = os.urandom(LOGGED)
    with tempfile.TemporaryFile(dir=DATA) as file:
        for _ in range(MILLION // STEP):
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())


def _inserts(monitor: rf.Monitor, kept: int, facts: dict[str, float]) -> ChangeMeter:
    table = _table()
    return ChangeMeter(lambda number: monitor.insert(table.slice(kept + number * STEP, STEP)), BATCHES, facts)


def _slices(rows: int, size: int) -> Iterator[pa.Table]:
    table = _table()
    return (table.slice(start, min(size, rows - start)) for start in range(0, rows, size))


def _table() -> pa.Table:
    return read(tax(TABLE, DIRTY))


def _rules(name: str) -> Names:
    return FOUR if name == "all" else [name]


def _texts(names: Names) -> list[str]:
    return [RULES[name].text for name in names]


def _ms(of: Mapping[str, Measurement], name: str = US) -> float:
    return of[name].facts["ms"]


def _at_most(most: float) -> Claim:
    return Claim(f"at most {most:g} ms in the mean", lambda of: _ms(of) <= most)


def _no_batch_over(most: float) -> Claim:
    return Claim(f"no batch over {most:g} ms", lambda of: of[US].facts["most_ms"] <= most)
