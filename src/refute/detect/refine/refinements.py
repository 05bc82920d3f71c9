"""The refinement operators: cluster pairs in, those that satisfy one more predicate out (FACET, section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from refute.detect.refine.batch import ClusterPairs
from refute.detect.refine.stages import Algorithm, Kind, Purpose, Stage
from refute.detect.refine.tuning import Tuning
from refute.kernels.refinement.groups import count_equal, group, join
from refute.kernels.refinement.id_sets import Keyed, Side
from refute.kernels.refinement.iejoin import JoinListing, Sorted
from refute.kernels.refinement.merge import apart_pairs, below_pairs, equal_pairs
from refute.kernels.refinement.sorts import sort, sort_below

_UNCUT = 1 << 62  # more blocks than any set has: a node that HSM handles whole


def refine(
    stage: Stage, batch: ClusterPairs, purpose: Purpose, tuning: Tuning, *, last: bool = False, drop: bool = False
) -> Iterator[ClusterPairs]:
    """The non-empty batches of pairs that satisfy the stage's predicate too.

    `last` says that nothing reads the sets afterwards, so their sizes do not matter; `drop` that sets of one id,
    paired with themselves, may be left out.
    """
    for found in _refined(stage, batch, purpose, tuning, last, drop):
        if len(found):
            yield found


def _refined(
    stage: Stage, batch: ClusterPairs, purpose: Purpose, tuning: Tuning, last: bool, drop: bool
) -> Iterator[ClusterPairs]:
    if stage.algorithm is Algorithm.IEJOIN:
        yield from _list_iejoin(stage, batch, tuning)
    elif stage.kind is Kind.ORDER:
        yield _below(stage, batch, tuning)
    elif stage.kind is Kind.EQUAL:
        yield _equal(stage, batch, drop)
    elif purpose is Purpose.COUNT:
        # What differs is everything less what is equal: linear, where sets of different values are many or large.
        yield batch
        yield replace(_equal(stage, batch, drop=False), sign=-batch.sign)
    else:
        yield _apart(stage, batch, tuning, last)


def count_last(stage: Stage, batch: ClusterPairs) -> int:
    """The pairs of the batch, with its sign, that satisfy a last equality or non-equality; no set is built."""
    (comparison,) = stage.comparisons
    if batch.reflexive and stage.single_column:
        equal = count_equal(batch.a, batch.a, (comparison.s, comparison.s), reflexive=True)
    elif stage.build_s:
        equal = count_equal(batch.a, batch.b, (comparison.s, comparison.t), reflexive=False)
    else:
        equal = count_equal(batch.b, batch.a, (comparison.t, comparison.s), reflexive=False)
    return batch.sign * (equal if stage.kind is Kind.EQUAL else batch.pairs - equal)


def _equal(stage: Stage, batch: ClusterPairs, drop: bool) -> ClusterPairs:
    """Hash equality refinement (section 5.1): one table of the side with fewer values, the other side probes it."""
    (comparison,) = stage.comparisons
    if batch.reflexive and stage.single_column:
        grouped = group(batch.a, comparison.s, smallest=2 if drop else 1)
        side, _ = equal_pairs(grouped, grouped)
        return ClusterPairs(side, side, True, batch.sign)
    a, b = _joined(stage, batch, matched=True)
    return ClusterPairs(*equal_pairs(a, b), False, batch.sign)


def _apart(stage: Stage, batch: ClusterPairs, tuning: Tuning, last: bool) -> ClusterPairs:
    """Non-equality refinement (section 5.2): each group of A with B less the same group, which is two ranges of B."""
    (comparison,) = stage.comparisons
    if batch.reflexive and stage.single_column:
        a = b = group(batch.a, comparison.s)
    else:
        a, b = _joined(stage, batch, matched=False)
    sides = apart_pairs(a, b, bins=tuning.bins, leaf=_UNCUT if last else tuning.leaf)
    return ClusterPairs(*sides, False, batch.sign)


def _joined(stage: Stage, batch: ClusterPairs, *, matched: bool) -> tuple[Keyed, Keyed]:
    (comparison,) = stage.comparisons
    if stage.build_s:
        return join(batch.a, batch.b, (comparison.s, comparison.t), matched=matched)
    b, a = join(batch.b, batch.a, (comparison.t, comparison.s), matched=matched)
    return a, b


def _below(stage: Stage, batch: ClusterPairs, tuning: Tuning) -> ClusterPairs:
    """Inequality refinement by HSM or BHSM (section 5.3)."""
    (comparison,) = stage.comparisons
    if batch.reflexive and stage.single_column:
        a = b = sort(batch.a, comparison.s)
    else:
        a, b = sort_below(batch.a, batch.b, comparison.s, comparison.t)
    leaf = tuning.leaf if stage.algorithm is Algorithm.BHSM else _UNCUT
    return ClusterPairs(*below_pairs(a, b, bins=tuning.bins, leaf=leaf), False, batch.sign)


def iejoin_orders(stage: Stage, batch: ClusterPairs) -> Sorted:
    """The batch sorted by both inequalities of an IEJoin, without the ids that the first one leaves alone."""
    x, y = stage.comparisons
    a_x, b_x = sort_below(batch.a, batch.b, x.s, x.t)
    return Sorted(a_x, sort(_side(a_x), y.s), b_x, sort(_side(b_x), y.t))


def mirrored(orders: Sorted) -> Sorted:
    """The same problem seen from the other side: B below A in negated keys."""
    a_x, a_y, b_x, b_y = (_reversed(keyed) for keyed in orders)
    return Sorted(b_x, b_y, a_x, a_y)


def _reversed(keyed: Keyed) -> Keyed:
    return Keyed(
        np.ascontiguousarray(keyed.ids[::-1]),
        np.ascontiguousarray(-keyed.keys[::-1]),
        np.ascontiguousarray(keyed.offsets[-1] - keyed.offsets[::-1]),
    )


def _side(keyed: Keyed) -> Side:
    return Side(keyed.ids, keyed.offsets[:-1], keyed.offsets[1:])


def _list_iejoin(stage: Stage, batch: ClusterPairs, tuning: Tuning) -> Iterator[ClusterPairs]:
    x, _ = stage.comparisons
    listing = JoinListing(iejoin_orders(stage, batch), len(x.s), len(x.t), tuning.budget)
    while (sides := listing.next()) is not None:
        yield ClusterPairs(*sides, False, batch.sign)
