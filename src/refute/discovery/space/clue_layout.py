"""Where a clue holds each comparison: bits given out by the predicate space alone, whatever rows there are.

Clues of the same space therefore mean the same before and after rows come and go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import PredicateSpace, Slot, Words
from refute.discovery.space.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.kernels.evidence.points import CHUNK, Reading, points_of_clues
from refute.language.predicate import Column, Constant, Row
from refute.runtime.arrays import empty

_WORD_BITS = 31
_AT_ONCE = 1 << 16  # clues between two looks at the clock
Clues = NDArray[np.int32]


def unchecked() -> None:
    """Let work go on."""


@dataclass(frozen=True, slots=True)
class PairField:
    """Where a clue says how column `a` of s compares with column `b` of t."""

    word: int
    equal: int
    less: int  # 0 when order is not recorded
    null: int  # 0 when nulls are not recorded


@dataclass(frozen=True, slots=True)
class RowField:
    """Where a clue says in which state a comparison within one row is: once for s, once for t."""

    word: int
    s_shift: int
    t_shift: int
    mask: int


@dataclass(frozen=True)
class ClueLayout:
    """How to read a clue of a space: for the pair (s, t), and for (t, s) from the same clue."""

    space: PredicateSpace
    words: int
    pairs: dict[tuple[str, str], PairField]
    rows: dict[tuple[str, str | Constant], RowField]

    def points(self, clues: Clues, checked: Callable[[], None] = unchecked) -> Words:
        """The points of the pairs (s, t) that have these clues (N, W), and after them those of the pairs as (t, s).

        `checked` is called again and again, and ends this by an error of its own.
        """
        out = empty((2 * len(clues), self.space.words), np.uint64)
        whole = np.ascontiguousarray(clues)
        for first in range(0, len(clues), _AT_ONCE):
            checked()
            points_of_clues(self._reading, whole, out, first, min(first + _AT_ONCE, len(clues)))
        return out

    @cached_property
    def _reading(self) -> Reading:
        """Fields that stand near each other in a clue and in a point are read together."""
        chunks: list[tuple[int, int, int]] = []  # the word and first bit in the clue, the word in the point
        tables: list[Words] = []
        values, forward = np.arange(1 << CHUNK), 0
        place, first = self.space.place
        for turned in (False, True):
            forward = len(chunks)
            for k, slot in enumerate(self.space.slots):
                word, start, size, states = self._field(slot, turned=turned)
                near = len(chunks) > forward and (chunks[-1][0], chunks[-1][2]) == (word, place[k])
                if not near or not chunks[-1][1] <= start <= chunks[-1][1] + CHUNK - size:
                    chunks.append((word, start, int(place[k])))
                    tables.append(np.zeros(1 << CHUNK, np.uint64))
                field = (values >> (start - chunks[-1][1])) & ((1 << size) - 1)
                tables[-1] |= np.array([1 << state for state in states], np.uint64)[field] << first[k]
        words, shifts, into = np.array(chunks, np.int64).reshape(len(chunks), 3).T.copy()
        bits = np.array(tables, np.uint64).reshape(len(chunks), 1 << CHUNK)
        return Reading(forward, words, shifts.astype(np.int32), into, bits)

    def _field(self, slot: Slot, *, turned: bool) -> tuple[int, int, int, list[int]]:
        """Where a clue holds a slot: word, first bit, how many bits, and the state for each value of these bits.

        `turned` asks for the pair with its rows exchanged.
        """
        if not slot.is_pair:
            one = self.rows[row_key(slot)]
            here = (slot.left.row is Row.S) != turned
            size = one.mask.bit_length()
            return one.word, one.s_shift if here else one.t_shift, size, list(range(1 << size))
        assert isinstance(slot.right, Column)
        names = slot.left.name, slot.right.name
        field = self.pairs[names[::-1] if turned else names]
        start = field.equal.bit_length() - 1
        size = ((field.equal | field.less | field.null) >> start).bit_length()
        meaning = slot.kind.state_of_atom
        states = []
        for value in range(1 << size):
            bits = value << start
            atom = _atom(bool(bits & field.equal), bool(bits & field.less), bool(bits & field.null))
            state = meaning.get(atom, 0)
            states.append(slot.kind.mirror[state] if turned else state)
        return field.word, start, size, states


def _atom(equal: bool, less: bool, null: bool) -> int:
    """How two values compare, by what a clue says of them."""
    if null:
        return BOTH_NULL if equal else ONE_NULL
    return EQUAL if equal else LESS if less else GREATER


def row_key(slot: Slot) -> tuple[str, str | Constant]:
    """What a comparison within one row compares, whichever row that is."""
    return slot.left.name, slot.right.name if isinstance(slot.right, Column) else slot.right


class _Packer:
    """Hands out bits of clue words, never across a word's end."""

    def __init__(self) -> None:
        self.word, self.used = 0, 0

    def take(self, bits: int) -> tuple[int, int]:
        if self.used + bits > _WORD_BITS:
            self.word, self.used = self.word + 1, 0
        start = self.used
        self.used += bits
        return self.word, start


def layout_of(space: PredicateSpace) -> ClueLayout:
    """The layout of a space. Every comparison is recorded for both roles, so clues can be reversed."""
    wanted: dict[tuple[str, str], tuple[bool, bool]] = {}
    for slot in space.slots:
        if slot.is_pair:
            assert isinstance(slot.right, Column)
            ordered, null = slot.kind.is_ordered, slot.kind.tells_nulls
            for key in ((slot.left.name, slot.right.name), (slot.right.name, slot.left.name)):
                known = wanted.get(key, (False, False))
                wanted[key] = known[0] or ordered, known[1] or null
    packer = _Packer()
    pairs: dict[tuple[str, str], PairField] = {}
    for key, (ordered, null) in wanted.items():
        word, start = packer.take(1 + ordered + null)
        pairs[key] = PairField(
            word, 1 << start, 2 << start if ordered else 0, (4 if ordered else 2) << start if null else 0
        )
    rows: dict[tuple[str, str | Constant], RowField] = {}
    for slot in space.slots:
        if not slot.is_pair and row_key(slot) not in rows:
            bits = (len(slot.kind.states) - 1).bit_length()
            word, start = packer.take(2 * bits)
            rows[row_key(slot)] = RowField(word, start, start + bits, (1 << bits) - 1)
    return ClueLayout(space, packer.word + 1, pairs, rows)
