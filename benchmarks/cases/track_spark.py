"""A tracker whose rows stay on Spark: its start, and batches that come and go, beside a discovery by the same tasks.

Figures are CPU seconds of the driver, Java and all Python workers together. `exact` says that a tracker in this process
that was given the same rows has the same boxes after every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import psutil

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.measure import Measurement, Told
from benchmarks.tables import MILLION, read, tax
from benchmarks.tax import COLUMNS
from benchmarks.worker import Worker

STEP = 1000  # rows of a batch
BATCHES = 3  # of each kind
_SIZES = {"tax100k": 100_000, "tax1m": MILLION}
_TIMES = 5.0


def cases() -> Iterator[Case]:
    """Batches beside tables of two sizes, each in a process of its own."""
    for name, rows in _SIZES.items():
        yield Case(
            f"track.spark.{name}",
            f"1000 rows beside {rows:,} of {name} on Spark, nothing fetched",
            partial(_contestants, rows),
            [
                Claim("as in one process", lambda of: of[US].facts["exact"] == 1),
                Claim(f"a batch takes at most 1/{_TIMES:g} of a discovery", _is_worth_it),
            ],
            once=True,
        )


def _contestants(rows: int) -> Sequence[Contestant]:
    made = Worker("benchmarks.cases.track_spark:tracking", [str(rows)], limit=3000, memory_gb=256)
    return [Contestant(US, worker=made)]


def _is_worth_it(of: Mapping[str, Measurement]) -> bool:
    return _TIMES * of[US].facts["insert_s"] <= of[US].facts["discover_s"]


def tracking(rows: str) -> Callable[[], Told]:
    """The start of a tracker on Spark and some batches, and what they took: for a process of its own."""
    from refute.spark.session import session

    size = int(rows)
    path = tax(size + 10 * STEP)
    running = session("local[2]", settings={"spark.driver.memory": "2g"})
    frame = running.read.parquet(str(path)).where(f"id < {size}")
    whole = read(path)
    options: dict[str, Any] = {"columns": list(COLUMNS), "cross_columns": False, "driver_bytes": 0}

    def call() -> Told:
        _, discovered = _spent(lambda: rf.discover(frame, **options))
        far, began = _spent(lambda: rf.Tracker(frame, key="id", **options))
        assert isinstance(far, rf.Tracker)
        near = rf.Tracker(whole.slice(0, size), key="id", columns=list(COLUMNS), cross_columns=False)
        exact = _alike(near, far)
        came, went = [], []
        keys = np.random.default_rng(1).permutation(size)[: BATCHES * STEP].reshape(BATCHES, STEP)
        for number in range(BATCHES):
            batch = whole.slice(size + number * STEP, STEP)
            near.insert(batch)
            came.append(_spent(lambda batch=batch: far.insert(batch))[1])  # type: ignore[misc]
            exact &= _alike(near, far)
            gone = keys[number].tolist()
            near.delete(gone)
            went.append(_spent(lambda gone=gone: far.delete(gone))[1])  # type: ignore[misc]
            exact &= _alike(near, far)
        facts = {
            "discover_s": discovered,
            "start_s": began,
            "insert_s": float(np.median(came)),
            "delete_s": float(np.median(went)),
            "exact": float(exact),
        }
        return Told(None, {name: round(value, 2) for name, value in facts.items()})

    return call


def _alike(near: rf.Tracker, far: rf.Tracker) -> bool:
    return sorted(map(tuple, near.boxes.tolist())) == sorted(map(tuple, far.boxes.tolist()))


def _spent(call: Callable[[], object]) -> tuple[object, float]:
    """What a call gives, and the CPU seconds of this process and all below it."""
    start = _cpu()
    given = call()
    return given, _cpu() - start


def _cpu() -> float:
    me = psutil.Process()
    total = 0.0
    for one in [me, *me.children(recursive=True)]:
        try:
            times = one.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
