"""What one block of rows says about a change: the evidence of rows that go and come against the rows of the block.

It is what a tracking in one process does, over fewer rows. A block finds enough for its own pairs: boxes are cut by the
points that were found there, and what is left of them is known to hold no pair of a row that comes and a row of the
block. The boxes that are left in the end, when points of all blocks have cut them, lie within those of every block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from refute.discovery.evidence.counted import Evidence, merged, packed_pairs, unpacked_pairs
from refute.discovery.inversion.inverted import cut
from refute.discovery.pairs import Chosen
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget
from refute.kernels.tracking.points import first_around
from refute.language.nulls import Nulls
from refute.relation import Relation
from refute.tracking.codes import Longs
from refute.tracking.meeting.cover import Cover, EqualSet, met_evidence
from refute.tracking.meeting.residual import Residual
from refute.tracking.rows import Coded, TrackedRows


@dataclass(frozen=True, slots=True)
class MovedRows:
    """Rows that go and rows that come, by the columns of the space, with the numbers that they have."""

    going: pa.Table
    gone: Longs
    coming: pa.Table
    came: Longs


@dataclass(frozen=True, slots=True)
class BlockQuestion:
    """What is asked of a block: the pairs that agree on one of the sets, counted, and enough others to settle boxes.

    `boxes` are those that no set settles; None where nothing is known, and all pairs of rows that come are wanted.
    """

    space: PredicateSpace
    nulls: Nulls
    longest: int | None
    sets: tuple[Chosen, ...]
    boxes: Words | None
    classes: int
    standing: float


@dataclass(frozen=True, slots=True)
class Met:
    """The evidence of pairs: counted ones of rows that go, of rows that come, and others of these, seen only."""

    lost: Evidence
    gained: Evidence
    seen: Evidence

    @classmethod
    def nothing(cls, space: PredicateSpace) -> Met:
        """No pair at all."""
        return cls(Evidence.empty(space), Evidence.empty(space), Evidence.empty(space))

    def parts(self) -> tuple[Evidence, Evidence, Evidence]:
        """All of it: pairs that are lost, gained, and seen."""
        return self.lost, self.gained, self.seen


def all_met(space: PredicateSpace, parts: Sequence[Met]) -> Met:
    """What several blocks say together."""
    return Met(*(merged(space, column) for column in zip(*(one.parts() for one in parts), strict=True)))


def met(
    question: BlockQuestion, block: pa.Table, numbers: Longs, moved: MovedRows, *, among: bool, budget: Budget
) -> Met:
    """The evidence of a change against the rows of a block, whose numbers are given; with `among`, within it too."""
    space = question.space
    table = pa.concat_tables([block, moved.going.cast(block.schema), moved.coming.cast(block.schema)]).combine_chunks()
    old, ends = block.num_rows, block.num_rows + moved.going.num_rows
    rows = TrackedRows(space, question.nulls, {field.name: field.type for field in block.schema})
    coded = coded_rows(rows, Relation.of(table))
    rows.take_in(_slice(coded, 0, ends), Relation.of(table.slice(0, ends)), np.arange(ends))
    rows.let_go(np.arange(old, ends))
    cover = Cover(space, rows, question.sets)
    lost = cover.evidence(np.arange(old, ends), budget, among=among)
    fresh = np.arange(ends, len(table))
    coming = rows.take_in(_slice(coded, ends, len(table)), Relation.of(table.slice(ends)), fresh)
    gained = cover.evidence(coming, budget, among=among)
    seen = Evidence.empty(space)
    if len(coming) and (old or among):
        if question.boxes is None:
            seen = met_evidence(rows, coming, np.arange(old), budget)
        elif len(question.boxes):
            seen = _enough(question, question.boxes, rows, cover.sets, coming, gained, budget)
    named = np.concatenate([numbers, moved.gone, moved.came])
    return Met(*(_named(part, named) for part in (lost, gained, seen)))


def _enough(
    question: BlockQuestion,
    boxes: Words,
    rows: TrackedRows,
    sets: Sequence[EqualSet],
    coming: Longs,
    counted: Evidence,
    budget: Budget,
) -> Evidence:
    """Evidence of rows that come that breaks every box in which they are in a pair."""
    space = question.space
    residual = Residual(rows, question.classes, question.standing)
    residual.plan(space, boxes, sets)  # when rows that come are there, as by a look at them once more
    found = [residual.look(coming, sets, budget)]
    fresh = np.concatenate([counted.points, found[0].points])
    while len(fresh):
        around = np.empty(len(fresh), np.int64)
        first_around(np.ascontiguousarray(fresh), np.ascontiguousarray(boxes), around)
        if not (around >= 0).any():
            break
        boxes = cut(space, boxes, fresh[around >= 0], question.longest)
        if not len(boxes) or not residual.unseen(space, boxes, sets):
            break
        residual.plan(space, boxes, sets)
        more = residual.look(coming, sets, budget)
        found.append(more)
        fresh = more.points
    return merged(space, found)


def coded_rows(rows: TrackedRows, relation: Relation) -> Coded:
    """The rows as integers; a second look finds all values known."""
    found = rows.coded(relation) or rows.coded(relation)
    assert found is not None
    return found[0]


def _slice(coded: Coded, start: int, stop: int) -> Coded:
    return Coded(coded.codes[start:stop], coded.missing[start:stop], coded.nulls)


def _named(evidence: Evidence, numbers: Longs) -> Evidence:
    """The evidence with the numbers of rows in place of their positions."""
    if evidence.firsts is None:
        return evidence
    s, t = unpacked_pairs(evidence.firsts).T
    return replace(evidence, firsts=packed_pairs(numbers[s], numbers[t]))
