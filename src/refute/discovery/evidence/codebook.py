"""The facts that clues are made of: the columns of a table as codes to compare, in the layout of a predicate space."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.clue_layout import ClueLayout, Clues, PairField, layout_of, row_key
from refute.discovery.space.slots import PredicateSpace, Slot, States, Words
from refute.discovery.space.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.kernels.evidence.clues import Facts
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate
from refute.relation import Relation

_FAR = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Codebook:
    """The facts of some rows, and the layout in which they are written.

    `keeps_pairs` asks for evidence that has a pair of rows for each of its points.
    """

    layout: ClueLayout
    facts: Facts
    keeps_pairs: bool = False

    @property
    def space(self) -> PredicateSpace:
        """The predicate space."""
        return self.layout.space

    def points(self, clues: Clues, checked: Callable[[], None]) -> Words:
        """The points of the pairs (s, t) that have these clues (N, W), and after them those of the pairs as (t, s)."""
        return self.layout.points(clues, checked)


def codebook(relation: Relation, space: PredicateSpace, nulls: Nulls, *, keeps_pairs: bool = False) -> Codebook:
    """The facts that the space asks about this table as it is, without comparisons that can only come out one way."""
    layout = layout_of(space)
    compared = [key for key in layout.pairs if not _never_equal(relation, key, layout.pairs[key], nulls)]
    return Codebook(layout, facts_of(relation, layout, nulls, compared), keeps_pairs)


def facts_of(
    relation: Relation, layout: ClueLayout, nulls: Nulls, compared: Collection[tuple[str, str]] | None = None
) -> Facts:
    """The facts of a table in a layout: of the `compared` columns, or of all, which stay enough when rows come."""
    s_bits = np.zeros((layout.words, relation.n_rows), np.int32)
    t_bits = np.zeros_like(s_bits)
    for (a, b), field in layout.pairs.items():
        for name, bits in ((a, s_bits), (b, t_bits)):
            if field.null and relation.null_count(name):
                bits[field.word, relation.is_null(name)] |= np.int32(field.null)
    for slot in {row_key(slot): slot for slot in layout.space.slots if not slot.is_pair}.values():
        row_field = layout.rows[row_key(slot)]
        state = row_states(relation, slot).astype(np.int32)
        s_bits[row_field.word] |= state << np.int32(row_field.s_shift)
        t_bits[row_field.word] |= state << np.int32(row_field.t_shift)
    fields = {key: field for key, field in layout.pairs.items() if compared is None or key in compared}
    codes = [_codes(relation, key, field, nulls) for key, field in fields.items()]
    s = np.array([one for one, _ in codes], np.int32).reshape(len(codes), relation.n_rows)
    shared = all(one is other for one, other in codes)
    t = s if shared else np.array([other for _, other in codes], np.int32).reshape(s.shape)
    return Facts(
        s,
        t,
        np.array([field.word for field in fields.values()], np.int64),
        np.array([field.less for field in fields.values()], np.int32),
        np.array([field.equal for field in fields.values()], np.int32),
        s_bits,
        t_bits,
    )


def _never_equal(relation: Relation, key: tuple[str, str], field: PairField, nulls: Nulls) -> bool:
    """Whether no two rows are equal here and order does not matter, so a comparison would show nothing."""
    if field.less or key[0] != key[1]:
        return False
    encoded = relation.encode(key[0], ordered=False, dense=True)
    return encoded.size + encoded.nulls == relation.n_rows and (nulls is Nulls.SQL or encoded.nulls < 2)


def _codes(
    relation: Relation, key: tuple[str, str], field: PairField, nulls: Nulls
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
