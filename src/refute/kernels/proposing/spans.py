"""Spans inside groups: the fewest to remove so that no two of a group overlap."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.proposing.chance import drawn, mixed
from refute.kernels.sort.in_place import sort_part

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
_mixed_alike: Any = getattr(cast(Any, mixed), "py_func", mixed)  # for many numbers at once


@njit(cache=True, nogil=True)
def overlap_blame(ends: Longs, starts: Longs, bounds: Longs, limit: int) -> int:
    """The fewest spans to remove; ends as soon as there are more than `limit`. Both arrays hold codes below 2^31.

    Groups lie between `bounds`. Of spans that overlap, the one that ends first leaves most room. Of those that end
    together, empty ones come last: they touch the others, which would not fit behind them. O(n log n).
    """
    blame = 0
    spans = ends << 32 | starts
    for group in range(len(bounds) - 1):
        first, last = bounds[group], bounds[group + 1]
        sort_part(spans, first, last)
        free = np.int64(0)
        for at in range(first, last):
            if spans[at] & 0xFFFFFFFF >= free:
                free = spans[at] >> 32
            else:
                blame += 1
        if blame > limit:
            return blame
    return blame


def _few_sort_parts(values: Longs, bounds: Longs) -> None:
    for first, last in itertools.pairwise(bounds.tolist()):
        values[first:last].sort()


@njit(cache=True, nogil=True, few=_few_sort_parts)
def sort_parts(values: Longs, bounds: Longs) -> None:
    """Sorts the values between each two bounds. O(n log n)."""
    for part in range(len(bounds) - 1):
        sort_part(values, bounds[part], bounds[part + 1])


def _few_deal(values: Longs, seed: np.uint64) -> None:
    with np.errstate(over="ignore"):
        first = _mixed_alike(seed + np.uint64(len(values)))
    above = np.arange(len(values) - 1, 0, -1).astype(np.uint64)
    states = first + np.arange(1, len(values), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    others = ((_mixed_alike(states) >> np.uint64(11)) % (above + np.uint64(1))).tolist()
    dealt = np.sort(values).tolist()
    for at, other in zip(range(len(dealt) - 1, 0, -1), others, strict=True):
        dealt[at], dealt[other] = dealt[other], dealt[at]
    values[:] = dealt


@njit(cache=True, nogil=True, few=_few_deal)
def deal(values: Longs, seed: np.uint64) -> None:
    """Puts values into a random order that depends on what they are, and not on where they were."""
    sort_part(values, 0, len(values))
    state = mixed(seed + np.uint64(len(values)))
    for at in range(len(values) - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        other = drawn(state, at + 1)
        held = values[at]
        values[at] = values[other]
        values[other] = held
