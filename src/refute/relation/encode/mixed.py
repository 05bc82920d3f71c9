"""Floats with fractions beside integers and decimals, compared exactly without a Python object per value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refute.kernels.encode import floats as float_kernel
from refute.kernels.encode import integers as kernel
from refute.relation.encode.dense import dense_codes
from refute.relation.encode.floats import Floats, float_codes
from refute.relation.encode.integers import Ints, Steps
from refute.relation.encode.pieces import Pieces

_MOST = 2**59
_BASE = 3 * _MOST  # makes all places positive
_AT = 1  # the remainder by 3 of places that are steps themselves
_MOST_PLACES = 22  # 10^22 is the largest power of ten that is a float


def mixed_codes(columns: Sequence[Steps | Floats]) -> tuple[list[Ints], int] | None:
    """Ordered codes of numbers of both kinds; None when the whole ones go beyond 59 bits in their common unit.

    A float goes next to the nearest step of the whole numbers' unit, below, at or above it; floats that share that
    place are put in their own order.
    """
    whole = [column for column in columns if isinstance(column, Steps)]
    per_unit = max((column.unit.denominator for column in whole), default=1)
    reach = max((max(abs(c.low), abs(c.high)) * int(c.unit * per_unit) for c in whole if c.count), default=0)
    if per_unit > 10**_MOST_PLACES or reach >= _MOST or any((c.unit * per_unit).denominator != 1 for c in whole):
        return None
    places = [_place(column, per_unit) for column in columns]
    ranks, size = dense_codes(places, 2 * _BASE + 3)
    floats = [column for column in columns if not isinstance(column, Steps)]
    own, own_size = dense_codes(*float_codes(Pieces.apart(floats), floats))
    rest = iter(own)
    found: list[Ints] = []
    for column, place, rank in zip(columns, places, ranks, strict=True):
        code = rank.astype(np.int64) * (own_size + 1)
        if not isinstance(column, Steps):  # a float that is not a step comes with its own rank, any step with none
            code += np.where(place % 3 == _AT, 0, next(rest) + 1)
        found.append(np.where(rank < 0, -1, code))
    return found, size * (own_size + 1)


def _place(column: Steps | Floats, per_unit: int) -> NDArray[np.int64]:
    """Three places for each step: just below, at and just above it. -1 for null."""
    if isinstance(column, Steps):
        out = np.empty(len(column.values), dtype=np.int64)
        values = column.values.astype(np.int64, copy=False)
        kernel.affine(values, column.valid, 3 * int(column.unit * per_unit), _BASE + _AT, out)
        return out
    out = np.empty(len(column), dtype=np.int64)
    float_kernel.nearest_steps(column, float(per_unit), _MOST, _BASE + _AT, out)
    return out
