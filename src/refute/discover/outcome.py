"""What a search method hands on: boxes that no pair of rows falls into."""

from __future__ import annotations

from dataclasses import dataclass

from refute.discover.evidence import Evidence
from refute.discover.space import Words


@dataclass(frozen=True, slots=True)
class Outcome:
    """Maximal boxes that hold on all rows, and the evidence they were found from.

    `complete` says that these are all of them; else the search was stopped, and they are those verified by then.
    `counted` says that the evidence holds every pair of rows exactly once, so that its counts are true.
    """

    boxes: Words
    evidence: Evidence
    complete: bool
    counted: bool
    method: str
