"""String columns as integers: the bits that vary, packed in order; a dictionary for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.kernels import encoding_strings as kernel
from refute.relation.arrays import Bytes, read_only, stored, valid_bytes
from refute.relation.dense import dense_codes, int_dtype
from refute.relation.integers import Ints

MOST_BITS = 62
MOST_WORDS = 8  # packing reads every string once per word; longer ones go to the dictionary
_WORD = 8


@dataclass(frozen=True, slots=True)
class Strings:
    """A column of strings: n + 1 offsets into bytes."""

    data: Bytes
    offsets: Ints
    valid: Bytes


def string_codes(arrays: Sequence[pa.Array], *, ordered: bool) -> tuple[list[Ints], int, bool]:
    """Codes over one dictionary, their size, and whether they are ordered. Sorts strings only if that was asked for."""
    columns = [_strings_of(array) for array in arrays]
    measures = [kernel.longest(column.offsets, column.data, column.valid) for column in columns]
    longest = max(length for length, _ in measures)
    if longest <= MOST_WORDS * _WORD and not any(nul for _, nul in measures):  # a final NUL would pack as no byte
        codes, size = _packed(columns, -(-longest // _WORD))
        return codes, size, True
    codes, size = _dictionary_codes(arrays, ordered)
    return codes, size, ordered


def _strings_of(array: pa.Array) -> Strings:
    valid = valid_bytes(array)
    if not pa.types.is_string(array.type) and not pa.types.is_large_string(array.type):
        array = array.cast(pa.large_string())
    wide = pa.types.is_large_string(array.type)
    offsets = read_only(stored(array, np.int64 if wide else np.int32, extra=1))
    held = array.buffers()[2]
    data = np.zeros(0, dtype=np.uint8) if held is None else np.frombuffer(held, dtype=np.uint8)
    return Strings(read_only(data), offsets, valid)


def _packed(columns: Sequence[Strings], words: int) -> tuple[list[Ints], int]:
    """The varying bits of all words, first to last; what does not fit is appended to the ranks of what came before."""
    masks = [_varying(columns, word) for word in range(words)]
    dtype = int_dtype(1 << sum(mask.bit_count() for mask in masks))
    codes: list[Ints] = [_blank(column, dtype) for column in columns]
    valid_rows = sum(int(np.count_nonzero(part == 0)) for part in codes)
    size = 1 if valid_rows else 0
    for word, varying in enumerate(masks):
        while varying:
            room = MOST_BITS - (size - 1).bit_length()
            count = varying.bit_count()
            if room < min(count, MOST_BITS // 2):
                ranks, size = dense_codes(codes, size)
                if size == valid_rows:  # all different already: what follows can neither part nor order them
                    return ranks, size
                codes = [part.astype(np.int64) for part in ranks]
                continue
            taken = varying if count <= room else _top_bits(varying, room)
            runs, bits = _runs(taken)
            for column, part in zip(columns, codes, strict=True):
                kernel.append_bits(column.data, column.offsets, column.valid, word, runs, bits, part)
            size <<= bits
            varying &= ~taken
    return [part.astype(int_dtype(size), copy=False) for part in codes], size


def _blank(column: Strings, dtype: type[np.int32] | type[np.int64]) -> Ints:
    """0 for each valid row, -1 for null."""
    codes: Ints = np.zeros(len(column.offsets) - 1, dtype=dtype)
    if len(column.valid):
        codes[column.valid == 0] = -1
    return codes


def _varying(columns: Sequence[Strings], word: int) -> int:
    every, some = 2**64 - 1, 0
    for column in columns:
        part_every, part_some, count = kernel.varying_bits(column.data, column.offsets, column.valid, word)
        if count:
            every &= int(part_every)
            some |= int(part_some)
    return some & ~every


def _top_bits(mask: int, count: int) -> int:
    """The `count` highest set bits of a mask."""
    while mask.bit_count() > count:
        mask &= mask - 1
    return mask


def _runs(mask: int) -> tuple[NDArray[np.uint64], int]:
    """Shift and target mask of each run of set bits, such that the runs end up side by side; and their total length."""
    runs = []
    placed = 0
    position = 0
    while mask >> position:
        if not (mask >> position) & 1:
            position += 1
            continue
        length = 0
        while (mask >> (position + length)) & 1:
            length += 1
        runs.append((position - placed, ((1 << length) - 1) << placed))
        placed += length
        position += length
    return np.array(runs, dtype=np.uint64).reshape(-1, 2), placed


def _dictionary_codes(arrays: Sequence[pa.Array], ordered: bool) -> tuple[list[Ints], int]:
    plain = [array.cast(pa.large_string()) for array in arrays]
    encoded = pa.concat_arrays(plain).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    size = len(encoded.dictionary)
    if ordered:
        ranks = np.empty(size + 1, dtype=np.int64)
        ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(size)
        ranks[-1] = -1
        codes = ranks[codes]
    codes = codes.astype(int_dtype(size), copy=False)
    ends = np.cumsum([len(array) for array in arrays])
    return list(np.split(codes, ends[:-1])), size
