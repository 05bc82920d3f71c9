"""The end of a pipeline for small cluster pairs: the last predicates, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from refute.detect.refine.batch import ClusterPairs
from refute.detect.refine.stages import Kind, Stage
from refute.detect.refine.tuning import Tuning
from refute.kernels.refinement.id_sets import Int64s
from refute.kernels.refinement.nested import DIFFER, EQUAL, ORDER, Gathered, gather, list_nested

_CODES = {Kind.EQUAL: EQUAL, Kind.DIFFER: DIFFER, Kind.ORDER: ORDER}

_MOST = 4  # predicates after the first from which on more of them change nothing

Nested = tuple[Int64s, Gathered, Gathered]


def cut_small(
    batch: ClusterPairs, stages: Sequence[Stage], tuning: Tuning
) -> tuple[ClusterPairs | None, ClusterPairs | None]:
    """The cluster pairs that a loop finishes sooner than the stages left, and the others; None for none.

    A pair is small when its pairs of ids are few for its ids, and the more stages are left the more a loop saves.
    """
    predicates = sum(len(stage.comparisons) for stage in stages)
    if predicates < 2 or tuning.nested_pairs <= 0:
        return None, batch
    a, b = batch.a.ends - batch.a.starts, batch.b.ends - batch.b.starts
    small = a * b <= float(tuning.nested_pairs) * min(predicates - 1, _MOST) ** 3 * (a + b)
    if small.all():
        return batch, None
    if not small.any():
        return None, batch
    return batch.where(small), batch.where(~small)


def gathered(batch: ClusterPairs, stages: Sequence[Stage]) -> Nested:
    """The predicates' kinds and both sides with the values that they compare."""
    predicates = [(stage.kind, comparison) for stage in stages for comparison in stage.comparisons]
    kinds = np.array([_CODES[kind] for kind, _ in predicates], np.int64)
    a = gather(batch.a, [comparison.s for _, comparison in predicates])
    return kinds, a, gather(batch.b, [comparison.t for _, comparison in predicates])


def listed(batch: ClusterPairs, stages: Sequence[Stage], tuning: Tuning) -> Iterator[ClusterPairs]:
    """The batch refined by all stages at once, in parts of at most as many pairs of ids as a budget has ids."""
    for part in batch.split(tuning.budget, pairs=True, growing=True):
        found = ClusterPairs(*list_nested(*gathered(part, stages)), False, batch.sign)
        if len(found):
            yield found
