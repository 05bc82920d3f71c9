"""Which keys of a huge range occur more than once: hashes are dealt into buckets, each with a table in the caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.sort.distinct import distinct_values
from refute.kernels.sort.grouping import few_mark, few_slots, filter_bits, mark_repeats, slot_of, test_keys
from refute.kernels.sparing import is_spared
from refute.runtime.arrays import empty, full

Ints = NDArray[np.signedinteger]
Positions = NDArray[np.int64]
Words = NDArray[np.uint64]

BLOCK = 1 << 16  # keys that are made at a time
_BUCKET = 1 << 13  # hashes of a bucket, about
_MOST_BITS = 11  # of buckets: 2,048 write streams stay within the caches
_SAMPLE = 1 << 12  # keys that show whether many repeat
_HASH = 32  # bits of a hash within its bucket
_FEW = 16  # keys per repeated one from which on buckets are cheaper than a filter over all keys


def repeated_positions(keys_of: Callable[[slice], Ints], n: int) -> Positions:
    """The positions, ascending, of every key that occurs more than once, and of few others. O(n).

    `keys_of` gives the keys of a run of positions below `n`; each run is asked for three times at most.
    """
    found = _repeated_hashes(keys_of, n)
    if found is None:
        bits = filter_bits(n)
        once, seen = (full(1 << (bits - 3), 0, np.uint8) for _ in range(2))
        for block in _blocks(n):
            mark_repeats(keys_of(block), 64 - bits, once, seen)
        del once
    elif not len(found):
        return np.empty(0, np.int64)
    else:
        bits = filter_bits(len(found))
        seen = full(1 << (bits - 3), 0, np.uint8)
        _mark_hashes(found, 64 - bits, seen)
    parts = []
    for block in _blocks(n):
        kept = empty(block.stop - block.start, np.bool_)
        test_keys(keys_of(block), 64 - bits, seen, kept)
        parts.append(np.flatnonzero(kept) + block.start)
    return np.concatenate(parts)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def _repeated_hashes(keys_of: Callable[[slice], Ints], n: int) -> Words | None:
    """The leading bits of each hash that occurs more than once; None where they are not few."""
    first = keys_of(slice(0, min(_SAMPLE, n)))
    if distinct_values(first) * _FEW < len(first) * (_FEW - 1):
        return None
    lead = min(_MOST_BITS, (n // _BUCKET).bit_length())
    mean = n / (1 << lead)
    capacity = int(mean + 8 * mean**0.5) + 8  # hashes of different keys are as good as drawn
    if is_spared(_repeated_in_buckets, n):
        few = _few_repeated(keys_of(slice(0, n)), lead, capacity)
        return None if few is None or len(few) > n // _FEW + 1 else few
    fill, dealt = np.zeros(1 << lead, np.int64), empty((1 << lead, capacity), np.uint32)
    for block in _blocks(n):
        if not _deal(keys_of(block), lead, fill, dealt):
            return None
    found = empty(n // _FEW + 1, np.uint64)
    slots = empty(1 << (2 * capacity).bit_length(), np.uint32)
    total = int(_repeated_in_buckets(dealt, fill, lead, slots, found))
    return None if total < 0 else found[:total]


def _few_repeated(keys: Ints, lead: int, capacity: int) -> Words | None:
    """What the two kernels below find, by NumPy; None where a bucket has more hashes than it has room for."""
    rest = np.uint64(64 - _HASH - lead)
    hashes, counts = np.unique(few_slots(keys, 0) >> rest, return_counts=True)
    _, starts = np.unique(hashes >> np.uint64(_HASH), return_index=True)
    if len(starts) and int(np.add.reduceat(counts, starts).max()) > capacity:
        return None
    return np.repeat(hashes << rest, counts - 1)


def _few_mark_hashes(hashes: Words, shift: int, seen: NDArray[np.uint8]) -> None:
    few_mark(hashes >> np.uint64(shift), seen)


@njit(cache=True, nogil=True, few=_few_mark_hashes)
def _mark_hashes(hashes: Words, shift: int, seen: NDArray[np.uint8]) -> None:
    for i in range(len(hashes)):
        slot = np.int64(hashes[i] >> np.uint64(shift))
        seen[slot >> 3] |= np.uint8(1 << (slot & 7))


@njit(cache=True, nogil=True)
def _deal(keys: Ints, lead: int, fill: Positions, dealt: NDArray[np.uint32]) -> bool:
    """Puts the bits of each hash that follow the first `lead` into the bucket of these; False if one is full."""
    for i in range(len(keys)):
        hashed = np.uint64(slot_of(keys[i], 0))
        bucket = np.int64(hashed >> np.uint64(64 - lead)) if lead else 0
        place = fill[bucket]
        if place == dealt.shape[1]:
            return False
        dealt[bucket, place] = np.uint32((hashed << np.uint64(lead)) >> np.uint64(64 - _HASH))
        fill[bucket] = place + 1
    return True


@njit(cache=True, nogil=True)
def _repeated_in_buckets(
    dealt: NDArray[np.uint32], fill: Positions, lead: int, slots: NDArray[np.uint32], found: Words
) -> int:
    """How many hashes were there before, each put into `found` as the leading bits of 64; -1 where there is no room."""
    shift = np.uint32(_HASH)
    size = len(slots)
    while size > 1:
        size >>= 1
        shift -= np.uint32(1)
    mask = np.int64(len(slots) - 1)
    total = 0
    for bucket in range(len(fill)):
        slots[:] = 0
        zeros = 0
        for i in range(fill[bucket]):
            hashed = dealt[bucket, i]
            at = np.int64(hashed >> shift)
            while slots[at] != 0 and slots[at] != hashed:
                at = (at + 1) & mask
            again = slots[at] == hashed
            slots[at] = hashed
            if hashed == 0:
                again = zeros > 0
                zeros += 1
            if again:
                if total == len(found):
                    return -1
                above = np.uint64(bucket) << np.uint64(64 - lead) if lead else np.uint64(0)
                found[total] = above | (np.uint64(hashed) << np.uint64(64 - _HASH - lead))
                total += 1
    return total
