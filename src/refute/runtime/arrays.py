"""Room for arrays of a row count's size, from Arrow's memory pool.

The pool keeps pages that were given back for some milliseconds. What the C library allocates instead goes back to the
system at once, and fetching a page again costs more than most kernels need to fill it. Arrays of small tables, for
which this is most of the work, are kept for the next call.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

_SMALL = 1 << 16  # bytes; what the C library keeps by itself
_LARGE = 1 << 20  # bytes; arrays beyond this are not kept
_MOST_KEPT = 4 << 20  # bytes of each size
_PAGED = 1 << 22  # bytes from which an array has pages of its own
_MOST_SPARE = 1 << 26  # bytes of pages that are kept from one work to the next
_MANY = 1 << 18  # rows

# Buffers that no array uses any more, by size. Lists are safe to use from many threads, and from a destructor that runs
# in the midst of anything, as a lock would not be.
_kept: dict[int, list[pa.Buffer]] = {}
_spare: dict[int, list[mmap.mmap]] = {}  # likewise the pages of large arrays, as long as some work would reuse them
_reusing: list[None] = []  # for each such work


class _Lease:
    """The memory of one array, which goes back to `_kept` once the array and all its views are gone."""

    __slots__ = ("__array_interface__", "_buffer")

    def __init__(self, shape: tuple[int, ...], kind: np.dtype[Any], size: int) -> None:
        room = 1 << (size - 1).bit_length()
        try:
            self._buffer = _kept[room].pop()
        except (KeyError, IndexError):
            self._buffer = pa.allocate_buffer(room)
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": kind.str,
            "data": (self._buffer.address, False),
        }

    def __del__(self) -> None:
        buffer = getattr(self, "_buffer", None)  # none where there was no memory, or Ctrl-C came before
        if buffer is None:
            return
        free = _kept.setdefault(buffer.size, [])
        if len(free) * buffer.size < _MOST_KEPT:
            free.append(buffer)


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array of any content."""
    kind = np.dtype(dtype)
    size = kind.itemsize * (shape if isinstance(shape, int) else prod(shape))
    if size <= _SMALL:
        return np.empty(shape, kind)
    if size <= _LARGE:
        return np.asarray(_Lease((shape,) if isinstance(shape, int) else shape, kind, size))
    found = np.frombuffer(pa.allocate_buffer(size), kind)
    return found if isinstance(shape, int) else found.reshape(shape)


def full(shape: int | tuple[int, ...], value: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new array of one value."""
    found = empty(shape, dtype)
    found.fill(value)
    return found


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array of zeros, for what lives long and is filled little by little.

    A large one has pages of its own: they are fetched one by one as they are first used, so nobody waits for many, and
    go back to the system with the array, where other allocators keep what they hope to use again.
    """
    kind = np.dtype(dtype)
    size = kind.itemsize * (shape if isinstance(shape, int) else prod(shape))
    if size < _PAGED:
        return np.zeros(shape, kind)
    found = np.frombuffer(_pages(size), kind, size // kind.itemsize)
    return found if isinstance(shape, int) else found.reshape(shape)


class _Paged:
    """The pages of one large array. They serve the next one where that is asked for, else go back to the system."""

    __slots__ = ("__array_interface__", "_pages")

    def __init__(self, shape: tuple[int, ...], kind: np.dtype[Any], size: int) -> None:
        room = 1 << (size - 1).bit_length()  # of which what is not used takes no memory
        spare = _spared(size, room)
        self._pages = _pages(size, room) if spare is None else spare
        start = np.frombuffer(self._pages, np.uint8).__array_interface__["data"][0]
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": kind.str, "data": (start, False)}

    def __del__(self) -> None:
        pages = getattr(self, "_pages", None)
        if _reusing and pages is not None:
            _spare.setdefault(len(pages), []).append(pages)


def paged(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array of any content, otherwise as `zeros` gives."""
    kind = np.dtype(dtype)
    size = kind.itemsize * prod(shape)
    return np.empty(shape, kind) if size < _PAGED else np.asarray(_Paged(shape, kind, size))


@contextlib.contextmanager
def reused_pages() -> Iterator[None]:
    """Within it, large arrays get the pages of those that went: to fetch new ones takes longer than to fill them.

    Those of one array are kept for the next time.
    """
    _reusing.append(None)
    try:
        yield
    finally:
        _reusing.pop()
        if not _reusing:
            _keep_one()


def _keep_one() -> None:
    """Lets pages that are spare go, but those of one array."""
    largest: mmap.mmap | None = None
    for room in sorted(_spare, reverse=True):
        with contextlib.suppress(KeyError, IndexError):
            while True:
                pages = _spare[room].pop()
                if largest is None and room <= _MOST_SPARE:
                    largest = pages
    if largest is not None:
        _spare.setdefault(len(largest), []).append(largest)


def _spared(size: int, room: int) -> mmap.mmap | None:
    """Pages that no array has any more: as many as asked for, or fewer, to which the system adds some."""
    for kept in sorted(_spare, reverse=True):
        if kept > room or (kept < room and (4 * kept < room or not hasattr(mmap, "MADV_HUGEPAGE"))):
            continue
        with contextlib.suppress(KeyError, IndexError, OSError):
            pages = _spare[kept].pop()
            if kept < room:
                pages.madvise(mmap.MADV_HUGEPAGE)  # all alike, as only such can be moved, which does not copy them
                pages.resize(room)
            else:
                _in_large_ones(pages, size)
            used = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            if hasattr(mmap, "MADV_DONTNEED") and used < kept:
                pages.madvise(mmap.MADV_DONTNEED, used, room - used)
            return pages
    return None


def _pages(size: int, room: int = 0) -> mmap.mmap:
    """Memory of this process alone, in large pages where the system has some: to fetch 2 MB in small ones takes five
    times as long, and in pages that could be shared with another process seven times. There may be more `room`."""
    room = max(size, room)
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return mmap.mmap(-1, room)
    found = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    _in_large_ones(found, size)
    return found


def _in_large_ones(pages: mmap.mmap, size: int) -> None:
    """Has the system use large pages for so many bytes, and not beyond, where the last would be more than is used."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without them
            pages.madvise(mmap.MADV_HUGEPAGE, 0, size)


def give_back(rows: int) -> None:
    """Returns what is kept of arrays that are no longer used, before work that takes far longer than to fetch it.

    Few rows are not worth the call.
    """
    if rows >= _MANY:
        _kept.clear()
        if not _reusing:
            _spare.clear()
        pa.default_memory_pool().release_unused()
