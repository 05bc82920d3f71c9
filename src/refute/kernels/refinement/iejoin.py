"""IEJoin: two inequalities refined at once with sorted arrays, offsets and a bit array (FACET 5.3; Khayyat 2015).

For a cluster pair and `s.x < t.x and s.y < t.y`: B is laid out by y, one bit each. A is visited by descending x; before
a point of A is looked at, the bits of all of B above it in x are set, and the set bits from the point's offset in y on
are its partners. A summary with one bit per word of bits skips empty stretches; counts per block of words, and per
block of blocks, make a count a sum of few numbers instead of a scan.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from refute.kernels.compiled import njit
from refute.kernels.refinement.id_sets import Int64s, Keyed, Side

_FINE = 3  # a fine block is 2**3 words of 64 bits
_COARSE = 6  # a coarse block is 2**6 fine blocks


class Sorted(NamedTuple):
    """A batch sorted four ways: both sides by x and by y. The y orders hold the same sets as the x orders."""

    a_x: Any
    a_y: Any
    b_x: Any
    b_y: Any


class Marks(NamedTuple):
    """The bit array of one cluster pair, and where in y each id stands."""

    words: Any  # uint64, a bit per element of B in y order
    summary: Any  # uint64, a bit per word that is not zero
    fine: Any  # int32, set bits per fine block
    coarse: Any  # int32, set bits per coarse block
    b_place: Any  # int32 per id of side t: its place in y order
    a_offset: Any  # int32 per id of side s: the first place with a greater y


@njit(cache=True, nogil=True, inline="always")
def _popcount(x: Any) -> Any:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True, inline="always")
def _lowest(x: Any) -> Any:
    """The position of the lowest set bit of a word that has one."""
    return _popcount((x & (~x + np.uint64(1))) - np.uint64(1))


@njit(cache=True, nogil=True)
def _start(batch: Any, c: int, marks: Any) -> None:
    """Clears the bits for pair c and writes places and offsets of its ids. O(|A| + |B|)."""
    b_first, b_end = batch.b_y.offsets[c], batch.b_y.offsets[c + 1]
    words = (b_end - b_first + 63) // 64
    marks.words[:words] = 0
    marks.summary[: (words + 63) // 64] = 0
    marks.fine[: (words >> _FINE) + 1] = 0
    marks.coarse[: (words >> (_FINE + _COARSE)) + 1] = 0
    for j in range(b_first, b_end):
        marks.b_place[batch.b_y.ids[j]] = j - b_first
    j = b_first
    for i in range(batch.a_y.offsets[c], batch.a_y.offsets[c + 1]):
        while j < b_end and batch.b_y.keys[j] <= batch.a_y.keys[i]:
            j += 1
        marks.a_offset[batch.a_y.ids[i]] = j - b_first


@njit(cache=True, nogil=True)
def _insert(batch: Any, c: int, above: Any, j: int, marks: Any) -> int:
    """Sets the bits of B's elements with x greater than `above`, from j (exclusive) downwards; returns the new j."""
    while j > batch.b_x.offsets[c] and batch.b_x.keys[j - 1] > above:
        j -= 1
        place = marks.b_place[batch.b_x.ids[j]]
        word = place >> 6
        marks.words[word] |= np.uint64(1) << np.uint64(place & 63)
        marks.summary[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
        marks.fine[word >> _FINE] += 1
        marks.coarse[word >> (_FINE + _COARSE)] += 1
    return j


@njit(cache=True, nogil=True)
def _count_from(place: int, size: int, marks: Any) -> Any:
    """The set bits from `place` on, of `size`. O(8 + 64 + size / 2**15)."""
    if place >= size:
        return 0
    words = (size + 63) // 64
    word = place >> 6
    found = _popcount(marks.words[word] >> np.uint64(place & 63))
    fine = word >> _FINE
    coarse = fine >> _COARSE
    for w in range(word + 1, min((fine + 1) << _FINE, words)):
        found += _popcount(marks.words[w])
    for f in range(fine + 1, min((coarse + 1) << _COARSE, ((words - 1) >> _FINE) + 1)):
        found += np.int64(marks.fine[f])
    for c in range(coarse + 1, ((words - 1) >> (_FINE + _COARSE)) + 1):
        found += np.int64(marks.coarse[c])
    return found


@njit(cache=True, nogil=True)
def _list_from(place: int, batch: Any, c: int, marks: Any, out: Any, n: int) -> int:
    """Appends the ids of the set bits from `place` on to `out`; returns its new length. O(output + size / 2**12)."""
    first = batch.b_y.offsets[c]
    size = batch.b_y.offsets[c + 1] - first
    if place >= size:
        return n
    words = (size + 63) // 64
    word = place >> 6
    bits = marks.words[word] & (~np.uint64(0) << np.uint64(place & 63))
    while True:
        while bits:
            out[n] = batch.b_y.ids[first + word * 64 + _lowest(bits)]
            n += 1
            bits &= bits - np.uint64(1)
        word += 1
        if word >= words:
            return n
        rest = marks.summary[word >> 6] >> np.uint64(word & 63)
        while rest == 0:
            word = ((word >> 6) + 1) << 6
            if word >= words:
                return n
            rest = marks.summary[word >> 6]
        word += _lowest(rest)
        bits = marks.words[word]


@njit(cache=True, nogil=True)
def _count(batch: Any, marks: Any, out: Any) -> Any:
    """The partners of each element of A, into `out` in the order of `a_x`; returns their sum. O(ids * size / 2**15)."""
    total = np.int64(0)
    for c in range(len(batch.a_x.offsets) - 1):
        size = batch.b_x.offsets[c + 1] - batch.b_x.offsets[c]
        j = batch.b_x.offsets[c + 1]
        _start(batch, c, marks)
        last_place, last_j, found = -1, -1, np.int64(0)
        for i in range(batch.a_x.offsets[c + 1] - 1, batch.a_x.offsets[c] - 1, -1):
            j = _insert(batch, c, batch.a_x.keys[i], j, marks)
            place = marks.a_offset[batch.a_x.ids[i]]
            if place != last_place or j != last_j:
                found = np.int64(_count_from(place, size, marks))
                last_place, last_j = place, j
            out[i] = found
            total += found
    return total


@njit(cache=True, nogil=True)
def _list(batch: Any, marks: Any, state: Any, ranges: Any, b_ids: Any) -> int:
    """Emits cluster pairs until the rooms are full or the batch ends; returns how many.

    `state` is (pair, next position in a_x from above, position in b_x, whether pair is started) and lets a later call
    go on. Neighbours in A with the same partners share a pair (section 5.3). O(output + ids * size / 2**12).
    """
    n, used = 0, 0
    while state[0] < len(batch.a_x.offsets) - 1:
        c = state[0]
        size = batch.b_x.offsets[c + 1] - batch.b_x.offsets[c]
        if state[3] == 0:
            _start(batch, c, marks)
            state[1], state[2], state[3] = batch.a_x.offsets[c + 1], batch.b_x.offsets[c + 1], 1
        while state[1] > batch.a_x.offsets[c]:
            if n == ranges.shape[1]:
                return n
            i = state[1] - 1
            j = _insert(batch, c, batch.a_x.keys[i], state[2], marks)
            state[2] = j
            place = marks.a_offset[batch.a_x.ids[i]]
            if used + size > len(b_ids) and used + _count_from(place, size, marks) > len(b_ids):
                return n
            while (
                i > batch.a_x.offsets[c]
                and marks.a_offset[batch.a_x.ids[i - 1]] == place
                and (j == batch.b_x.offsets[c] or batch.b_x.keys[j - 1] <= batch.a_x.keys[i - 1])
            ):
                i -= 1
            end = _list_from(place, batch, c, marks, b_ids, used)
            if end > used:
                ranges[0, n] = i
                ranges[1, n] = state[1]
                ranges[2, n] = used
                ranges[3, n] = end
                used = end
                n += 1
            state[1] = i
        state[0] += 1
        state[3] = 0
    return n


def _marks(batch: Sorted, s_size: int, t_size: int) -> Marks:
    widest = int(np.max(np.diff(batch.b_x.offsets), initial=0))
    words = (widest + 63) // 64
    return Marks(
        np.empty(words, np.uint64),
        np.empty((words + 63) // 64, np.uint64),
        np.empty((words >> _FINE) + 1, np.int32),
        np.empty((words >> (_FINE + _COARSE)) + 1, np.int32),
        np.empty(t_size, np.int32),
        np.empty(s_size, np.int32),
    )


def count_partners(batch: Sorted, s_size: int, t_size: int) -> tuple[int, Int64s]:
    """The number of pairs, and the partners of each element of A in the order of `batch.a_x`."""
    out = np.empty(len(batch.a_x.ids), np.int64)
    return int(_count(batch, _marks(batch, s_size, t_size), out)), out


class JoinListing:
    """The cluster pairs of an IEJoin, in batches of bounded size."""

    def __init__(self, batch: Sorted, s_size: int, t_size: int, room: int) -> None:
        self._batch = batch
        self._marks = _marks(batch, s_size, t_size)
        self._state = np.zeros(4, np.int64)
        self._room = max(room, int(np.max(np.diff(batch.b_x.offsets), initial=0)))

    def next(self) -> tuple[Side, Side] | None:
        """The next cluster pairs; None when there are no more."""
        a: Keyed = self._batch.a_x
        ranges = np.empty((4, min(self._room, len(a.ids))), np.int64)
        b_ids = np.empty(self._room, np.int32)
        found = _list(self._batch, self._marks, self._state, ranges, b_ids)
        if found == 0:
            return None
        a_from, a_to, b_from, b_to = (np.ascontiguousarray(row[:found]) for row in ranges)
        return Side(a.ids, a_from, a_to), Side(b_ids, b_from, b_to)
