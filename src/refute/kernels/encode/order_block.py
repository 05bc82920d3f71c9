"""A block of strings in order, and what its row of the directory says (`string_order.py` is made of these)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode.strings import Bytes, Ints, word_at

Nodes = NDArray[np.int32]
Words = NDArray[np.uint64]
Longs = NDArray[np.int64]

BLOCK = 256
SIZE = BLOCK
SKIP = BLOCK + 1
WIDTH = BLOCK + 2  # of a row of `nodes`
LINE = 8  # of a row of `directory`
AT_BLOCK, AT_START, AT_END, AT_COMMON, AT_HEAD = range(5)  # its columns


@njit(cache=True, nogil=True)
def cut_place(held: Bytes, starts: Longs, numbers: Ints, least: int) -> int:
    """Where to cut numbers in order, `least` or later: where two neighbours have least in common.

    The strings of a block then have the more in common (Bayer and Unterauer 1977 cut the pages of a prefix B-tree so).
    """
    found, shared = least, len(held)
    for i in range(least, len(numbers)):
        common = common_bytes(held, starts, numbers[i - 1], numbers[i])
        if common < shared:
            found, shared = i, common
    return found


@njit(cache=True, nogil=True)
def see_first(held: Bytes, starts: Longs, nodes: Nodes, directory: Longs, block: int) -> None:
    """Notes where the first string of a block lies, and how it goes on behind the common bytes."""
    number = nodes[block, 0]
    directory[block, AT_START], directory[block, AT_END] = starts[number], starts[number + 1]
    see_head(held, directory, block)


@njit(cache=True, nogil=True)
def see_head(held: Bytes, directory: Longs, block: int) -> None:
    at = directory[block, AT_START] + directory[0, AT_COMMON]
    for i in range(AT_HEAD, LINE):
        directory[block, i] = np.int64(word_at(held, at, directory[block, AT_END]))
        at += 8


@njit(cache=True, nogil=True)
def see_common(held: Bytes, directory: Longs, count: int) -> None:
    """Finds again what the first strings of all blocks begin with; they come in order, so the outermost decide."""
    first, last = directory[directory[0, AT_BLOCK]], directory[directory[count - 1, AT_BLOCK]]
    length = first[AT_END] - first[AT_START]
    common = shared_bytes(held, first[AT_START], first[AT_END], held, last[AT_START], last[AT_END], length)
    if common != directory[0, AT_COMMON]:
        directory[0, AT_COMMON] = common
        for block in range(count):
            see_head(held, directory, block)


@njit(cache=True, nogil=True)
def touch_strings(numbers: Ints, held: Bytes, starts: Longs, seen: Longs) -> None:
    """Reads the first bytes of strings, so that these are waited for together and not one by one."""
    for i in range(len(numbers)):
        seen[i] = starts[numbers[i]]
    for i in range(len(numbers)):
        if seen[i] < len(held):
            seen[i] = held[seen[i]]


@njit(cache=True, nogil=True)
def look_again(held: Bytes, starts: Longs, nodes: Nodes, words: Words, block: int) -> None:
    """Finds again what the strings of a block begin with, and the words that follow."""
    size = nodes[block, SIZE]
    skip = common_bytes(held, starts, nodes[block, 0], nodes[block, size - 1]) if size else 0
    nodes[block, SKIP] = skip
    for i in range(size):
        number = nodes[block, i]
        words[block, i] = word_at(held, starts[number] + skip, starts[number + 1])


@njit(cache=True, nogil=True)
def common_bytes(held: Bytes, starts: Longs, one: int, other: int) -> int:
    """How many bytes two strings begin with in common."""
    length = min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])
    return shared_bytes(held, starts[one], starts[one + 1], held, starts[other], starts[other + 1], length)


@njit(cache=True, nogil=True)
def shared_bytes(data: Bytes, first: int, last: int, other: Bytes, start: int, end: int, most: int) -> int:
    """How many bytes two strings begin with in common, up to `most`."""
    length = min(last - first, end - start, most)
    at = 0
    while at < length:
        if word_at(data, first + at, last) != word_at(other, start + at, end):
            break
        at += 8
    while at < length and data[first + at] == other[start + at]:
        at += 1
    return min(at, length)


@njit(cache=True, nogil=True)
def is_above(data: Bytes, first: int, last: int, other: Bytes, start: int, end: int) -> bool:
    """Whether a string is greater than another."""
    length, other_length = last - first, end - start
    for at in range(0, min(length, other_length), 8):
        one, two = word_at(data, first + at, last), word_at(other, start + at, end)
        if one != two:
            return bool(one > two)
    return length > other_length
