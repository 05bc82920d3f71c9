"""Roaring bitmaps as id sets: for dense sets and predicates of few values, where a refinement is a few intersections.

FACET keeps ids in arrays where a refinement only stores and reads them, and in compressed bitmaps where it combines
sets (sections 4 and 5.2, figure 7). The same holds here: an intersection of two sets of a million dense ids takes
microseconds, a sort of their arrays milliseconds, but a bitmap of a sparse set gains nothing and values that are many
need many intersections. So a rule whose predicates all have few values is refined with bitmaps, any other with arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

import numpy as np
from pyroaring import BitMap

from refute.detect.refine.batch import ClusterPairs, all_pairs
from refute.detect.refine.refinements import refine
from refute.detect.refine.stages import Algorithm, Kind, Purpose, Stage
from refute.detect.refine.tuning import Tuning
from refute.kernels.refinement.id_sets import Ids, Int64s, Side
from refute.plan.problem import Problem
from refute.plan.share import Share
from refute.plan.step import Step, named

Clusters = list[tuple[BitMap, BitMap]]


def bitmaps_pay(stages: Sequence[Stage], rows: int, tuning: Tuning, *, partners: bool = False) -> bool:
    """Whether all stages together have so few combinations of values that intersections beat sorts."""
    if rows < tuning.bitmap_rows or not any(stage.kind is Kind.ORDER for stage in stages) or len(stages) < 2:
        return False
    if any(stage.algorithm is Algorithm.IEJOIN for stage in stages):
        return False
    limit = tuning.partner_bitmap_values if partners else tuning.bitmap_values
    return prod(stage.cardinality for stage in stages) <= limit * (len(stages) - 1) ** 2


def bitmap_steps(stages: Sequence[Stage]) -> Iterator[Step]:
    """What is done with bitmaps."""
    for stage in stages:
        yield Step(f"make bitmaps of the rows on either side of {named(stage.comparisons)}")
    yield Step("intersect them, and multiply the sizes of what is left")


def clusters_of(stage: Stage, problem: Problem, tuning: Tuning, share: Share | None) -> Clusters:
    """The cluster pairs of one predicate over all rows, as bitmaps; shared between rules by label.

    Any cluster pair (A, B) refined by the predicate is A and B intersected with each of these.
    """

    def build() -> Clusters:
        found: Clusters = []
        for batch in refine(stage, all_pairs(problem), Purpose.LIST, tuning, last=True):
            a = _Ranges(batch.a.ids, *batch.a[1:], *(batch.b[1:] if batch.b.ids is batch.a.ids else ()))
            b = a if batch.b.ids is batch.a.ids else _Ranges(*batch.b)
            sides = (batch.a.starts, batch.a.ends, batch.b.starts, batch.b.ends)
            found += [
                (a.bitmap(i, j), b.bitmap(k, m)) for i, j, k, m in zip(*map(np.ndarray.tolist, sides), strict=True)
            ]
        return found

    label = stage.comparisons[0].label
    if share is None or label is None or problem.s.rows is not None or problem.t.rows is not None:
        return build()
    return share.get(("refine", "bitmaps", stage.key), build)


def refine_bitmaps(indexes: Sequence[Clusters]) -> Iterator[tuple[BitMap, BitMap, Clusters]]:
    """Cluster pairs that satisfy all predicates but the last, each with the last one's cluster pairs; depth first."""
    *before, last = indexes
    if not before:
        return
    pending: list[tuple[BitMap, BitMap, int]] = [(a, b, 1) for a, b in reversed(before[0])]
    while pending:
        a, b, level = pending.pop()
        if level == len(before):
            yield a, b, last
            continue
        for x, y in before[level]:
            if (refined_a := a & x) and (refined_b := b & y):
                pending.append((refined_a, refined_b, level + 1))


def count_pairs(a: BitMap, b: BitMap, last: Clusters) -> int:
    """The pairs of (a, b) that satisfy a last predicate, by cardinalities alone."""
    total = 0
    for x, y in last:
        width = a.intersection_cardinality(x)
        if width:
            total += width * b.intersection_cardinality(y)
    return total


def to_pairs(a: BitMap, b: BitMap, last: Clusters) -> Iterator[ClusterPairs]:
    """The cluster pairs of (a, b) that satisfy a last predicate, as arrays."""
    for x, y in last:
        if (refined_a := a & x) and (refined_b := b & y):
            yield ClusterPairs(_side(refined_a), _side(refined_b), False)


def _side(ids: BitMap) -> Side:
    found = np.frombuffer(ids.to_array(), np.uint32).astype(np.int32)
    return Side(found, np.zeros(1, np.int64), np.full(1, len(found), np.int64))


class _Ranges:
    """The bitmaps of ranges of one array: built once per piece between two ends of ranges, and united from there."""

    def __init__(self, ids: Ids, *ends: Int64s) -> None:
        self._ids = ids.view(np.uint32)
        cuts: list[int] = np.unique(np.concatenate(ends)).tolist()
        self._next = dict(pairwise(cuts))
        self._known: dict[tuple[int, int], BitMap] = {}

    def bitmap(self, start: int, end: int) -> BitMap:
        """The ids of a range; ranges with a common end are built from each other, as HSM does (section 5.3)."""
        missing = []
        while start < end and (start, end) not in self._known:
            missing.append(start)
            start = self._next[start]
        found = self._known.get((start, end), BitMap())
        for piece in reversed(missing):
            found = found | self._piece(piece)
            self._known[piece, end] = found
        return found

    def _piece(self, start: int) -> BitMap:
        key = (start, self._next[start])
        if key not in self._known:
            packed = array("I")  # the one input that BitMap reads without making a Python integer of each id
            packed.frombytes(self._ids[key[0] : key[1]].tobytes())
            self._known[key] = BitMap(packed)
        return self._known[key]
