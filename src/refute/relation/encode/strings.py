"""String columns as integers: the bits that vary, packed in order; a dictionary for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.kernels.encode import strings as kernel
from refute.kernels.encode.hashing import number_strings
from refute.kernels.encode.integers import relabel as relabelled
from refute.kernels.sparing import is_spared
from refute.relation.arrays import Bytes, numbers, read_only, row_numbers, stored, valid_bytes
from refute.relation.encode.dense import dense_codes, int_dtype
from refute.relation.encode.integers import Ints
from refute.relation.encode.pieces import Pieces
from refute.relation.encode.string_table import StringTable

MOST_BITS = 62
MOST_WORDS = 8  # packing reads every string once per word; longer ones go to the dictionary
SAMPLE = 4096  # strings looked at to see whether they repeat
_WORD = 8
_WORTH_HASHING = 2  # times that a string must occur on average
_FEW = 1 << 16  # rows below which hashing is the cheaper way, repeats or not
_ROOM = 2  # times the strings that a sample lets expect, before a table is full
_FIXED = (1, 2)  # lengths of strings that are read as numbers at once
_Runs = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Strings:
    """A column of strings: n + 1 offsets into bytes."""

    data: Bytes
    offsets: Ints
    valid: Bytes


def string_codes(pieces: Pieces, *, ordered: bool) -> tuple[list[Ints], int, bool]:
    """Codes over one dictionary, their size, and whether they are ordered. Sorts strings only if that was asked for."""
    strings = pieces.each(strings_of, pieces.arrays)
    width = _common_width(strings)
    if width in _FIXED:
        return *_fixed_codes(pieces, strings, width), True
    measures = pieces.each(lambda part: kernel.longest(part.offsets, part.data, part.valid), strings)
    longest = max(length for length, _ in measures)
    rows = sum(map(len, pieces.arrays))
    packs = longest <= MOST_WORDS * _WORD and not any(nul for _, nul in measures)  # a final NUL would pack as no byte
    words = -(-longest // _WORD)
    if not ordered and longest > _WORD:
        expected = _expected_strings(pieces, min(words, MOST_WORDS))
        if expected is not None:
            hashes = packs and not is_spared(number_strings, rows)
            found = _hashed(pieces, strings, words, min(_ROOM * expected, rows)) if hashes else None
            return *(_dictionary_codes(pieces, ordered) if found is None else found), False
    if packs:
        return *_packed(pieces, strings, words), True
    return *_dictionary_codes(pieces, ordered), ordered


def is_string(kind: pa.DataType) -> bool:
    """Whether it is one of Arrow's types of text."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def string_ranks(pieces: Pieces) -> Ints:
    """Dense ranks of the strings of the only column, none of which is null."""
    codes, size, _ = string_codes(pieces, ordered=True)
    return dense_codes(codes, size)[0][0]


def strings_of(array: pa.Array) -> Strings:
    """An array of strings as offsets into bytes, without a copy where it is not a view."""
    valid = valid_bytes(array)
    if not pt.is_string(array.type) and not pt.is_large_string(array.type):
        array = array.cast(pa.large_string())
    wide = pt.is_large_string(array.type)
    offsets = read_only(stored(array, np.int64 if wide else np.int32, extra=1))
    held = array.buffers()[2]
    data = np.zeros(0, dtype=np.uint8) if held is None else np.frombuffer(held, dtype=np.uint8)
    return Strings(read_only(data), offsets, valid)


def _common_width(strings: Sequence[Strings]) -> int | None:
    """The length of all strings, where there is one and none is null."""
    first = next((part for part in strings if len(part.offsets) > 1), None)
    if first is None:
        return None
    width = int(first.offsets[1] - first.offsets[0])
    for part in strings:
        if len(part.valid) or int(part.offsets[-1] - part.offsets[0]) != width * (len(part.offsets) - 1):
            return None
        if width in _FIXED and not kernel.has_width(part.offsets, width):
            return None
    return width


def _fixed_codes(pieces: Pieces, strings: Sequence[Strings], width: int) -> tuple[list[Ints], int]:
    """Codes of short strings of one length: their bytes are numbers already, of which the varying bits are taken."""

    def numbers(part: Strings) -> NDArray[np.unsignedinteger]:
        first, rows = int(part.offsets[0]), len(part.offsets) - 1
        held = part.data[first : first + rows * width]
        return (held if width == 1 else held.view(">u2")).astype(np.uint16)

    found = pieces.each(numbers, strings)
    every, some = -1, 0
    for part in found:
        every &= int(np.bitwise_and.reduce(part))
        some |= int(np.bitwise_or.reduce(part))
    columns, parts = pieces.room(np.int32)
    runs, bits = _runs(some & ~every)
    if bits == 0:
        return [np.zeros_like(column) for column in columns], 1
    pieces.each(lambda part, out: kernel.pack_fixed(part, runs, out), found, parts)
    return columns, 1 << bits


def _packed(pieces: Pieces, strings: Sequence[Strings], words: int) -> tuple[list[Ints], int]:
    """The varying bits of all words, first to last; what does not fit is appended to the ranks of what came before."""
    masks = [_varying(pieces, strings, word) for word in range(words)]
    columns, codes = pieces.room(int_dtype(1 << sum(mask.bit_count() for mask in masks)))
    valid_rows = sum(pieces.each(_blank, strings, codes))
    size = 1 if valid_rows else 0
    apart = False  # whether the codes have left the columns
    for word, varying in enumerate(masks):
        while varying:
            room = MOST_BITS - (size - 1).bit_length()
            count = varying.bit_count()
            if room < min(count, MOST_BITS // 2):
                ranks, size = dense_codes(codes, size)
                if size == valid_rows:  # all different already: what follows can neither part nor order them
                    return pieces.joined(ranks), size
                codes, apart = [part.astype(np.int64) for part in ranks], True
                continue
            taken = varying if count <= room else _top_bits(varying, room)
            runs, bits = _runs(taken)

            def append(part: Strings, out: Ints, word: int = word, runs: _Runs = runs, bits: int = bits) -> None:
                kernel.append_bits(part.data, part.offsets, part.valid, word, runs, bits, out)

            pieces.each(append, strings, codes)
            size <<= bits
            varying &= ~taken
    if apart:
        columns = pieces.joined(codes)
    return [column.astype(int_dtype(size), copy=False) for column in columns], size


def _blank(part: Strings, out: Ints) -> int:
    """Fills `out` with 0 for each valid row, -1 for null; how many are valid."""
    if len(part.valid) == 0:
        out[:] = 0
        return len(out)
    np.subtract(part.valid, 1, out=out, dtype=out.dtype, casting="unsafe")
    return int(np.count_nonzero(part.valid))


def _varying(pieces: Pieces, strings: Sequence[Strings], word: int) -> int:
    every, some = 2**64 - 1, 0
    found = pieces.each(lambda part: kernel.varying_bits(part.data, part.offsets, part.valid, word), strings)
    for part_every, part_some, count in found:
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


def _expected_strings(pieces: Pieces, words: int) -> int | None:
    """How many strings a sample lets expect, where hashing is the cheaper way, else None.

    It is where they have too many varying bits to be packed at once, and repeat. Of m values drawn from d, about
    m^2 / 2d are repeats.
    """
    rows = sum(map(len, pieces.arrays))
    kind = pa.string() if all(pt.is_string(array.type) for array in pieces.arrays) else pa.large_string()
    sample = pa.concat_arrays([_sampled(array, len(array) * SAMPLE // rows + 1, kind) for array in pieces.arrays])
    strings = [strings_of(sample)]
    if sum(_varying(Pieces.apart(strings), strings, word).bit_count() for word in range(words)) <= MOST_BITS:
        return None
    distinct = pc.count_distinct(sample, mode="all").as_py()
    repeats = len(sample) - distinct
    if rows > _FEW and repeats * 2 * rows <= _WORTH_HASHING * len(sample) ** 2:
        return None
    return rows if repeats == 0 else max(distinct, len(sample) ** 2 // (2 * repeats))


def _sampled(array: pa.Array, most: int, kind: pa.DataType) -> pa.Array:
    """So many values, spread over the array, as strings of this type."""
    places = np.linspace(0, max(len(array) - 1, 0), min(len(array), most)).astype(np.int64)
    return array.take(row_numbers(places)).cast(kind)


def _hashed(pieces: Pieces, strings: Sequence[Strings], words: int, most: int) -> tuple[list[Ints], int] | None:
    """Numbers by first appearance in each thread's share of the pieces; None for more than `most` strings."""
    columns, parts = pieces.room(np.int32)
    shares = pieces.shares()
    tables = [StringTable(words, most) for _ in shares]

    def number(table: StringTable, share: slice) -> bool:
        return all(
            table.number(part.data, part.offsets, part.valid, out)
            for part, out in zip(strings[share], parts[share], strict=True)
        )

    if not all(pieces.each(number, tables, shares)):
        return None
    first, *others = tables
    labels = [first.taken_in(other) for other in others]
    if any(label is None for label in labels):
        return None

    def relabel(label: Ints, share: slice) -> None:
        for out in parts[share]:
            relabelled(out, label)

    pieces.each(relabel, labels, shares[1:])
    return columns, first.known


def _dictionary_codes(pieces: Pieces, ordered: bool) -> tuple[list[Ints], int]:
    encoded = pa.concat_arrays([array.cast(pa.large_string()) for array in pieces.arrays]).dictionary_encode()
    codes = numbers(encoded.indices, null=-1)
    size = len(encoded.dictionary)
    if ordered:
        ranks = np.empty(size + 1, dtype=np.int64)
        ranks[numbers(pc.sort_indices(encoded.dictionary))] = np.arange(size)
        ranks[-1] = -1
        codes = ranks[codes]
    codes = codes.astype(int_dtype(size), copy=False)
    return pieces.split(codes), size
