"""Fewer rows that stand for all: what rules over some of the slots need to see of the pairs that agree.

A rule that does not read a column cannot tell rows apart that only differ there, so two rows of each kind are enough.
And of a column that a rule does not ask to be equal, the lowest and the highest value of each kind of rows are enough:
if some pair satisfies an inequality between them, so do these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discover.groups import Agreement, Agreements
from refute.discover.pairs import Chosen
from refute.discover.space import Space
from refute.relation import Relation

Rows = NDArray[np.int64]
_WIDEST = 1 << 62
_MANY_VALUES = 1_000  # distinct values from which reading a column makes most rows differ


@dataclass(frozen=True, slots=True)
class Among:
    """Rules that are settled together: those that ask for the equalities and read none of the barred slots.

    Nor do they ask for equality in the slot `ends`, of which only the lowest and highest values were looked at.
    """

    chosen: Chosen
    barred: Chosen
    ends: int | None

    def settles(self, equal: NDArray[np.bool_], used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rules are settled, given per rule and slot whether it asks for equality, and whether it asks at all."""
        settled = np.asarray(equal[:, sorted(self.chosen)].all(axis=1))
        settled &= ~used[:, sorted(self.barred)].any(axis=1)
        if self.ends is not None:
            settled &= ~equal[:, self.ends]
        return settled


class Reduction:
    """Finds the rows that stand for all, for rules of some kind."""

    def __init__(self, relation: Relation, space: Space, agreements: Agreements) -> None:
        self._relation = relation
        self._space = space
        self._agreements = agreements

    @property
    def telling(self) -> Chosen:
        """The slots that tell most rows apart."""
        return frozenset(
            k for k, slot in enumerate(self._space.slots) if max(map(self._values, slot.columns)) > _MANY_VALUES
        )

    def among(self, chosen: Chosen, read: Chosen) -> Among:
        """The rules with these equalities that, of the slots that tell most rows apart, read only the given ones."""
        barred = self.telling - read - chosen
        free = [k for k in read - chosen if self._has_ends(k, barred)]
        return Among(
            chosen, barred, max(free, key=lambda k: (self._values(self._space.slots[k].left.name), k), default=None)
        )

    def agreement(self, among: Among) -> Agreement:
        """The agreeing pairs of the rows that stand for all."""
        return self._agreements.find(tuple(sorted(among.chosen)), self._rows(among))

    def _rows(self, among: Among) -> Rows:
        """The first and the last row, by the values of `ends`, of rows that agree in all other columns."""
        ends = None if among.ends is None else self._space.slots[among.ends].left.name
        read = {n for k, slot in enumerate(self._space.slots) if k not in among.barred for n in slot.columns} - {ends}
        key, span = np.zeros(self._relation.n_rows, np.int64), 1
        for name in sorted(read, key=self._values):
            codes = self._relation.encode(name, ordered=False, dense=True)
            if span > _WIDEST // (codes.size + 1):
                distinct, key = np.unique(key, return_inverse=True)
                span = len(distinct)
            key = key * (codes.size + 1) + (codes.values + 1)
            span *= codes.size + 1
        if ends is None:
            order = np.argsort(key, kind="stable")
        else:
            order = np.lexsort((self._relation.encode(ends, ordered=True, dense=True).values, key))
        key = key[order]
        fresh = np.concatenate([[True], key[1:] != key[:-1]])
        kept = fresh | np.concatenate([fresh[1:], [True]])
        return np.sort(order[kept])

    def _has_ends(self, k: int, barred: Chosen) -> bool:
        """Whether lowest and highest values are enough here: the slot alone reads its one column, without nulls."""
        slot = self._space.slots[k]
        name = slot.left.name
        others = (one for j, one in enumerate(self._space.slots) if j != k and j not in barred)
        alone = slot.is_pair and slot.columns == (name,) and not any(name in one.columns for one in others)
        return alone and self._relation.null_count(name) == 0

    def _values(self, name: str) -> int:
        return self._relation.encode(name, ordered=False, dense=True).size
