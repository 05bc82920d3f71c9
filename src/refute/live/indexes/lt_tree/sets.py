"""Sets of rows as Roaring bitmaps, from arrays of slots and back."""

from __future__ import annotations

from array import array

import numpy as np
from pyroaring import BitMap

from refute.errors import DataError
from refute.live.indexes.index import Longs

MOST = 1 << 32  # slots that a bitmap of 32 bits can hold


def as_set(slots: Longs) -> BitMap:
    """The set of these slots, none of which is beyond a bitmap."""
    packed = array("I")  # the one input that BitMap reads without making a Python integer of each
    packed.frombytes(slots.astype(np.uint32).tobytes())
    return BitMap(packed)


def as_slots(rows: BitMap) -> Longs:
    """The slots of a set, ascending."""
    return np.frombuffer(rows.to_array(), np.uint32).astype(np.int64)


def check_slots(slots: Longs) -> None:
    """Raises DataError if some slot does not fit a bitmap of 32 bits."""
    if len(slots) and int(slots.max()) >= MOST:
        raise DataError(
            f"The method lt_tree holds {MOST:,} rows, and row {int(slots.max()):,}, counted from 0, is beyond that. "
            "Choose another method for so many rows.",
            row=int(slots.max()),
            most=MOST,
        )
