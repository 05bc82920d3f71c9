"""The methods of a tracker side by side: ours, IncDC with and without its parts, and a search from scratch.

What the experiments of IncDC's paper show, on tables that are here: what 10, 20 and 30 % more rows cost and how many
boxes they change (Table 10 there), how many indexes there are and their memory (Table 11), which share of the new pairs
they let through (`met`, Figure 14a; a pair counts for every index that gives it), and their chains before, after 30 %
more rows, and built anew (Figure 14d). Rows that go, of which the paper has none, are measured too. Times are CPU
milliseconds of this process. All contestants must end with the same boxes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.cases.discover import DATA
from benchmarks.cases.track import table_of
from benchmarks.measure import Measurement, Told
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import options_of
from refute.discovery.space.predicates import fitted, space_for
from refute.discovery.space.slots import Words
from refute.discovery.table import LocalTable
from refute.discovery.work import Budget
from refute.relation import Relation
from refute.tracking.codes import Longs
from refute.tracking.incdc.finder import IndexFinder
from refute.tracking.incdc.order_index import OrderIndex
from refute.tracking.incdc.selection import ColumnPair
from refute.tracking.incdc.thresholds import Thresholds
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways

Given = TypeVar("Given")
SHARES = (10, 20, 30)  # percent of the rows of the start
# name, rows at the start, cross-column predicates
TABLES = (
    ("airport", 30_000, True),
    ("hospital", 7_000, False),
    ("tax50k", 38_000, False),
    ("uce", 10_000, False),
    ("stock", 95_000, False),
    ("stock12k", 12_000, False),
)
INCDC = {
    "incdc": Thresholds(growth=1.0),  # so that chains are seen as they have grown
    "incdc without OptIndex": Thresholds(growth=1.0, optimal=False),
    "incdc without Fetch+": Thresholds(growth=1.0, crossing=False),
    "incdc without orders": Thresholds(growth=1.0, orders=False),
}


def cases() -> Iterator[Case]:
    """One case for each table."""
    for name, rows, cross in TABLES:
        yield _compared(name, rows, cross)


def _compared(name: str, rows: int, cross: bool) -> Case:
    def contestants() -> Sequence[Contestant]:
        table = table_of(name)
        if table is None:
            return [Contestant(US, absent=f"the table {name} is not in {DATA}")]
        ours = [Contestant(US, call=lambda: _tracked(table, rows, cross, Ways()))]
        theirs = [
            Contestant(label, call=lambda limits=limits: _tracked(table, rows, cross, Ways(incdc=limits)))  # type: ignore[misc]
            for label, limits in INCDC.items()
            if cross or limits.crossing
        ]
        return [*ours, *theirs, Contestant("from scratch", call=lambda: _from_scratch(table, rows, cross))]

    return Case(f"track.methods.{name}", f"methods beside {rows:,} rows of {name}", contestants, [_CLAIM], once=True)


def _is_near(of: Mapping[str, Measurement]) -> bool:
    took = {label: found.facts["ms_10"] + found.facts["delete_ms"] for label, found in of.items()}
    return all(took[US] <= 2 * other for other in took.values())


_CLAIM = Claim(
    "auto takes at most twice as long as any other, 10 % of rows that come and 1 % that go together", _is_near
)


def _tracked(table: pa.Table, rows: int, cross: bool, ways: Ways) -> Told:
    """What a tracker takes for each share, and what its indexes are like."""
    _Batch(table, min(2000, rows), 200, cross, ways)  # loads kernels
    facts: dict[str, float] = {}
    answer = ""
    for share in SHARES:
        came = rows * share // 100
        done = _Batch(table, rows, came, cross, ways)
        facts |= {"start_ms": done.start_ms, f"ms_{share}": done.ms, f"changed_{share}": done.changed}
        answer += _digest(done.tracking.boxes)
        finder = done.tracking.residual
        if isinstance(finder, IndexFinder):
            facts["indexes"] = float(len(finder.selection.equalities) + len(finder.orders))
            facts["mb"] = finder.nbytes / 1e6
            facts[f"met_{share}"] = finder.candidates / (came * (rows + came))
            facts |= _ranks(done, finder)
        if share == SHARES[0]:
            facts["delete_ms"] = done.delete_some()
            answer += _digest(done.tracking.boxes)
    return Told(answer, {key: round(value, 4) for key, value in facts.items()})


class _Batch:
    """A tracking that took rows in: how many boxes came or went, and what that cost."""

    def __init__(self, table: pa.Table, rows: int, came: int, cross: bool, ways: Ways) -> None:
        options = options_of(cross_columns=cross)
        self._all = table.slice(0, rows + came)
        self._rows = rows
        start, batch = Relation.of(table.slice(0, rows)), Relation.of(table.slice(rows, came))

        def after() -> tuple[Relation, Longs]:
            return Relation.of(self._all), np.arange(rows + came)

        self.tracking, self.start_ms = _spent(lambda: Tracking(start, np.arange(rows), options, ways=ways))
        finder = self.tracking.residual
        self.ranks = _ranks_of(finder) if isinstance(finder, IndexFinder) else {}
        before = set(map(tuple, self.tracking.boxes.tolist()))
        slots = np.arange(rows, rows + came)
        _, self.ms = _spent(lambda: self.tracking.change(np.empty(0, np.int64), batch, slots, after))
        self.changed = len(before ^ set(map(tuple, self.tracking.boxes.tolist())))

    def delete_some(self) -> float:
        """Lets one row of a hundred of those at the start go; the CPU milliseconds of that."""
        left, going = _left(self._all, self._rows)

        def after() -> tuple[Relation, Longs]:
            return Relation.of(left), np.setdiff1d(np.arange(len(self._all)), going)

        nothing = Relation.of(self._all.slice(0, 0))
        return _spent(lambda: self.tracking.change(going, nothing, np.empty(0, np.int64), after))[1]


def _left(table: pa.Table, rows: int) -> tuple[pa.Table, Longs]:
    """A table without one row of a hundred of its first ones, and those."""
    going = np.random.default_rng(1).permutation(rows)[: rows // 100]
    stays = np.ones(len(table), np.bool_)
    stays[going] = False
    return table.filter(pa.array(stays)), np.sort(going)


def _ranks_of(finder: IndexFinder) -> dict[ColumnPair, int]:
    return {columns: index.rank for columns, index in finder.orders.items()}


def _ranks(done: _Batch, finder: IndexFinder) -> dict[str, float]:
    """The average number of chains at the start, after the batch, and if built anew from all rows."""
    if not done.ranks:
        return {}
    kept = {columns: finder.orders[columns] for columns in done.ranks}
    anew = [OrderIndex(done.tracking.rows, columns, falling=one.falling).rank for columns, one in kept.items()]
    after = [one.rank for one in kept.values()]
    ranks = {"rank": list(done.ranks.values()), "rank_after": after, "rank_anew": anew}
    return {"orders": float(len(kept)), **{name: float(np.mean(some)) for name, some in ranks.items()}}


def _from_scratch(table: pa.Table, rows: int, cross: bool) -> Told:
    """What a search of all rows takes for each share, in the space of the start."""
    options = options_of(cross_columns=cross)
    space, _ = space_for(LocalTable(Relation.of(table.slice(0, rows))), options)

    def search(some: pa.Table) -> Words:
        relation = Relation.of(some)
        wide = fitted(LocalTable(relation), space, options)
        return searched(LocalPairs(relation, wide, options), options, Budget(options)).boxes

    search(table.slice(0, min(2000, rows)))  # loads kernels
    facts: dict[str, float] = {}
    answer = ""
    for share in SHARES:
        some = table.slice(0, rows + rows * share // 100)
        boxes, facts[f"ms_{share}"] = _spent(partial(search, some))
        answer += _digest(boxes)
        if share == SHARES[0]:
            boxes, facts["delete_ms"] = _spent(partial(search, _left(some, rows)[0]))
            answer += _digest(boxes)
    return Told(answer, {key: round(value, 2) for key, value in facts.items()})


def _spent(call: Callable[[], Given]) -> tuple[Given, float]:
    """What a call gives, and its CPU milliseconds."""
    start = time.process_time()
    given = call()
    return given, 1e3 * (time.process_time() - start)


def _digest(boxes: Words) -> str:
    ordered = np.ascontiguousarray(boxes[np.lexsort(boxes.T[::-1])])
    return hashlib.sha256(ordered.tobytes()).hexdigest()
