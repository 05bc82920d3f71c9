"""From a table and a predicate space to the facts that clues are made of, and from clues back to states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from refute.discover.space import Slot, Space, States, Words
from refute.discover.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.kernels.evidence import Facts
from refute.kernels.evidence_points import CHUNK, Reading, points_of_clues
from refute.kernels.memory import empty
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.relation import Relation

_WORD_BITS = 31
_FAR = np.iinfo(np.int32).max
Clues = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _PairField:
    """Where a clue says how column `a` of s compares with column `b` of t."""

    word: int
    equal: int
    less: int  # 0 when order is not told
    null: int  # 0 when nulls are not told


@dataclass(frozen=True, slots=True)
class _RowField:
    """Where a clue says in which state a comparison within one row is: once for s, once for t."""

    word: int
    s_shift: int
    t_shift: int
    mask: int


@dataclass(frozen=True)
class Codebook:
    """The facts of a table, and how to read a clue: for the pair (s, t), and for (t, s) from the same clue."""

    space: Space
    facts: Facts
    pairs: dict[tuple[str, str], _PairField]
    rows: dict[tuple[str, str | Constant], _RowField]

    def points(self, clues: Clues) -> Words:
        """The points of the pairs (s, t) that have these clues (N, W), and after them those of the pairs as (t, s)."""
        out = empty((2 * len(clues), self.space.words), np.uint64)
        points_of_clues(self._reading, np.ascontiguousarray(clues), out)
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
        """Where a clue tells of a slot: word, first bit, how many bits, and the state for each value of these bits.

        `turned` asks for the pair with its rows exchanged.
        """
        if not slot.is_pair:
            one = self.rows[_row_key(slot)]
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


def _row_key(slot: Slot) -> tuple[str, str | Constant]:
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


def codebook(relation: Relation, space: Space, nulls: Nulls) -> Codebook:
    """The facts that the space asks about this table. Facts are kept for both roles, so that clues can be reversed."""
    wanted: dict[tuple[str, str], bool] = {}
    for slot in space.slots:
        if slot.is_pair:
            assert isinstance(slot.right, Column)
            ordered = any(op.is_order for op in slot.kind.operators)
            for key in ((slot.left.name, slot.right.name), (slot.right.name, slot.left.name)):
                wanted[key] = wanted.get(key, False) or ordered
    packer = _Packer()
    pairs: dict[tuple[str, str], _PairField] = {}
    told: list[tuple[tuple[str, str], _PairField]] = []
    for key, ordered in wanted.items():
        has_null = any(relation.null_count(name) for name in key) and (nulls is Nulls.SQL or ordered)
        word, start = packer.take(1 + ordered + has_null)
        field = _PairField(
            word, 1 << start, 2 << start if ordered else 0, (4 if ordered else 2) << start if has_null else 0
        )
        pairs[key] = field
        told.append((key, field))
    rows: dict[tuple[str, str | Constant], _RowField] = {}
    row_slots = [slot for slot in space.slots if not slot.is_pair]
    for slot in row_slots:
        if _row_key(slot) not in rows:
            bits = (len(slot.kind.states) - 1).bit_length()
            word, start = packer.take(2 * bits)
            rows[_row_key(slot)] = _RowField(word, start, start + bits, (1 << bits) - 1)
    s_bits = np.zeros((packer.word + 1, relation.n_rows), np.int32)
    t_bits = np.zeros_like(s_bits)
    for (a, b), field in told:
        if field.null:
            s_bits[field.word, relation.is_null(a)] |= np.int32(field.null)
            t_bits[field.word, relation.is_null(b)] |= np.int32(field.null)
    for slot in row_slots:
        row_field = rows[_row_key(slot)]
        state = row_states(relation, slot).astype(np.int32)
        s_bits[row_field.word] |= state << np.int32(row_field.s_shift)
        t_bits[row_field.word] |= state << np.int32(row_field.t_shift)
    compared = [(key, field) for key, field in told if not _never_equal(relation, key, field, nulls)]
    codes = [_codes(relation, key, field, nulls) for key, field in compared]
    s = np.array([one for one, _ in codes], np.int32).reshape(len(codes), relation.n_rows)
    shared = all(one is other for one, other in codes)
    t = s if shared else np.array([other for _, other in codes], np.int32).reshape(s.shape)
    facts = Facts(
        s,
        t,
        np.array([field.word for _, field in compared], np.int64),
        np.array([field.less for _, field in compared], np.int32),
        np.array([field.equal for _, field in compared], np.int32),
        s_bits,
        t_bits,
    )
    return Codebook(space, facts, pairs, rows)


def _never_equal(relation: Relation, key: tuple[str, str], field: _PairField, nulls: Nulls) -> bool:
    """Whether no two rows can be equal here and order is not asked, so that the fact costs nothing."""
    if field.less or key[0] != key[1]:
        return False
    encoded = relation.encode(key[0], ordered=False, dense=True)
    return encoded.size + encoded.nulls == relation.n_rows and (nulls is Nulls.SQL or encoded.nulls < 2)


def _codes(
    relation: Relation, key: tuple[str, str], field: _PairField, nulls: Nulls
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The codes of both sides; where a comparison with null is never true, no code of the other side meets a null's."""
    ordered = bool(field.less)
    if key[0] == key[1]:
        left = right = relation.encode(key[0], ordered=ordered, dense=True)
    else:
        left, right = relation.encode_joint(key, ordered=ordered, dense=True)
    s, t = left.values.astype(np.int32, copy=False), right.values.astype(np.int32, copy=False)
    if nulls is Nulls.EQUAL or not (left.nulls or right.nulls):
        return s, t  # one code for null on both sides: equal to itself only
    return s, np.where(t < 0, np.int32(_FAR if ordered else -2), t)


def row_states(relation: Relation, slot: Slot) -> States:
    """The state of each row in a comparison within the row."""
    kind = slot.kind
    state = np.full(relation.n_rows, kind.state_of_atom.get(GREATER, 0), np.uint8)
    for op, atom in ((Operator.EQ, EQUAL), (Operator.LT, LESS)):
        if op is Operator.EQ or any(asked.is_order for asked in kind.operators):
            mask = relation.mask(Predicate.of(slot.left, op, slot.right), Nulls.SQL)
            state[mask] = kind.state_of_atom[atom]
    left = relation.is_null(slot.left.name)
    right = relation.is_null(slot.right.name) if isinstance(slot.right, Column) else np.zeros_like(left)
    if left.any() or right.any():
        state[left ^ right] = kind.state_of_atom.get(ONE_NULL, 0)
        state[left & right] = kind.state_of_atom.get(BOTH_NULL, 0)
    return state
