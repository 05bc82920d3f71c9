"""How the evidence of rows that come is found: the seam at which ways of tracking differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from refute.discovery.evidence.counted import Evidence
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget
from refute.tracking.codes import Longs
from refute.tracking.incdc.finder import IndexFinder
from refute.tracking.meeting.cover import EqualSet
from refute.tracking.meeting.residual import Residual
from refute.tracking.rows import TrackedRows
from refute.tracking.ways import Ways


class PairFinder(Protocol):
    """What finds all pairs of new rows that lie in a box, beside those that are counted.

    It may find more than those. Pairs that agree on a counted set are seen by the cover, and need not be found here.
    """

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        ...

    @property
    def work(self) -> float:
        """How many rows a row that comes meets on average, as far as the choice of counted sets depends on it."""
        ...

    def plan(self, space: PredicateSpace, boxes: Words, counted: Sequence[EqualSet]) -> None:
        """Makes sure that pairs in all boxes are found when rows come."""
        ...

    def evidence(self, coming: Longs, counted: Sequence[EqualSet], budget: Budget) -> Evidence:
        """The evidence of pairs that new rows are in, and takes the rows in."""
        ...

    def unseen(self, space: PredicateSpace, boxes: Words, counted: Sequence[EqualSet]) -> bool:
        """Whether the rows that came last may be in a pair that lies in one of the boxes and was not seen."""
        ...

    def look(self, coming: Longs, counted: Sequence[EqualSet], budget: Budget) -> Evidence:
        """The evidence of rows that came last by ways that are new since then."""
        ...

    def drop(self, going: Longs) -> None:
        """Lets rows go that are no longer alive."""
        ...

    def reload(self, columns: frozenset[int] | None = None) -> None:
        """Makes anew what depends on the codes of some columns, or everything."""
        ...


def finder_of(rows: TrackedRows, ways: Ways) -> PairFinder:
    """The finder that is asked for."""
    residual = Residual(rows, ways.classes, ways.standing)
    return residual if ways.incdc is None else IndexFinder(rows, ways.incdc, residual)
