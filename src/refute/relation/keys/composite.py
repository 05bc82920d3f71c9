"""Keys of several columns: one number for each row, the same where rows agree on all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
WIDEST = 2**62


def composite(columns: Iterable[tuple[NDArray[np.signedinteger], int]], n: int) -> tuple[Longs, int]:
    """A key for each of n rows, and a number that all are below, at most 2^62; columns have integers in `[0, size)`.

    Keys are numbered anew only where the next column would not fit.
    """
    keys, span = np.zeros(n, np.int64), 1
    for codes, size in columns:
        if span * size > WIDEST:
            distinct, keys = np.unique(keys, return_inverse=True)
            span = len(distinct)
        keys = keys * size + codes
        span *= size
    return keys, span
