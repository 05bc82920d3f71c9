"""Clues of rows against the members of their groups, which lie scattered among all rows that are kept.

The members of a group are gathered once, a stretch at a time, comparison by comparison, for all rows that ask for the
group; from there on a pair is compared and counted as in tiles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.evidence.clues import STRETCH, Cells, Facts, fill, grown, tally
from refute.kernels.evidence.wide import APART, WIDE_STRETCH, ListedClues, grown_wide, hash_clues, longer, tally_wide

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_EMPTY = np.int64(-1)


class KeptRows(NamedTuple):
    """N rows of C columns as codes, one row after the other, and where the F comparisons of a clue read them as t."""

    codes: NDArray[np.int32]  # (N, C)
    bits: NDArray[np.int32]  # (N, W) what a row says about itself in the role of t
    column: NDArray[np.int64]  # (F,)


@njit(cache=True, nogil=True)
def _gather(kept: KeptRows, members: Array, start: Scalar, stop: Scalar, part: Facts) -> None:
    """Write the rows members[start:stop] as side t of the facts."""
    for m in range(start, stop):
        row = members[m]
        at = m - start
        for f in range(kept.column.shape[0]):
            part.t[f, at] = kept.codes[row, kept.column[f]]
        for w in range(kept.bits.shape[1]):
            part.t_bits[w, at] = kept.bits[row, w]


@njit(cache=True, nogil=True)
def count_members(
    part: Facts, kept: KeptRows, asking: Array, members: Array, ranges: Array, cells: Cells, task: Scalar
) -> Cells:
    """The table with the clues of rows of side s against members added; at most two words of 31 bits.

    part: facts with S rows of side s, and room for STRETCH rows of side t. asking: rows of side s in the order of what
    they ask for. members: numbers of rows among those kept. ranges: (R, 4) places in `asking` from, to, and in
    `members` from, to. The first pair of a clue is noted by its row of s and the place of its member. No row may be
    among its own members. Cost: as `count_clues`, and F reads of memory for each member of a range.
    """
    low = np.zeros((2, STRETCH), np.int32)
    zeros = np.zeros(STRETCH, np.int32)
    wide = part.s_bits.shape[0] > 1
    used = np.int64(0)
    for at in range(cells.keys.shape[0]):
        if cells.keys[at] != _EMPTY:
            used += 1
    for r in range(ranges.shape[0]):
        for begin in range(ranges[r, 2], ranges[r, 3], STRETCH):
            end = min(begin + STRETCH, ranges[r, 3])
            _gather(kept, members, begin, end, part)
            for a in range(ranges[r, 0], ranges[r, 1]):
                i = asking[a]
                if 2 * (used + STRETCH) > cells.keys.shape[0]:
                    cells = grown(cells)
                fill(part, i, 0, end - begin, low)
                high = low[1] if wide else zeros
                used = tally(low[0], high, 0, end - begin, cells, used, task, (np.int64(i) << 32) + begin)
    return cells


@njit(cache=True, nogil=True)
def count_members_wide(
    part: Facts, kept: KeptRows, asking: Array, members: Array, ranges: Array, listed: ListedClues, task: Scalar
) -> ListedClues:
    """As `count_members` for clues of any number of words."""
    buffer = np.zeros((part.s_bits.shape[0], APART), np.int32)
    hashes = np.zeros(WIDE_STRETCH, np.uint32)
    for r in range(ranges.shape[0]):
        for begin in range(ranges[r, 2], ranges[r, 3], WIDE_STRETCH):
            end = min(begin + WIDE_STRETCH, ranges[r, 3])
            _gather(kept, members, begin, end, part)
            for a in range(ranges[r, 0], ranges[r, 1]):
                i = asking[a]
                used = listed.counts[-1]
                if used + WIDE_STRETCH > listed.clues.shape[0]:
                    listed = longer(listed)
                if 2 * (used + WIDE_STRETCH) > listed.cells.shape[0]:
                    listed = ListedClues(grown_wide(listed.cells), listed.clues, listed.counts, listed.first)
                fill(part, i, 0, end - begin, buffer)
                hash_clues(buffer, end - begin, hashes)
                tally_wide(buffer, 0, end - begin, hashes, listed, task, (np.int64(i) << 32) + begin)
    return listed
