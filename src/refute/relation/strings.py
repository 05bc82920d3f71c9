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
SAMPLE = 4096  # strings looked at to tell whether they repeat
_WORD = 8
_WORTH_HASHING = 2  # times that a string must occur on average
_FEW = 1 << 16  # rows below which hashing is the cheaper way, repeats or not
_FIXED = (1, 2)  # lengths of strings that are read as numbers at once


@dataclass(frozen=True, slots=True)
class Strings:
    """A column of strings: n + 1 offsets into bytes."""

    data: Bytes
    offsets: Ints
    valid: Bytes


def string_codes(arrays: Sequence[pa.Array], *, ordered: bool) -> tuple[list[Ints], int, bool]:
    """Codes over one dictionary, their size, and whether they are ordered. Sorts strings only if that was asked for."""
    columns = [_strings_of(array) for array in arrays]
    width = _common_width(columns)
    if width in _FIXED:
        return *_fixed_codes(columns, width), True
    measures = [kernel.longest(column.offsets, column.data, column.valid) for column in columns]
    longest = max(length for length, _ in measures)
    if not ordered and longest > _WORD and all(_worth_hashing(array, longest) for array in arrays):
        codes, size = _dictionary_codes(arrays, ordered)
        return codes, size, False
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


def _common_width(columns: Sequence[Strings]) -> int | None:
    """The length of all strings of all columns, where there is one and none is null."""
    first = columns[0]
    if len(first.offsets) < 2:
        return None
    width = int(first.offsets[1] - first.offsets[0])
    for column in columns:
        if len(column.valid) or int(column.offsets[-1] - column.offsets[0]) != width * (len(column.offsets) - 1):
            return None
        if width in _FIXED and not bool(np.all(np.diff(column.offsets) == width)):
            return None
    return width


def _fixed_codes(columns: Sequence[Strings], width: int) -> tuple[list[Ints], int]:
    """Codes of short strings of one length: their bytes are numbers already, of which the varying bits are taken."""
    numbers = []
    for column in columns:
        first, rows = int(column.offsets[0]), len(column.offsets) - 1
        numbers.append(column.data[first : first + rows * width].view(f">u{width}").astype(f"u{width}"))
    every = int(np.bitwise_and.reduce([np.bitwise_and.reduce(part) for part in numbers]))
    some = int(np.bitwise_or.reduce([np.bitwise_or.reduce(part) for part in numbers]))
    runs, bits = _runs(some & ~every)
    size = 1 << bits
    codes: list[Ints] = []
    for part in numbers:
        packed = np.zeros(len(part), dtype=part.dtype)
        for shift, mask in runs.tolist():
            packed |= (part >> part.dtype.type(shift)) & part.dtype.type(mask)
        codes.append(packed.astype(int_dtype(size)))
    return codes, size


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


def _worth_hashing(array: pa.Array, longest: int) -> bool:
    """Whether a sample has too many varying bits to be packed at once, and repeats: hashing is then the cheaper way.

    Of m values drawn from d, about m^2 / 2d are repeats.
    """
    places = np.linspace(0, len(array) - 1, min(len(array), SAMPLE)).astype(np.int64)
    sample = array.take(pa.array(places))
    words = -(-min(longest, MOST_WORDS * _WORD) // _WORD)
    if sum(_varying([_strings_of(sample)], word).bit_count() for word in range(words)) <= MOST_BITS:
        return False
    if len(array) <= _FEW:
        return True
    repeats = len(sample) - pc.count_distinct(sample, mode="all").as_py()
    return bool(repeats * 2 * len(array) > _WORTH_HASHING * len(sample) ** 2)


def _dictionary_codes(arrays: Sequence[pa.Array], ordered: bool) -> tuple[list[Ints], int]:
    joined = arrays[0] if len(arrays) == 1 else pa.concat_arrays([array.cast(pa.large_string()) for array in arrays])
    encoded = joined.dictionary_encode()
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
