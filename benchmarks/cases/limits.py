"""Time limits: by how much searches of many kinds go over theirs, and what a search that was stopped can say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.measure import Measurement, Told
from benchmarks.tables import MILLION, read, tax
from refute.runtime.compiling import COMPILING

_SECONDS = (1.0, 5.0)
_SLACK = 2.0  # seconds over a limit, or
_SHARE = 0.2  # this share of it, whichever is more
# name: rows, columns, values of a column, options of the search
_TABLES: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "wide": (1_000, 30, 1_000, {}),
    "wide.repeated": (1_000, 30, 10, {}),
    "narrow": (1_000, 5, 1_000, {}),
    "twelve": (2_000, 12, 300, {}),
    "tiles": (20_000, 8, 500, {"method": "tiles"}),
    "guided": (20_000, 20, 50, {"method": "guided"}),
    "hydra": (20_000, 20, 50, {"method": "hydra"}),
    "rows": (1_000, 15, 50, {"one_row": True, "constants": 3}),
    "almost": (1_000, 15, 50, {"almost": 20}),
    "g1": (1_000, 12, 50, {"error": 0.001}),
    "g2": (1_000, 8, 50, {"error": 0.05, "measure": "g2"}),
    "g3": (1_000, 8, 50, {"error": 0.05, "measure": "g3"}),
}


def cases() -> Iterator[Case]:
    """Complete searches that no limit suffices for, and proposals for many rows."""
    claim = Claim("over its limit by at most 20 % or 2 seconds", _is_kept)
    for name, (rows, columns, values, options) in _TABLES.items():
        said = ", ".join(f"{option}={value}" for option, value in options.items())
        title = f"limits of {_SECONDS[0]:g} and {_SECONDS[1]:g} s, {rows:,} x {columns} numbers{said and ', ' + said}"
        table = partial(_numbers, rows, columns, values)
        yield Case(f"limits.{name}", title, _limited(table, partial(rf.discover, **options)), [claim], once=True)
    million = _limited(lambda: read(tax(MILLION, dirty=0.01)), rf.propose)
    yield Case("limits.propose", "the same limits of proposals for a million rows", million, [claim], once=True)


def _numbers(rows: int, columns: int, values: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table({f"c{place}": random.integers(0, values, rows) for place in range(columns)})


def _limited(table: Callable[[], pa.Table], search: Callable[..., Any]) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        rows = table()
        search(rows, time_limit=0.5)  # kernels are compiled and loaded by it

        def run() -> Told:
            facts: dict[str, Any] = {}
            for limit in _SECONDS:
                started, compiled = time.perf_counter(), COMPILING.seconds
                found = search(rows, time_limit=limit)
                over = time.perf_counter() - started - (COMPILING.seconds - compiled) - limit
                facts |= {f"over {limit:g} s by": round(max(over, 0.0), 2), f"rules after {limit:g} s": len(found)}
            return Told(None, facts)

        return [Contestant(US, call=run)]

    return contestants


def _is_kept(found: Mapping[str, Measurement]) -> bool:
    facts = found[US].facts
    return all(facts[f"over {limit:g} s by"] <= max(_SLACK, _SHARE * limit) for limit in _SECONDS)
