"""Existence of a dominating point by tables of extrema: linear time where all dimensions but one are small.

A cell stands for a group and one value in each small dimension. Its entry becomes the least value of the remaining
dimension over the points s below it, so each point t needs one look. Entries may be kept for two different codes,
so that a partner of another code (another row, another value of a `!=` column) is found in the same look.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Ints = NDArray[np.signedinteger]
Longs = NDArray[np.int64]

NONE = np.iinfo(np.int64).max  # an entry without a value


@njit(cache=True, nogil=True, plain=True)
def first_repeat(groups: Ints, seen: NDArray[np.bool_]) -> int:
    """The first position whose group came before, or -1. `seen` is False for each group."""
    for i in range(len(groups)):
        if seen[groups[i]]:
            return i
        seen[groups[i]] = True
    return -1


@njit(cache=True, nogil=True, plain=True)
def first_clash(groups: Ints, codes: Ints, known: Ints) -> int:
    """The first position whose code is not that of its group's first position, or -1. `known` is -1 for each group."""
    for i in range(len(groups)):
        code = known[groups[i]]
        if code < 0:
            known[groups[i]] = codes[i]
        elif code != codes[i]:
            return i
    return -1


@njit(cache=True, nogil=True, plain=True)
def lower_cells(cells: Ints, shift: int, values: Ints, least: Ints) -> None:
    """Lowers the entry of each point's cell, moved by `shift`, to its value."""
    for i in range(len(cells)):
        cell = cells[i] + shift
        if values[i] < least[cell]:
            least[cell] = values[i]


@njit(cache=True, nogil=True, plain=True)
def spread_cells(least: Ints, length: int, inner: int) -> None:
    """Makes every entry the least of those up to it along one dimension of `length` cells that lie `inner` apart."""
    for start in range(0, len(least), length * inner):
        for cell in range(start + inner, start + length * inner):
            if least[cell - inner] < least[cell]:
                least[cell] = least[cell - inner]


@njit(cache=True, nogil=True, plain=True)
def first_above(cells: Ints, values: Ints, least: Ints) -> int:
    """The first position whose value is above the entry of its cell, or -1."""
    for i in range(len(cells)):
        if least[cells[i]] < values[i]:
            return i
    return -1


@njit(cache=True, nogil=True, inline="always")
def keep_two(entry: Longs, value: int, code: int) -> None:
    """Keeps in `entry` the least value and its code, then the least value of another code and that code."""
    if code == entry[1]:
        if value < entry[0]:
            entry[0] = value
    elif value < entry[0]:
        entry[2], entry[3] = entry[0], entry[1]
        entry[0], entry[1] = value, code
    elif value < entry[2]:
        entry[2], entry[3] = value, code


@njit(cache=True, nogil=True)
def lower_entries(cells: Ints, shift: int, values: Ints, codes: Ints, entries: Longs) -> None:
    """As `lower_cells` for the two least values of different codes; `entries` (cells, 4) starts as (NONE, -1) twice."""
    for i in range(len(cells)):
        keep_two(entries[cells[i] + shift], values[i], codes[i])


@njit(cache=True, nogil=True)
def spread_entries(entries: Longs, length: int, inner: int) -> None:
    """Makes every entry cover those before it along one dimension of `length` cells that lie `inner` apart."""
    for cell in range(len(entries)):
        if (cell // inner) % length:
            before = entries[cell - inner]
            if before[1] >= 0:
                keep_two(entries[cell], before[0], before[1])
            if before[3] >= 0:
                keep_two(entries[cell], before[2], before[3])


@njit(cache=True, nogil=True)
def first_above_entry(cells: Ints, values: Ints, codes: Ints, entries: Longs) -> int:
    """The first position whose value is above an entry of another code in its cell, or -1."""
    for i in range(len(cells)):
        entry = entries[cells[i]]
        if entry[0] < values[i] and (entry[1] != codes[i] or entry[2] < values[i]):
            return i
    return -1


@njit(cache=True, nogil=True, plain=True)
def flag_above(cells: Ints, values: Ints, least: Ints, flags: NDArray[np.bool_]) -> None:
    """Sets the flag of each position whose value is above the entry of its cell."""
    for i in range(len(cells)):
        flags[i] = least[cells[i]] < values[i]


@njit(cache=True, nogil=True)
def flag_above_entry(cells: Ints, values: Ints, codes: Ints, entries: Longs, flags: NDArray[np.bool_]) -> None:
    """Sets the flag of each position whose value is above an entry of another code in its cell."""
    for i in range(len(cells)):
        entry = entries[cells[i]]
        flags[i] = entry[0] < values[i] and (entry[1] != codes[i] or entry[2] < values[i])
