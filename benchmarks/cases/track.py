"""Trackers: what batches that come and go, and single rows, cost beside a search from scratch on the same rows.

Figures are CPU milliseconds of this process, with all that a user waits for: rows are checked and kept, values encoded,
boxes cut, and the change told. `scratch_ms` is one search of all rows in the same run, in the tracker's own space: no
predicates are chosen there, and nothing is ranked. `exact` says that it found the tracker's boxes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.cases.discover import DATA
from benchmarks.measure import Measurement, Told
from benchmarks.tables import MILLION, read, tax
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.work import Budget
from refute.relation import Relation
from refute.tracking.ways import Ways

STEP = 1000  # rows of a batch
BATCHES = 4  # of each kind
SINGLES = 20
AIRPORT = ("airport_30k_original.csv", "airport_14k_incremental.csv")
# name, rows at the start, cross-column predicates, ms that a batch of inserts may take, times as fast as from scratch
BATCHED = (
    ("airport", 30_000, True, 20.0, 0.0),
    ("tax50k", 44_000, False, None, 5.0),
    ("tax50k.dirty", 44_000, False, None, 0.0),
    ("tax100k", 100_000, False, 60.0, 0.0),
    ("tax100k.dirty", 100_000, False, 700.0, 0.0),
    ("tax1m", MILLION, False, 100.0, 50.0),
    ("adult", 24_000, False, 800.0, 0.0),
    ("uce", 9_000, False, None, 5.0),
    ("hospital", 5_000, False, None, 5.0),
    ("stock", 115_000, False, None, 5.0),
)
# name, rows at the start, cross-column predicates, times as fast as from scratch that a tenth of the rows comes
TENTHS = (
    ("airport", 30_000, True, 3.0),
    ("tax100k", 100_000, False, 3.0),
    ("stock", 115_000, False, 3.0),
    ("tax50k.dirty", 44_000, False, 1.0),
    ("adult", 24_000, False, 1.0),
    ("uce", 9_000, False, 1.0),
    ("hospital", 5_000, False, 1.0),
)
DIRTY = 0.001  # the share of rows with a wrong cell
FILES = {
    "tax50k": "tax_50k_clean.csv",
    "tax50k.dirty": "tax_50k_dirty.csv",
    "adult": "adult_32k.csv",
    "uce": "uce_14k_11cols.csv",
    "hospital": "hospital_10k_original.csv",
    "stock": "stock_127k.csv",
    "stock12k": "stock_127k.csv",
}
INCDC = 12.4  # seconds that IncDC, mended, took for 10,000 rows of airport elsewhere


def cases() -> Iterator[Case]:
    """Batches of many tables, a tenth of their rows at once, the rules that airport loses, and single rows."""
    for name, rows, cross, limit, times in BATCHED:
        yield _batched(name, rows, cross, limit, times)
    for name, rows, cross, times in TENTHS:
        yield _tenth(name, rows, cross, times)
    yield _airport()
    for name, rows in (("airport", 30_000), ("tax1m", MILLION)):
        yield _singles(name, rows)
    yield _on_disk()


def table_of(name: str) -> pa.Table | None:
    """The rows of a table, those of the start first; None where its file is not there."""
    if name in ("tax100k", "tax100k.dirty", "tax1m"):
        rows = MILLION if name == "tax1m" else 100_000
        return read(tax(rows + 10 * STEP, dirty=DIRTY if name.endswith("dirty") else 0.0)).drop_columns(["id"])
    files = AIRPORT if name == "airport" else (FILES[name],)
    if not all((DATA / file).exists() for file in files):
        return None
    options = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    first, *more = (pyarrow.csv.read_csv(DATA / file, convert_options=options) for file in files)
    return pa.concat_tables([first, *(one.cast(first.schema) for one in more)]).combine_chunks()


def _missing(name: str) -> Sequence[Contestant]:
    return [Contestant(US, absent=f"the table {name} is not in {DATA}")]


def _spent(call: Callable[[], object]) -> tuple[object, float]:
    """What a call gives, and its CPU milliseconds."""
    start = time.process_time()
    given = call()
    return given, 1e3 * (time.process_time() - start)


def _warm(table: pa.Table, cross: bool) -> None:
    """Loads the kernels of all ways, those that search a pair for a point without a witness too."""
    for ways in (None, Ways(counted=False, witnesses=1)):
        tracker = rf.Tracker(table.slice(0, 2 * STEP), cross_columns=cross, ways=ways)
        tracker.insert(table.slice(2 * STEP, STEP))
        tracker.delete(list(range(STEP)))


def _from_scratch(tracker: rf.Tracker) -> tuple[bool, float]:
    """Whether a search from scratch finds the same boxes, and its CPU milliseconds."""
    relation = Relation.of(tracker.table())
    options, space = tracker.discovery().options, tracker.space

    def search() -> object:
        return searched(LocalPairs(relation, space, options), options, Budget(options)).boxes

    boxes, took = _spent(search)
    return sorted(map(tuple, np.asarray(boxes).tolist())) == sorted(map(tuple, tracker.boxes.tolist())), took


def _batched(name: str, rows: int, cross: bool, limit: float | None, times: float) -> Case:
    def contestants() -> Sequence[Contestant]:
        table = table_of(name)
        return _missing(name) if table is None else [Contestant(US, call=lambda: run(table))]

    def run(table: pa.Table) -> Told:
        start = table.slice(0, rows)
        _, found = _spent(lambda: rf.discover(start, cross_columns=cross))
        _, found = _spent(lambda: rf.discover(start, cross_columns=cross))  # the first one loaded kernels
        _warm(table, cross)
        made, began = _spent(lambda: rf.Tracker(start, cross_columns=cross))
        assert isinstance(made, rf.Tracker)
        batches = [table.slice(rows + n * STEP, STEP) for n in range(BATCHES)]
        inserts = [_spent(lambda batch=batch: made.insert(batch))[1] for batch in batches]  # type: ignore[misc]
        exact, scratch = _from_scratch(made)
        going = np.random.default_rng(1).permutation(rows)[: BATCHES * STEP].reshape(BATCHES, STEP)
        deletes = [_spent(lambda keys=keys: made.delete(keys))[1] for keys in going.tolist()]  # type: ignore[misc]
        still, _ = _from_scratch(made)
        facts = {
            "ms": float(np.median(inserts)),
            "most_ms": max(inserts),
            "delete_ms": float(np.median(deletes)),
            "most_delete_ms": max(deletes),
            "scratch_ms": scratch,
            "discover_ms": found,
            "start_ms": began,
            "mb": made.nbytes / 1e6,
            "exact": float(exact and still),
        }
        return Told(None, {key: round(value, 2) for key, value in facts.items()})

    claims = [
        Claim("as from scratch", lambda of: of[US].facts["exact"] == 1),
        Claim(
            "deletes take at most twice as long as inserts",
            lambda of: of[US].facts["delete_ms"] <= 2 * of[US].facts["ms"],
        ),
        Claim(
            "starting takes at most 1.5 times as long as discovery",
            lambda of: of[US].facts["start_ms"] <= 1.5 * of[US].facts["discover_ms"],
        ),
    ]
    if limit is not None:
        claims.append(Claim(f"at most {limit:g} ms of CPU", lambda of: of[US].facts["ms"] <= limit))
    if times:
        claims.append(Claim(f"{times:g} times faster than from scratch", lambda of: _faster(of) >= times))
    if name == "tax1m":
        claims.append(Claim("at most 600 MB", lambda of: of[US].facts["mb"] <= 600))
    return Case(f"track.{name}", f"1000 rows beside {rows:,} of {name}", contestants, claims, once=True)


def _tenth(name: str, rows: int, cross: bool, times: float) -> Case:
    def contestants() -> Sequence[Contestant]:
        table = table_of(name)
        return _missing(name) if table is None else [Contestant(US, call=lambda: run(table))]

    def run(table: pa.Table) -> Told:
        many = rows // 10
        _warm(table, cross)
        tracker = rf.Tracker(table.slice(0, rows), cross_columns=cross)
        _, came = _spent(lambda: tracker.insert(table.slice(rows, many)))
        exact, scratch = _from_scratch(tracker)
        going = np.random.default_rng(1).permutation(rows)[:many].tolist()
        _, went = _spent(lambda: tracker.delete(going))
        still, after = _from_scratch(tracker)
        facts = {"ms": came, "scratch_ms": scratch, "delete_ms": went, "scratch_after_ms": after}
        return Told(None, {key: round(value, 1) for key, value in facts.items()} | {"exact": float(exact and still)})

    claims = [
        Claim("as from scratch", lambda of: of[US].facts["exact"] == 1),
        Claim(f"{times:g} times as fast as from scratch, or more", lambda of: _faster(of) >= times),
        Claim(
            "deletes are no slower than from scratch",
            lambda of: of[US].facts["delete_ms"] <= of[US].facts["scratch_after_ms"],
        ),
    ]
    return Case(f"track.tenth.{name}", f"a tenth of {rows:,} rows of {name}", contestants, claims, once=True)


def _faster(of: Mapping[str, Measurement]) -> float:
    return of[US].facts["scratch_ms"] / of[US].facts["ms"]


def _airport() -> Case:
    def contestants() -> Sequence[Contestant]:
        table = table_of("airport")
        return _missing("airport") if table is None else [Contestant(US, call=lambda: run(table))]

    def run(table: pa.Table) -> Told:
        warm = rf.Tracker(table.slice(0, 5000))
        warm.insert(table.slice(5000, STEP))
        tracker = rf.Tracker(table.slice(0, 30_000))
        before = {rule.text for rule in tracker.rules}
        changes, took = _spent(lambda: tracker.insert(table.slice(30_000, 10_000)))
        first = len(before - {rule.text for rule in tracker.rules})
        assert isinstance(changes, rf.RuleChanges)
        tracker.insert(table.slice(40_000))
        whole = len(before - {rule.text for rule in tracker.rules})
        exact, scratch = _from_scratch(tracker)
        facts = {"ms": round(took, 1), "removed": first, "told": len(changes.removed), "removed_at_last": whole}
        return Told(None, {**facts, "scratch_ms": round(scratch, 1), "exact": float(exact), "rules": len(before)})

    claims = [
        Claim("11 of 31 rules go with 10,000 rows", lambda of: of[US].facts["removed"] == 11 == of[US].facts["told"]),
        Claim("13 go with 14,418 rows", lambda of: of[US].facts["removed_at_last"] == 13),
        Claim("50 times faster than IncDC was elsewhere", lambda of: 50 * of[US].facts["ms"] <= 1e3 * INCDC),
        Claim("as from scratch", lambda of: of[US].facts["exact"] == 1),
    ]
    return Case("track.airport.10k", "10,000 rows beside 30,000 of airport", contestants, claims, once=True)


def _singles(name: str, rows: int) -> Case:
    def contestants() -> Sequence[Contestant]:
        table = table_of(name)
        return _missing(name) if table is None else [Contestant(US, call=lambda: run(table))]

    def run(table: pa.Table) -> Told:
        tracker = rf.Tracker(table.slice(0, rows), cross_columns=name == "airport")
        tracker.insert(table.slice(rows, 1))
        tracker.delete([rows])
        singles = [table.slice(rows + 1 + n, 1) for n in range(SINGLES)]
        inserts = [_spent(lambda one=one: tracker.insert(one))[1] for one in singles]  # type: ignore[misc]
        deletes = [_spent(lambda n=n: tracker.delete([n]))[1] for n in range(SINGLES)]  # type: ignore[misc]
        facts = {
            "ms": float(np.median(inserts)),
            "most_ms": max(inserts),
            "delete_ms": float(np.median(deletes)),
            "most_delete_ms": max(deletes),
        }
        return Told(None, {key: round(value, 3) for key, value in facts.items()})

    claims = [
        Claim("at most 2 ms of CPU", lambda of: of[US].facts["ms"] <= 2),
        Claim("the first rows go in as little", lambda of: of[US].facts["delete_ms"] <= 2),
    ]
    return Case(f"track.singles.{name}", f"single rows beside {rows:,} of {name}", contestants, claims, once=True)


def _on_disk() -> Case:
    def contestants() -> Sequence[Contestant]:
        table = table_of("tax1m")
        return _missing("tax1m") if table is None else [Contestant(US, call=lambda: run(table))]

    def run(table: pa.Table) -> Told:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):  # kernels are loaded then
                with rf.Tracker.open(f"{folder}/small", table.slice(0, 2 * STEP), cross_columns=False) as small:
                    small.insert(table.slice(2 * STEP, STEP))
            place = Path(folder) / "tax"
            rf.Tracker.open(place, table.slice(0, MILLION), cross_columns=False).close()
            size = _bytes(place)
            opened, opening = _spent(lambda: rf.Tracker.open(place))
            assert isinstance(opened, rf.Tracker)
            commits, logged = [], []
            for n in range(BATCHES):
                opened.insert(table.slice(MILLION + n * STEP, STEP))
                commits.append(_spent(opened.commit)[1])
                logged.append(_bytes(place))
            boxes = opened.boxes
            opened.close()
            again, reopening = _spent(lambda: rf.Tracker.open(place))
            assert isinstance(again, rf.Tracker)
            same = sorted(map(tuple, boxes.tolist())) == sorted(map(tuple, again.boxes.tolist()))
            exact, scratch = _from_scratch(again)
            again.close()
        facts = {
            "mb": size / 1e6,
            "open_ms": opening,
            "open_with_log_ms": reopening,
            "commit_ms": float(np.median(commits)),
            "logged_kb": (logged[-1] - size) / BATCHES / 1e3,
            "scratch_ms": scratch,
            "exact": float(exact and same),
        }
        return Told(None, {key: round(value, 1) for key, value in facts.items()})

    claims = [
        Claim("at most 100 MB on disk", lambda of: of[US].facts["mb"] <= 100),
        Claim("opened in at most 3 s of CPU", lambda of: of[US].facts["open_ms"] <= 3000),
        Claim("with batches in the log too", lambda of: of[US].facts["open_with_log_ms"] <= 3000),
        Claim("a commit writes no state", lambda of: of[US].facts["logged_kb"] <= 1000),
        Claim("as from scratch", lambda of: of[US].facts["exact"] == 1),
    ]
    return Case("track.disk", f"a tracker of {MILLION:,} rows of tax on disk", contestants, claims, once=True)


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
