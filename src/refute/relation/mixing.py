"""Bits mixed such that close numbers come out far apart: what rows are sent to tasks by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]
NULL = np.uint64(0x9E3779B97F4A7C15)  # what stands for null
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def scrambled(values: Bits) -> Bits:
    """The values with their bits mixed (splitmix64)."""
    values = (values + NULL).astype(np.uint64)
    values ^= values >> np.uint64(30)
    values *= _FACTORS[0]
    values ^= values >> np.uint64(27)
    values *= _FACTORS[1]
    values ^= values >> np.uint64(31)
    return values
