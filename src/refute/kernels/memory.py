"""Room for arrays of a row count's size, from Arrow's memory pool.

The pool keeps pages that were given back for a while. What the C library allocates instead goes back to the system at
once, and fetching a page anew costs more than most kernels need to fill it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

_SMALL = 1 << 16  # bytes; what the C library keeps by itself
_MANY = 1 << 18  # rows


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array of any content."""
    kind = np.dtype(dtype)
    size = kind.itemsize * (shape if isinstance(shape, int) else prod(shape))
    if size <= _SMALL:
        return np.empty(shape, kind)
    found = np.frombuffer(pa.allocate_buffer(size), kind)
    return found if isinstance(shape, int) else found.reshape(shape)


def full(shape: int | tuple[int, ...], value: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new array of one value."""
    found = empty(shape, dtype)
    found.fill(value)
    return found


def give_back(rows: int) -> None:
    """Returns what the pool keeps of arrays that were given back, before work that takes far longer than to fetch it.

    Few rows are not worth the call.
    """
    if rows >= _MANY:
        pa.default_memory_pool().release_unused()
