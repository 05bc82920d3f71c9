"""Which rules to show first: short ones, ones that many pairs come close to, ones that chance does not explain.

Succinctness and coverage are those of Chu, Ilyas and Papotti (Discovering Denial Constraints, section 5). Surprise asks
how many violations there would be if the columns had nothing to do with each other: a rule that should be broken a
million times and never is says more than one that chance would keep as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Evidence
from refute.discovery.space.slots import PredicateSpace, Slot, Words
from refute.discovery.space.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.kernels.evidence.coverage import covered
from refute.language.predicate import Column, Predicate
from refute.relation import Relation

Floats = NDArray[np.float64]
Shares = Callable[[Slot], list[float]]
WEIGHTS = (0.35, 0.25, 0.40)
"""What succinctness, coverage and surprise count for in the score."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Scores per rule, each between 0 and 1; higher is more interesting."""

    succinctness: Floats
    coverage: Floats
    surprise: Floats

    @property
    def score(self) -> Floats:
        """The weighted mean of the three."""
        first, second, third = WEIGHTS
        return first * self.succinctness + second * self.coverage + third * self.surprise

    def best_first(self) -> tuple[Ranks, NDArray[np.int64]]:
        """The same, best first, and the order in which that is; of equals the first comes first."""
        order = np.lexsort((np.arange(len(self.surprise)), -self.score))
        return Ranks(self.succinctness[order], self.coverage[order], self.surprise[order]), order


def ranks(n_rows: int, shares: Shares, space: PredicateSpace, boxes: Words, sample: Evidence) -> Ranks:
    """The scores of all boxes; `shares` gives the share of pairs in each state of a slot, coverage is the sample's."""
    masks = space.masks(boxes)
    full = np.array([slot.kind.full for slot in space.slots], np.uint8)
    used = masks != full
    return Ranks(
        _succinctness(space, masks, used),
        _coverage(boxes, space.boxes(np.where(used, full, np.uint8(0))), used, sample),
        _surprise(n_rows, shares, space, masks, used),
    )


def _succinctness(space: PredicateSpace, masks: NDArray[np.uint8], used: NDArray[np.bool_]) -> Floats:
    """The shortest rule's length over each rule's, in distinct symbols: columns and operators."""
    columns = sorted({name for slot in space.slots for name in slot.columns})
    operators = sorted({op.symbol for slot in space.slots for op in slot.kind.operators})
    symbols = np.zeros((len(masks), len(columns) + len(operators)), np.bool_)
    for k, slot in enumerate(space.slots):
        for name in slot.columns:
            symbols[:, columns.index(name)] |= used[:, k]
        for mask, ops in slot.kind.conjunctions.items():
            for op in ops:
                symbols[:, len(columns) + operators.index(op.symbol)] |= masks[:, k] == mask
    length = symbols.sum(axis=1).astype(np.float64)
    shortest = float(length.min(initial=np.inf))
    relative: Floats = shortest / length
    return relative


def _coverage(boxes: Words, asked: Words, used: NDArray[np.bool_], sample: Evidence) -> Floats:
    """The mean over pairs of (true predicates + 1) / predicates, for pairs that satisfy some but not all of them."""
    out = np.zeros(len(boxes), np.float64)
    if len(sample):
        covered(boxes, asked, used.sum(axis=1), sample.points, sample.counts.astype(np.float64), out)
    return out


def _surprise(
    n: int, shares_of: Shares, space: PredicateSpace, masks: NDArray[np.uint8], used: NDArray[np.bool_]
) -> Floats:
    """The logarithm of the violations to be expected by chance, over that of all pairs."""
    if n < 2:
        return np.zeros(len(masks), np.float64)
    pairs = float(n) * (n - 1)
    expected = np.full(len(masks), pairs)
    for k, slot in enumerate(space.slots):
        if not used[:, k].any():
            continue
        shares = shares_of(slot)
        by_mask = np.array([sum(shares[s] for s in range(len(shares)) if m >> s & 1) for m in range(256)])
        expected *= np.where(used[:, k], by_mask[masks[:, k]], 1.0)
    surprise: Floats = np.log1p(expected) / np.log1p(pairs)
    return surprise


def state_shares(relation: Relation, slot: Slot) -> list[float]:
    """The share of ordered pairs of distinct rows in each state of a slot, exact from the values' counts."""
    n = relation.n_rows
    if not slot.is_pair:
        return _row_shares(relation, slot)
    assert isinstance(slot.right, Column)
    ordered = any(op.is_order for op in slot.kind.operators)
    if slot.left.name == slot.right.name:
        left = right = relation.encode(slot.left.name, ordered=ordered, dense=True)
    else:
        left, right = relation.encode_joint((slot.left.name, slot.right.name), ordered=ordered, dense=True)
    present, other = left.values >= 0, right.values >= 0
    ours = np.bincount(left.values[present], minlength=left.size).astype(np.float64)
    theirs = np.bincount(right.values[other], minlength=left.size).astype(np.float64)
    both = present & other
    mine, its = left.values[both], right.values[both]
    less = float((ours * (theirs.sum() - np.cumsum(theirs))).sum()) - np.sum(mine < its)
    equal = float((ours * theirs).sum()) - np.sum(mine == its)
    known = float(ours.sum() * theirs.sum()) - np.sum(both)
    missing = float(left.nulls) * right.nulls - np.sum(~present & ~other)
    return _shares(slot, n, equal, less, known, missing)


def states_of_column(slot: Slot, n: int, nulls: int, squares: float) -> list[float]:
    """The state shares of a slot over one column, from its rows, nulls, and the sum of its values' squared counts."""
    present = float(n - nulls)
    known, equal = present * (present - 1), squares - present
    return _shares(slot, n, equal, (known - equal) / 2, known, float(nulls) * (nulls - 1))


def _shares(slot: Slot, n: int, equal: float, less: float, known: float, missing: float) -> list[float]:
    """The share of pairs in each state, given how many are equal, less, without a null, and with two."""
    atoms = {EQUAL: equal, LESS: less, GREATER: known - equal - less, BOTH_NULL: missing}
    atoms[ONE_NULL] = float(n) * (n - 1) - known - missing
    return [max(0.0, sum(atoms[a] for a in atoms if state & a) / (float(n) * (n - 1))) for state in slot.kind.states]


def _row_shares(relation: Relation, slot: Slot) -> list[float]:
    """The share of rows in each state of a comparison within one row, as far as its predicates tell states apart."""
    shares = []
    for k in range(len(slot.kind.states)):
        inside = np.ones(relation.n_rows, np.bool_)
        for op in slot.kind.operators:
            true = relation.mask(Predicate.of(slot.left, op, slot.right), slot.kind.nulls)
            inside &= true if slot.kind.mask(op) >> k & 1 else ~true
        shares.append(float(inside.mean()))
    return shares
