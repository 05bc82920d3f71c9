"""Codes without gaps: by bitmap for small ranges, by hashing for few values, by radix sort for many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refute.kernels.encode import integers as kernel
from refute.kernels.sort.distinct import distinct_values
from refute.kernels.sparing import is_spared
from refute.runtime.arrays import empty, full

Ints = NDArray[np.signedinteger]

BITS_PER_ROW = 64  # a bitmap may take as many bits: 8 bytes a row, and as much again in the worst case for its counts
SAMPLE = 1 << 14
_WORD = 64


def int_dtype(size: int) -> type[np.int32] | type[np.int64]:
    """The narrowest of int32 and int64 for codes below `size`, with room for one more code."""
    return np.int32 if size < 2**31 - 1 else np.int64


def dense_codes(codes: Sequence[Ints], size: int) -> tuple[list[Ints], int]:
    """Ranks of the codes of all arrays among those that occur in any, -1 staying -1, and how many occur."""
    rows = sum(len(part) for part in codes)
    if is_spared(kernel.rank_by_bits, rows):
        return _by_sort(codes)
    if size <= BITS_PER_ROW * rows + 2**16:
        return _by_bitmap(codes, size, rows)
    expected = _expected_distinct(codes, rows)
    fits_a_word = (size - 1).bit_length() + rows.bit_length() <= _WORD
    if expected <= rows // (6 if fits_a_word else 2):  # where the two cost the same, measured
        found = _by_hash(codes, size, rows, 2 * expected)
        if found is not None:
            return found
    ends = np.cumsum([len(part) for part in codes])
    ranks, count = _by_radix(codes[0] if len(codes) == 1 else np.concatenate(codes), size)
    return list(np.split(ranks, ends[:-1])), count


def _by_sort(codes: Sequence[Ints]) -> tuple[list[Ints], int]:
    """The ranks of few codes."""
    joined = np.concatenate(codes)
    valid = joined >= 0
    known, ranks = np.unique(joined[valid], return_inverse=True)
    found = np.full(len(joined), -1, int_dtype(len(known)))
    found[valid] = ranks
    return np.split(found, np.cumsum([len(part) for part in codes])[:-1]), len(known)


def _by_bitmap(codes: Sequence[Ints], size: int, rows: int) -> tuple[list[Ints], int]:
    words = full(size // _WORD + 1, 0, np.uint64)
    for part in codes:
        kernel.mark(part, words)
    before = empty(len(words), int_dtype(rows))
    count = int(kernel.count_before(words, before))
    found: list[Ints] = []
    for part in codes:
        out = empty(len(part), int_dtype(count))
        kernel.rank_by_bits(part, words, before, out)
        found.append(out)
    return found, count


def _expected_distinct(codes: Sequence[Ints], rows: int) -> int:
    """A guess from rows spread over the table: m of D equally likely values repeat about m^2 / 2D times."""
    step = rows // SAMPLE + 1
    sample = np.concatenate([part[::step] for part in codes])
    distinct = distinct_values(sample)
    repeats = len(sample) - distinct
    return rows if repeats < 8 else max(distinct, len(sample) ** 2 // (2 * repeats))


def _by_hash(codes: Sequence[Ints], size: int, rows: int, most: int) -> tuple[list[Ints], int] | None:
    """The ranks, or None when there are more than `most` distinct codes."""
    slots = full(1 << (2 * most).bit_length(), -1, np.int64)
    numbers = empty(len(slots), int_dtype(rows))
    keys = np.empty(most, dtype=np.int64)
    known = 0
    found: list[Ints] = []
    for part in codes:
        out = empty(len(part), int_dtype(rows))
        known = int(kernel.hash_codes(part, slots, numbers, keys, known, out))
        if known < 0:
            return None
        found.append(out)
    ranks, _ = _by_radix(keys[:known], size)
    for out in found:
        kernel.relabel(out, ranks)
    return found, known


def _by_radix(codes: Ints, size: int) -> tuple[Ints, int]:
    """Sorts codes with their rows in words of 64 bits; upper bits first where they do not fit."""
    rows = len(codes)
    row_bits = max(rows - 1, 1).bit_length()
    bits = (size - 1).bit_length()
    low = max(0, bits + row_bits - _WORD)
    packed = empty(rows, np.uint64)
    packed = packed[: int(kernel.pack_rows(codes, low, row_bits, packed))]
    spare = empty(len(packed), np.uint64)
    ordered = spare if kernel.radix_sort(packed, spare, row_bits, bits - low) else packed
    out = full(rows, -1, int_dtype(rows))
    if low == 0:
        return out, int(kernel.rank_sorted(ordered, row_bits, out))
    count = int(kernel.rank_nearly_sorted(ordered, row_bits, codes.astype(np.int64, copy=False), out))
    if count >= 0:
        return out, count
    upper, count = _by_radix(np.where(codes < 0, -1, codes >> low), (size >> low) + 1)
    joined = (upper.astype(np.int64) << low) | (codes & ((1 << low) - 1))
    return _by_radix(np.where(codes < 0, -1, joined), count << low)
