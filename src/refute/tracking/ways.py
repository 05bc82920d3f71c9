"""What a change of rows is asked by, and what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from refute.discovery.space.slots import Words
from refute.relation import Relation
from refute.tracking.codes import Longs
from refute.tracking.incdc.thresholds import Thresholds

After = Callable[[], tuple[Relation, Longs]]
"""Gives all rows as they are after a change, and their slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How much is kept and by which way pairs are found; no answer depends on it.

    `spare`: rows that may be gone before they are forgotten; a change of fewer is never made as a search from scratch.
    `witnesses`: pairs kept for a point that is not counted. `classes`: sets of columns of which rows stand for others,
    at most. `counted`: whether all pairs are counted, None to let the search decide. `span`: codes of values lie within
    it, 0 for all of 32 bits. `standing`: the share of rows up to which some are kept that stand for all others.
    `scratch`: the share of rows in a change from which everything is made anew. `moved`: the share of rows that came or
    went since the cover was chosen from which it is looked at again; it is chosen anew where rows meet more than
    `worse` times as many others as they did then, and as they would by another cover.
    `incdc`: what the indexes of that paper are chosen by, where rows that come are to meet others by these alone and
    nothing is counted. `suspects`: how many points may then lose their last witness before all pairs are searched anew
    rather than one for each. `came`: rows that came to a table on Spark and are in this process, until they are sent
    there.
    """

    spare: int = 1 << 12
    witnesses: int = 8
    classes: int = 40
    counted: bool | None = None
    span: int = 0
    standing: float = 1.0
    scratch: float = 0.5
    moved: float = 0.5
    worse: float = 2.0
    incdc: Thresholds | None = None
    suspects: int = 32
    came: int = 1 << 17


@dataclass(frozen=True, slots=True)
class TrackedChange:
    """What a change did: points that came, with the slots of a pair (s, t) each; points that went.

    Where some errors are allowed, points of which there are more pairs now count as come, too.
    """

    fresh: Words
    pairs: Longs  # (points, 2)
    dead: Words
