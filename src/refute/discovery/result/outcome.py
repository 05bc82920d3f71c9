"""What a search method is, and what it hands on: boxes that no pair of rows falls into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from refute.discovery.evidence.counted import Evidence
from refute.discovery.evidence.unordered import UnorderedPairs
from refute.discovery.space.slots import Words
from refute.discovery.work import Budget

EVERY_PAIR: tuple[frozenset[int], ...] = (frozenset(),)
"""The settled sets of a search that saw all pairs: they all agree on no slot at all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Maximal boxes that hold on all rows, and the evidence they were found from.

    `complete` says that these are all of them; else the search was stopped, and they are those verified by then.
    `counted` says that the evidence holds every pair of rows exactly once, so its counts are true. `settled` are
    the sets of slots for which every pair that agrees on them is among the evidence; the empty set stands for all
    pairs. `notes` say what was not searched.

    Of approximate rules, `unordered` are the pairs that they were found from, `counts` are the ordered pairs and the
    pairs of each box, by its bytes in the space that rules read, and `measured` is how many rows stand in the way of
    it, where rows are what is measured.
    """

    boxes: Words
    evidence: Evidence
    complete: bool
    counted: bool
    method: str
    settled: tuple[frozenset[int], ...] = ()
    notes: tuple[str, ...] = ()
    unordered: UnorderedPairs | None = None
    counts: Mapping[bytes, tuple[int, int]] = field(default_factory=dict)
    measured: Mapping[bytes, int] = field(default_factory=dict)


class Search(Protocol):
    """One search for the rules of a table, by any method."""

    def run(self, budget: Budget) -> Outcome:
        """The rules of the table, or those verified until the time was up."""

    def so_far(self) -> Outcome:
        """The rules verified by now; for a search that was interrupted."""
