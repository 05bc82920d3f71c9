"""Strings kept in order while others come between them: blocks of a few hundred, in a directory.

Strings are numbers of a dictionary: string i is `held[starts[i]:starts[i + 1]]`. Row b of `nodes` has the numbers of
block b in order, then how many there are and how many bytes all of its strings begin with in common; row b of `words`
has the eight bytes that follow these, which decide most comparisons without a look at the strings. `directory` has the
blocks in order in its first column, `count` of them. The rest of row b, which is one cache line, is about block b: the
places in `held` where its first string starts and ends, how many bytes the first strings of all blocks begin with in
common (row 0 alone shows that), and 32 bytes of the string that follow these. The order is that of the bytes, which for
UTF-8 is that of code points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode.order_block import (
    AT_BLOCK,
    AT_COMMON,
    AT_END,
    AT_HEAD,
    AT_START,
    BLOCK,
    LINE,
    SIZE,
    SKIP,
    common_bytes,
    cut_place,
    is_above,
    look_again,
    see_common,
    see_first,
    shared_bytes,
    touch_strings,
)
from refute.kernels.encode.strings import Bytes, Ints, word_at

Nodes = NDArray[np.int32]
Words = NDArray[np.uint64]
Longs = NDArray[np.int64]

LEAST_LOADED, MOST_LOADED = 128, 224  # strings of a block that is filled at once
LEAST_SPLIT = BLOCK // 4  # strings that the smaller part of a full block has, where it is split
_GROUP = 64  # strings whose places are looked at ahead
_SHORT = 12  # strings that are sorted by insertion
_SPARE = 16  # strings that come in rising order take up one part in 2^16 of their gap each


@njit(cache=True, nogil=True)
def load(order: Longs, held: Bytes, starts: Longs, nodes: Nodes, words: Words, directory: Longs) -> int:
    """Fills blocks with numbers that are in order; how many blocks. O(n)."""
    count = 0
    first = 0
    seen = np.empty(MOST_LOADED, np.int64)
    while first < len(order):
        size = min(MOST_LOADED, len(order) - first)
        touch_strings(order[first : first + size], held, starts, seen)
        if size == MOST_LOADED:
            size = cut_place(held, starts, order[first : first + size], LEAST_LOADED)
        for i in range(size):
            nodes[count, i] = order[first + i]
        first += size
        nodes[count, SIZE] = size
        look_again(held, starts, nodes, words, count)
        directory[count, AT_BLOCK] = count
        see_first(held, starts, nodes, directory, count)
        count += 1
    if count:
        see_common(held, directory, count)
    return count


@njit(cache=True, nogil=True)
def sort(numbers: Longs, held: Bytes, starts: Longs) -> None:
    """Puts numbers of different strings in order. For few strings that are not long: O(bytes log n).

    Strings are sorted by the eight bytes behind what all of them begin with, and those that tie by the next.
    """
    words = np.empty(len(numbers), np.uint64)
    todo = [(0, len(numbers), 0)]  # runs of numbers whose strings agree in so many bytes, zeros past their ends too
    while todo:
        first, last, agreed = todo.pop()
        run = numbers[first:last]
        if len(run) <= _SHORT:
            _sort_few(run, held, starts)
            continue
        longest = 0
        shared = len(held)
        begin, end = starts[run[0]] + agreed, starts[run[0] + 1]
        for number in run:
            start, stop = starts[number] + agreed, starts[number + 1]
            longest = max(longest, stop - start)
            shared = shared_bytes(held, begin, end, held, start, stop, shared)
        agreed += max(shared, 0)
        by_length = longest <= 0  # they differ only in zeros at their ends
        for i in range(first, last):
            start, stop = starts[numbers[i]], starts[numbers[i] + 1]
            words[i] = np.uint64(stop - start) if by_length else word_at(held, start + agreed, stop)
        order = np.argsort(words[first:last])
        words[first:last] = words[first:last][order]
        run[:] = run[order]
        at = first
        for i in range(first + 1, last + 1):
            if i == last or words[i] != words[at]:
                if i - at > 1:
                    todo.append((at, i, agreed + 8))
                at = i


@njit(cache=True, nogil=True)
def _sort_few(numbers: Longs, held: Bytes, starts: Longs) -> None:
    """Puts numbers in the order of their strings by insertion."""
    for i in range(1, len(numbers)):
        number = numbers[i]
        first, last = starts[number], starts[number + 1]
        at = i
        while at > 0 and is_above(held, starts[numbers[at - 1]], starts[numbers[at - 1] + 1], held, first, last):
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@njit(cache=True, nogil=True)
def walk(nodes: Nodes, directory: Longs, count: int, out: Longs) -> None:
    """Fills `out` with all numbers in order. O(n)."""
    at = 0
    for place in range(count):
        block = directory[place, AT_BLOCK]
        for i in range(nodes[block, SIZE]):
            out[at] = nodes[block, i]
            at += 1


@njit(cache=True, nogil=True)
def insert(
    new: Longs, held: Bytes, starts: Longs, nodes: Nodes, words: Words, directory: Longs, count: int, around: Longs
) -> int:
    """Puts numbers, which are in order themselves, between those that are there; the new number of blocks.

    Row i of `around` gets the numbers before and behind new[i], -1 for none. There must be room for as many more
    blocks as there are, or new numbers if these are fewer, and one for each LEAST_SPLIT new numbers.
    O(m (log n + BLOCK)).
    """
    place = 0
    seen = np.empty(BLOCK, np.int64)
    for j in range(len(new)):
        if j % _GROUP == 0:
            _touch_places(new[j : j + _GROUP], held, starts, nodes, words, directory, count, place)
        number = new[j]
        first, last = starts[number], starts[number + 1]
        if count == 0:
            nodes[0, 0], nodes[0, SIZE], nodes[0, SKIP] = number, 1, last - first
            words[0, 0], directory[0, AT_BLOCK], count = 0, 0, 1
            see_first(held, starts, nodes, directory, 0)
            see_common(held, directory, count)
            around[j, 0] = around[j, 1] = -1
            continue
        place, at = _place(held, first, last, held, starts, nodes, words, directory, count, place)
        around[j, 0], around[j, 1] = _neighbours(nodes, directory, count, place, at)
        block = directory[place, AT_BLOCK]
        is_split = nodes[block, SIZE] == BLOCK
        if is_split:
            touch_strings(nodes[block, :BLOCK], held, starts, seen)
            kept = BLOCK  # strings that come in rising order leave full blocks behind
            if at < BLOCK:
                kept = cut_place(held, starts, nodes[block, : BLOCK - LEAST_SPLIT], LEAST_SPLIT)
            for other in range(count, place + 1, -1):
                directory[other, AT_BLOCK] = directory[other - 1, AT_BLOCK]
            directory[place + 1, AT_BLOCK] = count
            for i in range(kept, BLOCK):
                nodes[count, i - kept] = nodes[block, i]
            nodes[block, SIZE] = kept
            nodes[count, SIZE] = BLOCK - kept
            look_again(held, starts, nodes, words, block)
            look_again(held, starts, nodes, words, count)
            if kept < BLOCK:
                see_first(held, starts, nodes, directory, count)
            if at >= kept:
                at -= kept
                block = count
                place += 1
            count += 1
        size = nodes[block, SIZE]
        for i in range(size, at, -1):
            nodes[block, i] = nodes[block, i - 1]
            words[block, i] = words[block, i - 1]
        nodes[block, at] = number
        nodes[block, SIZE] = size + 1
        if at == 0:
            see_first(held, starts, nodes, directory, block)
        if at == 0 or is_split:
            see_common(held, directory, count)
        skip = nodes[block, SKIP]
        if (at == 0 or at == size) and (
            size == 0 or common_bytes(held, starts, nodes[block, 0], nodes[block, size]) < skip
        ):
            look_again(held, starts, nodes, words, block)
        else:
            words[block, at] = word_at(held, first + skip, last)
    return count


@njit(cache=True, nogil=True)
def before(
    data: Bytes,
    offsets: Ints,
    rows: Longs,
    held: Bytes,
    starts: Longs,
    nodes: Nodes,
    words: Words,
    directory: Longs,
    count: int,
    out: Longs,
) -> None:
    """Fills `out` with the number of the last string that is not above the string of each row, -1 for none."""
    for j in range(len(rows)):
        out[j] = -1
        if count:
            first, last = offsets[rows[j]], offsets[rows[j] + 1]
            place, at = _place(data, first, last, held, starts, nodes, words, directory, count, count // 2)
            out[j] = _neighbours(nodes, directory, count, place, at)[0]


@njit(cache=True, nogil=True)
def label_gaps(order: Longs, first_new: int, recent: int, limit: int, labels: Longs) -> bool:
    """Gives labels between those of their neighbours to numbers from `first_new` on; False where a gap has no room.

    `order` has runs of new numbers in order, each between two old ones, or -1 where there is none; old labels are even
    and lie in (-limit, limit). A run is spread evenly over its gap. Where only the number before it, or only that
    behind it, is from `recent` on, more will likely come at that end: the run then takes up little of its gap. O(n).
    """
    start = 1
    while start < len(order) - 1:
        if order[start] < first_new:
            start += 1
            continue
        end = start
        while order[end] >= first_new:
            end += 1
        left, right = order[start - 1], order[end]
        low = labels[left] if left >= 0 else -limit
        high = labels[right] if right >= 0 else limit
        even = np.int64(-2)
        step = ((high - low) // (end - start + 1)) & even
        if step < 2:
            return False
        close = ((high - low) >> _SPARE) & even
        rising, falling = left >= recent, right >= recent
        if rising != falling and close >= 2:
            step = min(step, close)
        base = high - step * (end - start + 1) if falling and not rising else low
        for i in range(start, end):
            labels[order[i]] = base + step * (i - start + 1)
        start = end
    return True


@njit(cache=True, nogil=True)
def _place(
    data: Bytes,
    first: int,
    last: int,
    held: Bytes,
    starts: Longs,
    nodes: Nodes,
    words: Words,
    directory: Longs,
    count: int,
    near: int,
) -> tuple[int, int]:
    """The place of a block in the directory, and in the block the number of strings that are not above this one.

    Looks near the place `near` first: strings that are asked for in order cost less the closer they lie.
    """
    place = _block_place(data, first, last, held, directory, count, near)
    if place < 0:
        return 0, 0
    block = directory[place, AT_BLOCK]
    size, skip = nodes[block, SIZE], nodes[block, SKIP]
    if shared_bytes(data, first, last, held, directory[block, AT_START], directory[block, AT_END], skip) < skip:
        return place, size
    word = word_at(data, first + skip, last)
    low, high = 0, size  # of the strings whose word is less
    while low < high:
        middle = (low + high) // 2
        if words[block, middle] < word:
            low = middle + 1
        else:
            high = middle
    high = size
    if low < size and words[block, low] != word:
        high = low
    while low < high:  # nobody before `low` is above, and the string at `high` is, or there is none
        middle = (low + high) // 2
        number = nodes[block, middle]
        other = words[block, middle]
        if other > word or (other == word and is_above(held, starts[number], starts[number + 1], data, first, last)):
            high = middle
        else:
            low = middle + 1
    return place, low


@njit(cache=True, nogil=True)
def _block_place(data: Bytes, first: int, last: int, held: Bytes, directory: Longs, count: int, near: int) -> int:
    """The place of the last block that begins with a string that is not above this one, -1 for none."""
    common = directory[0, AT_COMMON]
    if shared_bytes(data, first, last, held, directory[0, AT_START], directory[0, AT_END], common) < common:
        return -1 if is_above(held, directory[0, AT_START], directory[0, AT_END], data, first, last) else count - 1
    word = word_at(data, first + common, last)
    low, high = 0, count  # blocks before `low` begin with a string that is not above, those from `high` on with one
    reach = 1
    while near < high:
        if _begins_above(directory, directory[near, AT_BLOCK], word, held, data, first, last):
            high = near
        else:
            low = near + 1
            near += reach
            reach *= 2
    while low < high:
        middle = (low + high) // 2
        if _begins_above(directory, directory[middle, AT_BLOCK], word, held, data, first, last):
            high = middle
        else:
            low = middle + 1
    return low - 1


@njit(cache=True, nogil=True)
def _begins_above(
    directory: Longs, block: int, word: np.uint64, held: Bytes, data: Bytes, first: int, last: int
) -> bool:
    """Whether a block begins with a string that is above this one, of which `word` is what follows the common bytes."""
    head = np.uint64(directory[block, AT_HEAD])
    if head != word:
        return bool(head > word)
    at = first + directory[0, AT_COMMON]
    for i in range(AT_HEAD + 1, LINE):
        at += 8
        head, word = np.uint64(directory[block, i]), word_at(data, at, last)
        if head != word:
            return bool(head > word)
    return is_above(held, directory[block, AT_START], directory[block, AT_END], data, first, last)


@njit(cache=True, nogil=True)
def _neighbours(nodes: Nodes, directory: Longs, count: int, place: int, at: int) -> tuple[int, int]:
    """The numbers on both sides of a place in a block, -1 for none."""
    block = directory[place, AT_BLOCK]
    left, right = -1, -1
    if at > 0:
        left = nodes[block, at - 1]
    elif place > 0:
        left = nodes[directory[place - 1, AT_BLOCK], nodes[directory[place - 1, AT_BLOCK], SIZE] - 1]
    if at < nodes[block, SIZE]:
        right = nodes[block, at]
    elif place + 1 < count:
        right = nodes[directory[place + 1, AT_BLOCK], 0]
    return left, right


@njit(cache=True, nogil=True)
def _touch_places(
    numbers: Longs, held: Bytes, starts: Longs, nodes: Nodes, words: Words, directory: Longs, count: int, near: int
) -> None:
    """Reads what inserting some strings will read: all of them search their blocks step by step together."""
    if count == 0:
        return
    blocks, sizes = np.empty(_GROUP, np.int64), np.empty(_GROUP, np.int64)
    lows, ahead, aims = np.zeros(_GROUP, np.int64), np.empty(_GROUP, np.int64), np.empty(_GROUP, np.uint64)
    for j in range(len(numbers)):
        first, last = starts[numbers[j]], starts[numbers[j] + 1]
        near = max(_block_place(held, first, last, held, directory, count, near), 0)
        blocks[j] = directory[near, AT_BLOCK]
        sizes[j] = nodes[blocks[j], SIZE]
    for j in range(len(numbers)):
        first, last = starts[numbers[j]], starts[numbers[j] + 1]
        aims[j] = word_at(held, first + nodes[blocks[j], SKIP], last)
        if directory[blocks[j], AT_START] < len(held):
            ahead[j] = held[directory[blocks[j], AT_START]]
    step = BLOCK // 2
    while step:
        for j in range(len(numbers)):
            at = lows[j] + step
            if at < sizes[j]:
                lows[j] = at if words[blocks[j], at] < aims[j] else lows[j]
        step //= 2
    for j in range(len(numbers)):
        ahead[j] = nodes[blocks[j], lows[j]]
