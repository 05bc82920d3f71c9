"""Slots in any order, dealt by the segments that hold them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]


@njit(cache=True, nogil=True)
def deal(slots: Longs, starts: Longs, ends: Longs, dealt: Longs, back: Longs) -> None:
    """Fills `dealt` with the slots, segment after segment, `ends` with where each ends, `back` with where a slot went.

    `starts` has the first slot of every segment, ascending; no slot is before the first of them. Slots of a segment
    keep their order. Two passes over the slots; slots that follow each other are mostly of one segment.
    """
    ends[:] = 0
    segment, low, high = 0, starts[0], starts[1] if len(starts) > 1 else np.int64(1 << 62)
    for i in range(len(slots)):
        slot = slots[i]
        if slot < low or slot >= high:
            segment = np.searchsorted(starts, slot, side="right") - 1
            low = starts[segment]
            high = starts[segment + 1] if segment + 1 < len(starts) else np.int64(1 << 62)
        ends[segment] += 1
        back[i] = segment
    total = 0
    for segment in range(len(ends)):
        total += ends[segment]
        ends[segment] = total - ends[segment]
    for i in range(len(slots)):
        segment = back[i]
        place = ends[segment]
        ends[segment] = place + 1
        dealt[place] = slots[i]
        back[i] = place
