"""Slots by keys: open addressing over lines that hold the cells of a key and one more than its slot; 0 is free.

A key stands at the place that the first bits of its hash give, or behind it with no free place between. A table is made
larger little by little: what is not yet in `lines` is in `old`, which is empty otherwise. Both have a power of two of
lines.
"""

from __future__ import annotations

import numpy as np

from refute.kernels.compiled import njit
from refute.kernels.runs.borrowed import borrowed
from refute.kernels.runs.rows import Lines, Longs, hashed

NO_SLOT = -1
_AT_HAND = 1 << 10  # keys whose places stay in a core's cache


@njit(cache=True, nogil=True)
def find(lines: Lines, old: Lines, keys: Lines, slots: Longs) -> None:
    """Fills `slots` with the slot of each key, NO_SLOT where there is none. O(keys) expected."""
    _find(lines, old, keys, slots)


@njit(cache=True, nogil=True)
def _find(kept_lines: Lines, kept_old: Lines, kept_keys: Lines, kept_slots: Longs) -> None:
    """As `find`, by arrays that its caller keeps."""
    lines, old, keys, slots = borrowed(kept_lines), borrowed(kept_old), borrowed(kept_keys), borrowed(kept_slots)
    for begin in range(0, len(keys), _AT_HAND):
        end = min(begin + _AT_HAND, len(keys))
        _places(lines, keys[begin:end], slots[begin:end])
        for i in range(begin, end):
            at, there = _found(lines, keys, i, int(slots[i]))
            slots[i] = lines[at, keys.shape[1]] - 1 if there else NO_SLOT
            if not there and len(old):
                at, there = _found(old, keys, i, _place(old, keys, i))
                if there:
                    slots[i] = old[at, keys.shape[1]] - 1


@njit(cache=True, nogil=True)
def put(lines: Lines, keys: Lines, slots: Longs, places: Longs) -> None:
    """Takes keys in that are different and not there, with their slots; `places` is as long. There must be room."""
    _put_all(lines, keys, slots, places)


@njit(cache=True, nogil=True)
def _put_all(kept_lines: Lines, kept_keys: Lines, kept_slots: Longs, kept_places: Longs) -> None:
    """As `put`, by arrays that its caller keeps."""
    lines, keys, slots, places = borrowed(kept_lines), borrowed(kept_keys), borrowed(kept_slots), borrowed(kept_places)
    for begin in range(0, len(keys), _AT_HAND):
        end = min(begin + _AT_HAND, len(keys))
        _places(lines, keys[begin:end], places[begin:end])
        for i in range(begin, end):
            _put(lines, keys, i, int(places[i]), int(slots[i]) + 1)


@njit(cache=True, nogil=True)
def remove(lines: Lines, old: Lines, keys: Lines, places: Longs) -> None:
    """Lets keys go that are there; `places` is as long."""
    _places(lines, keys, places)
    for i in range(len(keys)):
        at, there = _found(lines, keys, i, int(places[i]))
        if there:
            _close(lines, at)
        elif len(old):
            at, there = _found(old, keys, i, _place(old, keys, i))
            if there:
                _close(old, at)


@njit(cache=True, nogil=True)
def move(old: Lines, first: int, count: int, lines: Lines) -> int:
    """Moves the keys of so many places, and of those up to the next free one, to another table; where it ended.

    Places before `first` have been moved. What stays can be found as before: between its place and its line lies no
    free one, but for keys that went round from the end of `old` to its start, which are moved at first. O(count).
    """
    last = old.shape[1] - 1
    at = first
    while at < len(old) and (at < first + count or old[at, last] != 0):
        if old[at, last] != 0:
            _put(lines, old, at, _place_of(lines, old, at, last), int(old[at, last]))
            old[at, last] = 0
        at += 1
    return at


@njit(cache=True, nogil=True)
def _places(lines: Lines, keys: Lines, places: Longs) -> int:
    """Where the search for each key begins; looks there, so keys wait for memory together. Its result says nothing."""
    last, seen = lines.shape[1] - 1, 0
    for i in range(len(keys)):
        places[i] = _place(lines, keys, i)
    for i in range(len(keys)):
        seen ^= lines[places[i], last]
    return seen


@njit(cache=True, nogil=True, inline="always")
def _place(lines: Lines, keys: Lines, i: int) -> int:
    return _place_of(lines, keys, i, keys.shape[1])


@njit(cache=True, nogil=True, inline="always")
def _place_of(lines: Lines, keys: Lines, i: int, cells: int) -> int:
    """The place of a key in a table: the first bits of its hash, of which 32 are enough."""
    return int(hashed(keys, i, cells) >> np.uint64(32)) * len(lines) >> 32


@njit(cache=True, nogil=True)
def _found(lines: Lines, keys: Lines, i: int, at: int) -> tuple[int, bool]:
    """The line of a key, given its place; else the line that it would take."""
    cells, wrap = keys.shape[1], len(lines) - 1
    while lines[at, cells] != 0:
        same = True
        for c in range(cells):
            same = same and lines[at, c] == keys[i, c]
        if same:
            return at, True
        at = (at + 1) & wrap
    return at, False


@njit(cache=True, nogil=True)
def _put(lines: Lines, keys: Lines, i: int, at: int, entry: int) -> None:
    """Puts a key into the first free line from its place on."""
    last, wrap = lines.shape[1] - 1, len(lines) - 1
    while lines[at, last] != 0:
        at = (at + 1) & wrap
    for c in range(last):
        lines[at, c] = keys[i, c]
    lines[at, last] = entry


@njit(cache=True, nogil=True)
def _close(lines: Lines, at: int) -> None:
    """Frees a line, and brings those behind it forward that would not be found any more."""
    last, wrap = lines.shape[1] - 1, len(lines) - 1
    free, at = at, (at + 1) & wrap
    while lines[at, last] != 0:
        place = _place_of(lines, lines, at, last)
        if (at - place) & wrap >= (at - free) & wrap:
            for c in range(last + 1):
                lines[free, c] = lines[at, c]
            free = at
        at = (at + 1) & wrap
    lines[free, last] = 0
