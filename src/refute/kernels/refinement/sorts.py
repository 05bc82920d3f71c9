"""Sorting the id sets of a batch by a column: the first phase of HSM, BHSM and IEJoin (FACET, section 5.3)."""

from __future__ import annotations

import numpy as np

from refute.kernels.compiled import njit
from refute.kernels.refinement.id_sets import Ids, Int64s, Keyed, Side, Values, room_for, trimmed

_INSERTION = 24  # sets up to this size are sorted by insertion
_SMALL = 1 << 14  # sets below take radix digits of 8 bits, above of 11


@njit(cache=True, nogil=True)
def _insertion(ids: Ids, keys: Int64s) -> None:
    for i in range(1, len(ids)):
        key, point = keys[i], ids[i]
        j = i - 1
        while j >= 0 and keys[j] > key:
            keys[j + 1] = keys[j]
            ids[j + 1] = ids[j]
            j -= 1
        keys[j + 1] = key
        ids[j + 1] = point


@njit(cache=True, nogil=True)
def _radix(ids: Ids, keys: Int64s, other_ids: Ids, other_keys: Int64s, low: int, high: int, counts: Int64s) -> None:
    """Stable sort of one set by keys within [low, high], least significant digit first. O(size * digits)."""
    bits = 0
    while (np.uint64(high) - np.uint64(low)) >> np.uint64(bits) != 0:
        bits += 1
    widest = 8 if len(ids) < _SMALL else 11
    passes = (bits + widest - 1) // widest
    digit = (bits + passes - 1) // passes
    mask = np.uint64((1 << digit) - 1)
    flipped = False
    x_ids, x_keys, y_ids, y_keys = ids, keys, other_ids, other_keys
    for p in range(passes):
        shift = np.uint64(p * digit)
        counts[: (1 << digit) + 1] = 0
        for i in range(len(ids)):
            counts[np.int64(((np.uint64(x_keys[i]) - np.uint64(low)) >> shift) & mask) + 1] += 1
        for d in range(1 << digit):
            counts[d + 1] += counts[d]
        for i in range(len(ids)):
            bucket = np.int64(((np.uint64(x_keys[i]) - np.uint64(low)) >> shift) & mask)
            y_keys[counts[bucket]] = x_keys[i]
            y_ids[counts[bucket]] = x_ids[i]
            counts[bucket] += 1
        x_ids, x_keys, y_ids, y_keys = y_ids, y_keys, x_ids, x_keys
        flipped = not flipped
    if flipped:
        ids[:] = other_ids[: len(ids)]
        keys[:] = other_keys[: len(ids)]


@njit(cache=True, nogil=True)
def _sort(keyed: Keyed) -> None:
    """Sorts each set in place by its keys, stably. O(ids * digits)."""
    widest = 0
    for c in range(len(keyed.offsets) - 1):
        widest = max(widest, keyed.offsets[c + 1] - keyed.offsets[c])
    spare_ids = np.empty(widest, keyed.ids.dtype)
    spare_keys = np.empty(widest, np.int64)
    counts = np.empty((1 << 11) + 1, np.int64)
    for c in range(len(keyed.offsets) - 1):
        ids = keyed.ids[keyed.offsets[c] : keyed.offsets[c + 1]]
        keys = keyed.keys[keyed.offsets[c] : keyed.offsets[c + 1]]
        if len(ids) <= _INSERTION:
            _insertion(ids, keys)
            continue
        low, high, ordered = keys[0], keys[0], True
        for i in range(1, len(ids)):
            ordered = ordered and keys[i - 1] <= keys[i]
            low = min(low, keys[i])
            high = max(high, keys[i])
        if not ordered:
            _radix(ids, keys, spare_ids, spare_keys, low, high, counts)


@njit(cache=True, nogil=True)
def _gather(side: Side, values: Values, out: Keyed) -> None:
    """Copies all ids and their values into `out`. O(ids)."""
    written = 0
    out.offsets[0] = 0
    for c in range(len(side.starts)):
        for i in range(side.starts[c], side.ends[c]):
            out.ids[written] = side.ids[i]
            out.keys[written] = values[side.ids[i]]
            written += 1
        out.offsets[c + 1] = written


@njit(cache=True, nogil=True)
def _gather_below(a: Side, b: Side, s: Values, t: Values, a_out: Keyed, b_out: Keyed) -> None:
    """Copies the ids of A below the greatest of B and those of B above the least of A, with their values. O(ids)."""
    a_written, b_written = 0, 0
    a_out.offsets[0] = 0
    b_out.offsets[0] = 0
    for c in range(len(a.starts)):
        least = np.int64(np.iinfo(np.int64).max)
        place = a_written
        for i in range(a.starts[c], a.ends[c]):
            value = np.int64(s[a.ids[i]])
            a_out.ids[place] = a.ids[i]
            a_out.keys[place] = value
            place += 1
            least = min(least, value)
        greatest = np.int64(np.iinfo(np.int64).min)
        for j in range(b.starts[c], b.ends[c]):
            value = np.int64(t[b.ids[j]])
            if value > least:
                b_out.ids[b_written] = b.ids[j]
                b_out.keys[b_written] = value
                b_written += 1
                greatest = max(greatest, value)
        for i in range(a_written, place):
            if a_out.keys[i] < greatest:
                a_out.ids[a_written] = a_out.ids[i]
                a_out.keys[a_written] = a_out.keys[i]
                a_written += 1
        a_out.offsets[c + 1] = a_written
        b_out.offsets[c + 1] = b_written


def sort(side: Side, values: Values) -> Keyed:
    """The sets of one side, each sorted by value."""
    keyed = room_for(side)
    _gather(side, values, keyed)
    _sort(keyed)
    return keyed


def sort_below(a: Side, b: Side, s: Values, t: Values) -> tuple[Keyed, Keyed]:
    """Both sides sorted by value, without the ids that no partner can satisfy `s < t` with.

    This is the cut of heads and tails that HSM starts with (section 5.3); it empties most pairs of a rule that holds.
    """
    a_keyed, b_keyed = room_for(a), room_for(b)
    _gather_below(a, b, s, t, a_keyed, b_keyed)
    a_keyed, b_keyed = trimmed(a_keyed), trimmed(b_keyed)
    _sort(a_keyed)
    _sort(b_keyed)
    return a_keyed, b_keyed
