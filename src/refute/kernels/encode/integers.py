"""Integers to codes: bounds, shifts, and dense ranks by bitmap, hash table or radix sort.

Everywhere -1 is null in a code array, and an empty `valid` means that every row is valid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode import few

Ints = NDArray[np.signedinteger]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

DIGIT = 9  # bits per radix pass: 512 write streams stay within the first-level cache
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True, few=few.bounds)
def bounds(values: NDArray[np.integer], valid: Bytes) -> tuple[np.integer, np.integer, int]:
    """Smallest and largest valid value, and the number of valid rows; (0, 0, 0) if there are none. O(n)."""
    n = len(values)
    low = values.dtype.type(0)  # no plain 0, which would make unsigned values floats
    high = low
    if n == 0:
        return low, high, 0
    if len(valid) == 0:
        low = values[0]
        high = values[0]
        for i in range(n):
            value = values[i]
            low = min(low, value)
            high = max(high, value)
        return low, high, n
    count = 0
    for i in range(n):
        if valid[i]:
            value = values[i]
            if count == 0:
                low = value
                high = value
            count += 1
            low = min(low, value)
            high = max(high, value)
    return low, high, count


@njit(cache=True, nogil=True, few=few.affine)
def affine(values: NDArray[np.integer], valid: Bytes, factor: int, shift: int, out: Ints) -> None:
    """Fills `out` with value * factor + shift, -1 where invalid. Wraps modulo 2^64: only the result must fit. O(n)."""
    if len(valid) == 0:
        if factor == 1:
            for i in range(len(values)):
                out[i] = values[i] + shift
        else:
            for i in range(len(values)):
                out[i] = values[i] * factor + shift
    else:
        for i in range(len(values)):
            out[i] = values[i] * factor + shift if valid[i] else -1


@njit(cache=True, nogil=True)
def mark(codes: Ints, words: Words) -> None:
    """Sets the bit of every code that occurs. O(n)."""
    one = np.uint64(1)
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            words[code >> 6] |= one << np.uint64(code & 63)


@njit(cache=True, nogil=True)
def count_before(words: Words, before: Ints) -> int:
    """Fills `before` with the number of set bits in all words before each; the total comes back. O(words)."""
    total = np.int64(0)
    for i in range(len(words)):
        before[i] = total
        total += _ones(words[i])
    return int(total)


@njit(cache=True, nogil=True)
def rank_by_bits(codes: Ints, words: Words, before: Ints, out: Ints) -> None:
    """Fills `out` with the rank of each code among the set bits, -1 for null. O(n)."""
    one = np.uint64(1)
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            word = code >> 6
            below = (one << np.uint64(code & 63)) - one
            out[i] = before[word] + _ones(words[word] & below)
        else:
            out[i] = -1


@njit(cache=True, nogil=True)
def _ones(word: np.uint64) -> np.int64:
    """The number of set bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def hash_codes(
    codes: Ints, slots: NDArray[np.int64], numbers: Ints, keys: NDArray[np.int64], known: int, out: Ints
) -> int:
    """Numbers codes in order of appearance into `out`, -1 for null; the new number of keys, or -1 when keys overflow.

    `slots` is an open-addressing table of a power of two, twice as long as `keys` or more, that holds codes, -1 for
    free; `numbers` holds their places in `keys`, of which `known` are taken from earlier calls. O(n) expected.
    """
    size = len(slots)
    bits = np.uint64(64)
    while size > 1:
        size >>= 1
        bits -= np.uint64(1)
    wrap = len(slots) - 1
    for i in range(len(codes)):
        code = np.int64(codes[i])
        if code < 0:
            out[i] = -1
            continue
        slot = np.int64((np.uint64(code) * _MULTIPLIER) >> bits)
        while slots[slot] != code:
            if slots[slot] < 0:
                if known == len(keys):
                    return -1
                slots[slot] = code
                numbers[slot] = known
                keys[known] = code
                known += 1
                break
            slot = (slot + 1) & wrap
        out[i] = numbers[slot]
    return known


@njit(cache=True, nogil=True)
def relabel(codes: Ints, table: Ints) -> None:
    """Replaces each code by its entry in the table; -1 stays. O(n)."""
    for i in range(len(codes)):
        if codes[i] >= 0:
            codes[i] = table[codes[i]]


@njit(cache=True, nogil=True)
def pack_rows(codes: Ints, drop: int, row_bits: int, packed: Words) -> int:
    """Fills `packed` with `(code >> drop) << row_bits | row` of every non-null code; how many there are. O(n)."""
    shift = np.uint64(row_bits)
    count = 0
    for i in range(len(codes)):
        if codes[i] >= 0:
            packed[count] = (np.uint64(np.int64(codes[i]) >> drop) << shift) | np.uint64(i)
            count += 1
    return count


@njit(cache=True, nogil=True)
def radix_sort(packed: Words, spare: Words, low_bit: int, bits: int) -> bool:
    """Sorts by the bits [low_bit, low_bit + bits), stably; True when the result lies in `spare`. O(n bits / 9)."""
    passes = (bits + DIGIT - 1) // DIGIT
    counts = np.zeros((passes, 1 << DIGIT), dtype=np.int64)
    wrap = np.uint64((1 << DIGIT) - 1)
    low = np.uint64(low_bit)
    step = np.uint64(DIGIT)
    n = len(packed)
    for i in range(n):
        key = packed[i] >> low
        for p in range(passes):
            counts[p, key & wrap] += 1
            key >>= step
    source, target = packed, spare
    swapped = False
    for p in range(passes):
        shift = np.uint64(low_bit + p * DIGIT)
        starts = counts[p]
        if n > 0 and starts[(source[0] >> shift) & wrap] == n:
            continue
        start = 0
        for d in range(1 << DIGIT):
            count = starts[d]
            starts[d] = start
            start += count
        for i in range(n):
            word = source[i]
            d = (word >> shift) & wrap
            target[starts[d]] = word
            starts[d] += 1
        source, target = target, source
        swapped = not swapped
    return swapped


@njit(cache=True, nogil=True)
def rank_sorted(packed: Words, row_bits: int, out: Ints) -> int:
    """Writes the dense rank of each row of a sorted packed array; the number of distinct keys comes back. O(n)."""
    shift = np.uint64(row_bits)
    rows = (np.uint64(1) << shift) - np.uint64(1)
    rank = -1
    last = np.uint64(0)
    for i in range(len(packed)):
        key = packed[i] >> shift
        if rank < 0 or key != last:
            rank += 1
            last = key
        out[packed[i] & rows] = rank
    return rank + 1


@njit(cache=True, nogil=True)
def rank_nearly_sorted(packed: Words, row_bits: int, codes: NDArray[np.int64], out: Ints) -> int:
    """As `rank_sorted`, for keys that are only the upper bits of `codes`; -1 when too many ties remain. O(n).

    Runs of equal upper bits are put in order by insertion, which costs nothing for equal codes and little for short
    runs; the number of moves is bounded, so bad luck is found out early.
    """
    shift = np.uint64(row_bits)
    rows = (np.uint64(1) << shift) - np.uint64(1)
    moves = 4 * len(packed)
    rank = -1
    first = 0
    while first < len(packed):
        upper = packed[first] >> shift
        last = first + 1
        while last < len(packed) and packed[last] >> shift == upper:
            word = packed[last]
            code = codes[word & rows]
            at = last
            while at > first and codes[packed[at - 1] & rows] > code:
                packed[at] = packed[at - 1]
                at -= 1
                moves -= 1
            packed[at] = word
            if moves < 0:
                return -1
            last += 1
        code = np.int64(-1)
        for i in range(first, last):
            row = packed[i] & rows
            if codes[row] != code:
                code = codes[row]
                rank += 1
            out[row] = rank
        first = last
    return rank + 1


@njit(cache=True, nogil=True)
def narrow(limbs: NDArray[np.uint64], valid: Bytes, out: NDArray[np.int64]) -> tuple[bool, np.integer, np.integer, int]:
    """Fills `out` with two's complement numbers of shape (n, limbs); whether all valid ones fit 64 bits, and if so,
    their `bounds`. O(n)."""
    wider = np.uint64(0)
    for j in range(2, limbs.shape[1]):
        for i in range(len(limbs)):
            if len(valid) == 0 or valid[i]:
                wider |= limbs[i, j] ^ limbs[i, 1]
    least, most = np.int64(0x7FFFFFFFFFFFFFFF), np.int64(-0x7FFFFFFFFFFFFFFF - 1)
    count = 0
    if len(valid) == 0:
        count = len(limbs)
        for i in range(len(limbs)):
            low = np.int64(limbs[i, 0])
            out[i] = low
            wider |= limbs[i, 1] ^ np.uint64(low >> 63)
            least, most = min(least, low), max(most, low)
    else:
        for i in range(len(limbs)):
            low = np.int64(limbs[i, 0])
            out[i] = low
            if valid[i]:
                wider |= limbs[i, 1] ^ np.uint64(low >> 63)
                least, most = min(least, low), max(most, low)
                count += 1
    if count == 0:
        least = most = np.int64(0)
    return wider == 0, least, most, count


@njit(cache=True, nogil=True)
def append_low_bits(ranks: Ints, values: NDArray[np.integer], out: Ints) -> None:
    """Fills `out` with four times the rank plus the two lowest bits of the value, -1 where the rank is. O(n)."""
    for i in range(len(ranks)):
        out[i] = (np.int64(ranks[i]) << 2) | (values[i] & 3) if ranks[i] >= 0 else -1
