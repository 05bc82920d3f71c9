"""Counting where one set of points serves both sides and all but the swept order has few values: sorted integers."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.layout import Dimensions
from refute.detect.sweep.points import Points
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance.packed import add_digit, bucket_sizes, count_packed, deal_block, sort_buckets
from refute.kernels.sort.sorting import BUCKET, DIGIT, segment_sizes
from refute.plan.problem import Ints, Reading
from refute.plan.share import Share, threads_for
from refute.runtime.arrays import empty, full, give_back
from refute.runtime.threads import together

_WIDEST = 62  # bits of a key
_BLOCK = 1 << 15  # points whose keys are made at a time
_SPARED = 3  # bits by which buckets are made smaller, if that saves a pass over them
Longs = NDArray[np.int64]
Words = NDArray[np.uint64]


def can_pack(points: Points, dimensions: Dimensions, tuning: Tuning) -> bool:
    """Whether cells are few, keys fit into words, and both sides are the same points."""
    if dimensions.ragged or not dimensions.tree or prod(each.size for each in dimensions.tree) > tuning.packed:
        return False
    grouped = points.group is None or points.group.twin
    if not points.aligned or not grouped or not all(each.same_codes for each in points.order):
        return False
    return sum(_widths(points, dimensions)) <= _WIDEST


def _widths(points: Points, dimensions: Dimensions) -> tuple[int, int, int]:
    """The bits of the group, the cell and the swept order in a key."""
    swept = dimensions.swept
    cells = prod(each.size for each in dimensions.tree)
    bits = max(1, (swept.size - 1 - swept.lag).bit_length())
    return (points.groups - 1).bit_length(), (cells - 1).bit_length(), bits


def count_in_lanes(points: Points, dimensions: Dimensions, share: Share | None, tuning: Tuning) -> int:
    """The pairs with all orders true, a row with itself included, of points that `can_pack`."""
    swept, tree = dimensions.swept, dimensions.tree
    spans = [prod(each.size for each in tree[i + 1 :]) for i in range(len(tree))]
    cell_at, cell_bits, bits = _widths(points, dimensions)
    # From the last cell down: `top - sum(span * code)`.
    digits = [
        (*_turned(each.reading(0), each.size - 1), span << cell_at) for each, span in zip(tree, spans, strict=True)
    ]
    if points.group is not None:
        digits.append((*points.group.reading(0), 1))
    give_back(points.n_s)
    threads = threads_for(share, points.n_s, tuning.parallel)
    keys = _sorted_keys(swept.reading(0), digits, cell_at, cell_bits, bits, threads)
    largest = points.n_s if points.group is None else int(segment_sizes(points.group.s, points.groups).max())
    lanes = next(lanes for lanes in (3, 2, 1, 0) if largest < 1 << (64 >> lanes))
    above, words = _above(tuple(each.size for each in tree), lanes)
    reads = sum(each.lag * span for each, span in zip(tree, spans, strict=True))
    tables = full(points.groups * words, 0, np.uint64)
    found = count_packed(keys.view(np.uint64), cell_at, cell_bits, swept.lag, reads, above, words, lanes, tables)
    return int(found)


def _turned(reading: Reading, last: int) -> Reading:
    """The integers counted from the last one down."""
    codes, turned, offset = reading
    return codes, not turned, last - offset


def _sorted_keys(
    swept: Reading, digits: list[tuple[Ints, bool, int, int]], cell_at: int, cell_bits: int, bits: int, threads: int
) -> Longs:
    """The digits as one integer per point, in ascending order of what is swept, which has the highest bits, and cell.

    Keys are dealt into buckets by their leading bits as they are made, and buckets are sorted within the caches.
    """
    n, low = len(swept[0]), cell_at + cell_bits
    lead = (n // BUCKET).bit_length()
    over = (cell_bits + bits - lead) % DIGIT
    lead = min(DIGIT, lead + (over if over <= _SPARED else 0), bits)
    shift = bits - lead
    starts = np.zeros((1 << lead) + 1, np.int64)
    bucket_sizes(*swept, shift, starts[1:])
    np.cumsum(starts, out=starts)
    cursor = starts[:-1].copy()
    dealt: Longs = empty(n, np.int64)
    keys: Longs = empty(min(n, _BLOCK), np.int64)
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        own = keys[: min(_BLOCK, n - start)]
        for place, (codes, turned, offset, factor) in enumerate(((*swept, 1 << low), *digits)):
            add_digit(codes[rows], turned, offset, factor, own, place == 0)
        deal_block(own, low + shift, cursor, dealt)
    room = int(np.diff(starts).max())
    cuts = [0, *np.searchsorted(starts, [n * part // threads for part in range(1, threads)]).tolist(), len(starts) - 1]
    together(
        threads,
        [
            partial(sort_buckets, dealt, starts[a : b + 1], cell_at, cell_bits + shift, empty(room, np.int64))
            for a, b in pairwise(cuts)
        ],
    )
    return dealt


@lru_cache(maxsize=64)
def _above(sizes: tuple[int, ...], lanes: int) -> tuple[Words, int]:
    """For each cell, words with a one in the lane of every cell above it in all dimensions; and how many words.

    Cells are numbered from the last one down, as in the keys.
    """
    cells = np.indices(sizes).reshape(len(sizes), -1)[:, ::-1]
    higher = np.all(cells[:, :, None] < cells[:, None, :], axis=0)
    words = -(-len(higher) // (1 << lanes))
    above = np.zeros((len(higher), words), np.uint64)
    for cell in range(len(higher)):
        lane = np.uint64((cell & ((1 << lanes) - 1)) << (6 - lanes))
        above[:, cell >> lanes] |= higher[:, cell].astype(np.uint64) << lane
    return above.ravel(), words
