"""Codes without gaps: by bitmap for small ranges, by hashing for few values, by radix sort for many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refute.kernels import encoding as kernel

Ints = NDArray[np.signedinteger]

BITS_PER_ROW = 64  # a bitmap may take as many bits: 8 bytes a row, and as much again in the worst case for its counts
FEW = 1 << 12  # as many values are numbered by hashing, in a table that stays in the caches
_WORD = 64


def int_dtype(size: int) -> type[np.int32] | type[np.int64]:
    """The narrowest of int32 and int64 for codes below `size`, with room for one more code."""
    return np.int32 if size < 2**31 - 1 else np.int64


def dense_codes(codes: Sequence[Ints], size: int) -> tuple[list[Ints], int]:
    """Ranks of the codes of all arrays among those that occur in any, -1 staying -1, and how many occur."""
    rows = sum(len(part) for part in codes)
    if size <= BITS_PER_ROW * rows + 2**16:
        return _by_bitmap(codes, size, rows)
    return _by_hash(codes, rows) or _by_radix(codes, size, rows)


def _by_bitmap(codes: Sequence[Ints], size: int, rows: int) -> tuple[list[Ints], int]:
    words = np.zeros(size // _WORD + 1, dtype=np.uint64)
    for part in codes:
        kernel.mark(part, words)
    before = np.empty(len(words), dtype=int_dtype(rows))
    count = int(kernel.count_before(words, before))
    found: list[Ints] = []
    for part in codes:
        out = np.empty(len(part), dtype=int_dtype(count))
        kernel.rank_by_bits(part, words, before, out)
        found.append(out)
    return found, count


def _by_hash(codes: Sequence[Ints], rows: int) -> tuple[list[Ints], int] | None:
    """The ranks, or None when there are more than a few distinct codes."""
    slots = np.full(4 * FEW, -1, dtype=np.int64)
    keys = np.empty(FEW, dtype=np.int64)
    known = 0
    found: list[Ints] = []
    for part in codes:
        out = np.empty(len(part), dtype=int_dtype(rows))
        known = int(kernel.hash_codes(part, slots, keys, known, out))
        if known < 0:
            return None
        found.append(out)
    ranks = np.empty(known, dtype=np.int64)
    ranks[np.argsort(keys[:known])] = np.arange(known)
    for out in found:
        kernel.relabel(out, ranks)
    return found, known


def _by_radix(codes: Sequence[Ints], size: int, rows: int) -> tuple[list[Ints], int]:
    row_bits = max(rows - 1, 1).bit_length()
    bits = (size - 1).bit_length()
    if bits + row_bits > _WORD:  # rank the upper bits first, which leaves at most row_bits of them
        low = bits + row_bits - _WORD
        upper, count = dense_codes([np.where(part < 0, -1, part >> low) for part in codes], (size >> low) + 1)
        codes = [
            np.where(part < 0, -1, (high.astype(np.int64) << low) | (part & ((1 << low) - 1)))
            for part, high in zip(codes, upper, strict=True)
        ]
        return dense_codes(codes, count << low)
    packed = np.empty(rows, dtype=np.uint64)
    at = first = 0
    for part in codes:
        at = int(kernel.pack_rows(part, first, row_bits, at, packed))
        first += len(part)
    packed = packed[:at]
    spare = np.empty_like(packed)
    ordered = spare if kernel.radix_sort(packed, spare, row_bits, bits) else packed
    out = np.full(rows, -1, dtype=int_dtype(rows))
    count = int(kernel.rank_sorted(ordered, row_bits, out))
    ends = np.cumsum([len(part) for part in codes])
    return list(np.split(out, ends[:-1])), count
