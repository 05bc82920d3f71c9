"""From a table and a predicate space to the facts that clues are made of, and from clues back to states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discover.space import Slot, Space, States
from refute.discover.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.kernels.evidence import Facts
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

    def decode(self, clues: Clues) -> tuple[States, States]:
        """The states per slot of the pairs (s, t) that have these clues (N, W), and of the same pairs as (t, s)."""
        forward = np.empty((len(clues), len(self.space.slots)), np.uint8)
        reverse = np.empty_like(forward)
        for k, slot in enumerate(self.space.slots):
            if slot.is_pair:
                assert isinstance(slot.right, Column)
                a, b = slot.left.name, slot.right.name
                forward[:, k] = self._pair_states(clues, slot, (a, b))
                mirror = np.array(slot.kind.mirror, np.uint8)
                reverse[:, k] = mirror[self._pair_states(clues, slot, (b, a))]
            else:
                field = self.rows[_row_key(slot)]
                word = clues[:, field.word]
                shifts = (field.s_shift, field.t_shift)
                here, there = shifts if slot.left.row is Row.S else shifts[::-1]
                forward[:, k] = (word >> here) & field.mask
                reverse[:, k] = (word >> there) & field.mask
        return forward, reverse

    def _pair_states(self, clues: Clues, slot: Slot, key: tuple[str, str]) -> States:
        field = self.pairs[key]
        word = clues[:, field.word]
        raw = np.where(word & field.equal, 1, 0) + np.where(word & field.less, 2, 0) + np.where(word & field.null, 4, 0)
        states: States = _meaning(slot)[raw]
        return states


def _meaning(slot: Slot) -> States:
    """The state for each combination of the bits equal (1), less (2) and null (4)."""
    states = slot.kind.state_of_atom
    atoms = (GREATER, EQUAL, LESS, EQUAL, ONE_NULL, BOTH_NULL, ONE_NULL, BOTH_NULL)
    return np.array([states.get(atom, 0) for atom in atoms], np.uint8)


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
