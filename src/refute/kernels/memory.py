"""Room for arrays of a row count's size, from Arrow's memory pool.

The pool keeps pages that were given back for some milliseconds. What the C library allocates instead goes back to the
system at once, and fetching a page anew costs more than most kernels need to fill it. Arrays of small tables, for which
this is most of the work, are kept for the next call: `_Kept`.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import defaultdict
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

_SMALL = 1 << 16  # bytes; what the C library keeps by itself
_LARGE = 1 << 20  # bytes; arrays beyond this are not kept
_MOST_KEPT = 16 << 20  # bytes
_MANY = 1 << 18  # rows


class _Kept:
    """Buffers that no array uses any more, by size, for the next array of this size; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: defaultdict[int, list[pa.Buffer]] = defaultdict(list)
        self._bytes = 0

    def array(self, shape: int | tuple[int, ...], kind: np.dtype[Any], size: int) -> NDArray[Any]:
        """An array of `size` bytes, whose buffer comes back here once the array and all its views are gone."""
        room = 1 << (size - 1).bit_length()
        with self._lock:
            free = self._free[room]
            buffer = free.pop() if free else None
            self._bytes -= 0 if buffer is None else room
        if buffer is None:
            buffer = pa.allocate_buffer(room)
        whole = np.frombuffer(buffer, np.uint8)
        weakref.finalize(whole, self._keep, room, buffer).atexit = False
        return whole[:size].view(kind).reshape(shape)

    def _keep(self, room: int, buffer: pa.Buffer) -> None:
        with self._lock:
            if self._bytes + room <= _MOST_KEPT:
                self._free[room].append(buffer)
                self._bytes += room

    def clear(self) -> None:
        """Keep none of them."""
        with self._lock:
            self._free.clear()
            self._bytes = 0


_kept = _Kept()


def _forget() -> None:
    """A child process starts with a lock of its own, whoever held this one."""
    global _kept
    _kept = _Kept()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array of any content."""
    kind = np.dtype(dtype)
    size = kind.itemsize * (shape if isinstance(shape, int) else prod(shape))
    if size <= _SMALL:
        return np.empty(shape, kind)
    if size <= _LARGE:
        return _kept.array(shape, kind, size)
    found = np.frombuffer(pa.allocate_buffer(size), kind)
    return found if isinstance(shape, int) else found.reshape(shape)


def full(shape: int | tuple[int, ...], value: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new array of one value."""
    found = empty(shape, dtype)
    found.fill(value)
    return found


def give_back(rows: int) -> None:
    """Returns what is kept of arrays that are no longer used, before work that takes far longer than to fetch it.

    Few rows are not worth the call.
    """
    if rows >= _MANY:
        _kept.clear()
        pa.default_memory_pool().release_unused()
