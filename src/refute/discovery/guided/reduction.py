"""Fewer rows that stand for all: what rules over some of the slots need to see of the pairs that agree.

A rule that does not read a column cannot tell rows apart that only differ there, so two rows of each kind are enough.
And of a column that a rule does not ask to be equal, the lowest and the highest value of each kind of rows are enough:
if some pair satisfies an inequality between them, so do these. Of a second column that a rule asks to differ, two
values are enough: whichever one is barred, the other has its own lowest and highest value of the first.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.pairs import Chosen
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.tuning import STANDARD, Tuning
from refute.kernels.evidence.outermost import outermost
from refute.relation import Relation
from refute.relation.keys.composite import composite

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Among:
    """Rules that are settled together: those that ask for the equalities and read none of the barred slots.

    Nor do they ask for equality in the slot `ends`, of which only the lowest and highest values were looked at, nor in
    the slot `other`, which knows no order and of which two values were looked at.
    """

    chosen: Chosen
    barred: Chosen
    ends: int | None
    other: int | None

    def settles(self, equal: NDArray[np.bool_], used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rules are settled, given per rule and slot whether it asks for equality, and whether it asks at all."""
        settled = np.asarray(equal[:, sorted(self.chosen)].all(axis=1))
        settled &= ~used[:, sorted(self.barred)].any(axis=1)
        for free in (self.ends, self.other):
            if free is not None:
                settled &= ~equal[:, free]
        return settled


class Reduction:
    """Finds the rows that stand for all, for rules of some kind."""

    def __init__(self, relation: Relation, space: PredicateSpace, tuning: Tuning = STANDARD) -> None:
        self._relation = relation
        self._space = space
        self._tuning = tuning
        self._equal = equal_masks(space)
        self._lock = threading.Lock()
        self._known: dict[Among, Rows] = {}

    @cached_property
    def discerning(self) -> Chosen:
        """The slots that tell most rows apart."""
        return frozenset(
            k
            for k, slot in enumerate(self._space.slots)
            if max(map(self._values, slot.columns)) > self._tuning.many_values
        )

    def among(self, chosen: Chosen, read: Chosen) -> Among:
        """The rules with these equalities that, of the slots that tell most rows apart, read only the given ones."""
        barred = self.discerning - read - chosen
        free = [k for k in read - chosen if self._has_ends(k, barred)]
        free.sort(key=lambda k: (self._has_order(k), self._values(self._space.slots[k].left.name), k))
        ends = free.pop() if free else None
        return Among(chosen, barred, ends, next((k for k in reversed(free) if not self._has_order(k)), None))

    def enough(self, masks: NDArray[np.uint8]) -> Rows | None:
        """The rows that stand for all in the one rule with these masks per slot; None if no choice of rows does."""
        used = masks != np.array([slot.kind.full for slot in self._space.slots], np.uint8)
        among = self.among(frozenset(), self.discerning & frozenset(np.flatnonzero(used).tolist()))
        equal = (masks & ~self._equal) == 0
        return self.rows(among) if among.settles(equal[None], used[None])[0] else None

    def rows(self, among: Among) -> Rows:
        """The rows that stand for all, ascending; all rows where that would be most of them."""
        among = replace(among, chosen=frozenset())
        with self._lock:
            if among not in self._known:
                self._known[among] = self._found(among)
            return self._known[among]

    def _found(self, among: Among) -> Rows:
        """Of the rows that agree in all columns but `ends` and `other`, the outermost by those."""
        ends, other = (None if k is None else self._space.slots[k].left.name for k in (among.ends, among.other))
        read = {n for k, slot in enumerate(self._space.slots) if k not in among.barred for n in slot.columns}
        n = self._relation.n_rows
        names = sorted(read - {ends, other}, key=self._values)
        columns = (self._relation.encode(name, ordered=False, dense=True) for name in names)
        key, _ = composite(((codes.values + 1, codes.size + 1) for codes in columns), n)
        found = outermost(key, self._codes(ends), self._codes(other), n // 2)
        return found if len(found) else np.arange(n)

    def _codes(self, name: str | None) -> Rows:
        """The values of a column as numbers in their order; the same one throughout without a column."""
        if name is None:
            return np.zeros(self._relation.n_rows, np.int64)
        return self._relation.encode(name, ordered=True, dense=True).values.astype(np.int64, copy=False)

    def _has_order(self, k: int) -> bool:
        return any(op.is_order for op in self._space.slots[k].kind.operators)

    def _has_ends(self, k: int, barred: Chosen) -> bool:
        """Whether lowest and highest values are enough here: the slot alone reads its one column, without nulls."""
        slot = self._space.slots[k]
        name = slot.left.name
        others = (one for j, one in enumerate(self._space.slots) if j != k and j not in barred)
        alone = slot.is_pair and slot.columns == (name,) and not any(name in one.columns for one in others)
        return alone and self._relation.null_count(name) == 0

    def _values(self, name: str) -> int:
        return self._relation.encode(name, ordered=False, dense=True).size
