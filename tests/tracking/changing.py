"""Tables that change at random, and a tracking that is held against a search from scratch after every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import Options, SearchMethod, options_of
from refute.discovery.result.outcome import Outcome
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.relation import Relation
from refute.tracking.incdc.thresholds import Thresholds
from refute.tracking.tracking import Tracking
from refute.tracking.ways import TrackedChange, Ways

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Shape:
    """The columns of a table: their types, how many values they have, and whether nulls are among them."""

    kinds: tuple[str, ...]
    values: tuple[int, ...]
    nullable: tuple[bool, ...]

    def table(self, rows: Sequence[Row]) -> pa.Table:
        types = {"whole": pa.int64(), "float": pa.float64(), "text": pa.string()}
        columns = {f"c{n}": pa.array([row[n] for row in rows], types[kind]) for n, kind in enumerate(self.kinds)}
        return pa.table(columns)

    def cell(self, column: int, number: int) -> Any:
        if number < 0:
            return None
        return {"whole": number, "float": number * 1.5, "text": f"v{number}"}[self.kinds[column]]

    def rows(self, *, nulls: bool = True) -> st.SearchStrategy[Row]:
        least = [-1 if nulls and nullable else 0 for nullable in self.nullable]
        cells = [st.integers(low, high - 1) for low, high in zip(least, self.values, strict=True)]
        return st.tuples(*cells).map(lambda row: tuple(self.cell(n, cell) for n, cell in enumerate(row)))


@st.composite
def shapes(draw: st.DrawFn, most: int = 3) -> Shape:
    size = draw(st.integers(2, most))
    return Shape(
        tuple(draw(st.sampled_from(("whole", "float", "text"))) for _ in range(size)),
        tuple(draw(st.sampled_from((2, 3, 6, 30))) for _ in range(size)),
        tuple(draw(st.sampled_from((False, False, True))) for _ in range(size)),
    )


@st.composite
def options(draw: st.DrawFn) -> Options:
    """Options of every kind; those that make few columns comparable are off."""
    given: dict[str, Any] = {
        "cross_columns": draw(st.booleans()),
        "shared_values": 0.0,
        "average_ratio": 0.0,
        "nulls": draw(st.sampled_from(("sql", "equal"))),
        "one_row": draw(st.sampled_from((False, False, False, True))),
        "constants": draw(st.sampled_from((0, 0, 0, 1))),
        "max_predicates": draw(st.sampled_from((None, None, None, 1, 2, 3))),
        "threads": draw(st.sampled_from((1, 2))),
    }
    few = draw(st.sampled_from((None, None, None, ("=",), ("=", "!="), ("<", "="), ("=", "<=", ">="))))
    return options_of(**given, operators=few)


WAYS = st.builds(
    Ways,
    witnesses=st.sampled_from((1, 2, 8)),
    classes=st.integers(0, 5),
    standing=st.sampled_from((0.06, 9.0, 9.0)),
    counted=st.sampled_from((True, False, False)),
    span=st.sampled_from((0, 0, 16)),
    moved=st.sampled_from((0.0, 0.5)),
    worse=st.sampled_from((0.0, 2.0, 2.0)),
)
TUNINGS = st.builds(
    Tuning,
    regrow=st.sampled_from((0, 400)),
    few_points=st.sampled_from((0, 12)),
    recut=st.sampled_from((0, 5000)),
    recut_share=st.sampled_from((0.0, 1.5)),
)
INCDC = st.builds(
    Ways,
    witnesses=st.sampled_from((1, 2, 8)),
    classes=st.integers(0, 5),
    span=st.sampled_from((0, 0, 16)),
    suspects=st.sampled_from((0, 9999, 9999)),
    incdc=st.builds(
        Thresholds,
        equality=st.sampled_from((0.0, 0.6, 0.6)),  # none is taken at once; as the paper has it
        distinct=st.sampled_from((0.0, 0.1)),
        sample=st.sampled_from((4, 10_000)),
        growth=st.sampled_from((0.0, 0.3, 9.0)),
        orders=st.sampled_from((True, True, True, False)),
        optimal=st.sampled_from((True, True, False)),
        crossing=st.sampled_from((True, True, False)),
    ),
)


class Followed:
    """A tracking, and the rows that it should know."""

    def __init__(
        self, shape: Shape, rows: Sequence[Row], given: Options, ways: Ways, tuning: Tuning = STANDARD
    ) -> None:
        self.shape = shape
        self.rows = dict(enumerate(rows))
        self._next = len(rows)
        self.tracking = Tracking(Relation.of(shape.table(rows)), np.arange(len(rows)), given, ways=ways, tuning=tuning)

    def change(self, gone: Sequence[int], came: Sequence[Row]) -> TrackedChange:
        before = set(map(tuple, self.tracking.known.points.tolist())), self.tracking.space
        for slot in gone:
            del self.rows[slot]
        slots = np.arange(self._next, self._next + len(came))
        self._next += len(came)
        self.rows |= dict(zip(slots.tolist(), came, strict=True))
        relation = Relation.of(self.shape.table(came))
        step = self.tracking.change(np.array(gone, np.int64), relation, slots, self.after)
        if before[1] is self.tracking.space and not self.tracking.options.error:
            assert not before[0] & set(map(tuple, step.fresh.tolist()))
        for point, (s, t) in zip(step.fresh.tolist(), step.pairs.tolist(), strict=True):
            pair = Relation.of(self.shape.table([self.rows[s], self.rows[t]]))
            assert tuple(point) in points_of(pair, self.tracking.space, self.tracking.options)
        return step

    def after(self) -> tuple[Relation, np.ndarray[Any, np.dtype[np.int64]]]:
        return Relation.of(self.shape.table(list(self.rows.values()))), np.array(list(self.rows), np.int64)

    def check(self) -> None:
        """The boxes are those of a search from scratch, and points what is said of them."""
        tracking = self.tracking
        found = from_scratch(self.after()[0], tracking.space, tracking.options)
        assert sorted(map(tuple, tracking.boxes.tolist())) == sorted(map(tuple, found.boxes.tolist()))
        truth = dict(zip(map(tuple, found.evidence.points.tolist()), found.evidence.counts.tolist(), strict=True))
        known = tracking.known
        points = list(map(tuple, known.points.tolist()))
        assert points == sorted(set(points))
        for place, point in enumerate(points):
            if known.covered[place]:
                assert known.counts[place] == truth[point]
            else:
                witnesses = [pair for pair in known.witnesses[place].tolist() if pair >= 0]
                assert witnesses
                for pair in witnesses:
                    slots = tracking.rows.slots[[pair >> 32, pair & 0xFFFFFFFF]].tolist()
                    both = Relation.of(self.shape.table([self.rows[slot] for slot in slots]))
                    assert point in points_of(both, tracking.space, tracking.options)
        if tracking.is_whole:
            assert set(points) == set(truth)
        assert tracking.rows.n_alive == len(self.rows)

    def counts(self) -> Counter[tuple[int, ...]]:
        known = self.tracking.known
        return Counter(dict(zip(map(tuple, known.points.tolist()), known.counts.tolist(), strict=True)))


def from_scratch(relation: Relation, space: PredicateSpace, given: Options) -> Outcome:
    """What a search finds that looks at all pairs."""
    tiles = replace(given, method=SearchMethod.TILES)
    return searched(LocalPairs(relation, space, tiles), tiles, Budget(tiles))


def points_of(relation: Relation, space: PredicateSpace, given: Options) -> set[tuple[int, ...]]:
    evidence, _ = LocalPairs(relation, space, given).everything(Budget(given))
    return set(map(tuple, evidence.points.tolist()))
