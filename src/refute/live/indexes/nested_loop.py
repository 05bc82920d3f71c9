"""The baseline of monitors: every row that comes or goes is compared with all others."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.language.operators import Operator
from refute.live.indexes.index import Batch, Found, Longs, Mask, Pairs, Watched

_HOLDS: dict[Operator, Callable[[Longs, np.int64], Mask]] = {
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}


class NestedLoopIndex:
    """All rows as arrays and nothing else: O(rows) for each row, role and predicate, these as they were given."""

    def __init__(self, rules: Sequence[Watched]) -> None:
        self._rules = list(rules)
        self._kept: Batch | None = None

    def load(self, batch: Batch) -> None:
        """Adds rows without a look at pairs."""
        self._kept = batch if self._kept is None else _joined(self._kept, batch)

    def insert(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Adds rows; for each rule the pairs that appear. Of two rows of the batch, the later one finds the pair."""
        before = 0 if self._kept is None else len(self._kept)
        self._kept = batch if self._kept is None else _joined(self._kept, batch)
        known = np.arange(len(self._kept)) < before
        found = [_Listed(limit) for limit in limits]
        for row in range(len(batch)):
            self._compare(self._kept, known, batch, row, found)
            known[before + row] = True
        return [one.found() for one in found]

    def delete(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Takes rows away; for each rule the pairs that vanish. Of two rows in the batch, the first gives the pair."""
        found = [_Listed(limit) for limit in limits]
        if self._kept is not None and len(batch):
            stays = np.ones(len(self._kept), np.bool_)
            order = np.argsort(self._kept.slots)
            places = order[np.searchsorted(self._kept.slots, batch.slots, sorter=order)]
            for row, place in enumerate(places.tolist()):
                stays[place] = False
                self._compare(self._kept, stays, batch, row, found)
            self._kept = _picked(self._kept, stays)
        return [one.found() for one in found]

    def probe(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """For each rule the pairs of the batch's rows with those that are kept; changes nothing."""
        found = [_Listed(limit) for limit in limits]
        if self._kept is not None:
            everybody = np.ones(len(self._kept), np.bool_)
            for row in range(len(batch)):
                self._compare(self._kept, everybody, batch, row, found)
        return [one.found() for one in found]

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        if self._kept is None:
            return 0
        masks = (mask for masks in self._kept.admitted for mask in masks if mask is not None)
        return sum(array.nbytes for array in (self._kept.slots, *self._kept.keys, *masks))

    def _compare(self, kept: Batch, known: Mask, batch: Batch, row: int, found: Sequence[_Listed]) -> None:
        """Adds the pairs of one row of a batch with the kept rows that are known, in both roles."""
        others = known & (kept.slots != batch.slots[row])
        for rule, watched in enumerate(self._rules):
            for role, other in ((0, 1), (1, 0)):
                own, theirs = batch.admitted[rule][role], kept.admitted[rule][other]
                if own is not None and not own[row]:
                    continue
                held = others if theirs is None else others & theirs
                for op, s, t in watched.compared:
                    if role == 0:
                        held = held & _HOLDS[op.mirrored](kept.keys[t], batch.keys[s][row])
                    else:
                        held = held & _HOLDS[op](kept.keys[s], batch.keys[t][row])
                partners = kept.slots[held]
                itself = np.full(len(partners), batch.slots[row])
                found[rule].add((itself, partners) if role == 0 else (partners, itself))


class _Listed:
    """Pairs of one rule; their number alone once they are more than the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._parts: list[Pairs] = [(np.empty(0, np.int64), np.empty(0, np.int64))]

    def add(self, pairs: Pairs) -> None:
        self._count += len(pairs[0])
        if self._count > self._limit:
            self._parts.clear()
        else:
            self._parts.append(pairs)

    def found(self) -> Found:
        if self._count > self._limit:
            return Found(self._count, None)
        s, t = zip(*self._parts, strict=True)
        return Found(self._count, (np.concatenate(s), np.concatenate(t)))


def _joined(one: Batch, other: Batch) -> Batch:
    def mask(first: Mask | None, second: Mask | None) -> Mask | None:
        if first is None and second is None:
            return None
        return np.concatenate([_spelled(first, len(one)), _spelled(second, len(other))])

    return Batch(
        np.concatenate([one.slots, other.slots]),
        tuple(np.concatenate(both) for both in zip(one.keys, other.keys, strict=True)),
        tuple(
            (mask(s, other_s), mask(t, other_t))
            for (s, t), (other_s, other_t) in zip(one.admitted, other.admitted, strict=True)
        ),
    )


def _spelled(mask: Mask | None, rows: int) -> Mask:
    return np.ones(rows, np.bool_) if mask is None else mask


def _picked(batch: Batch, rows: Mask) -> Batch:
    def part(array: NDArray[Any] | None) -> Any:
        return None if array is None else array[rows]

    return Batch(
        batch.slots[rows],
        tuple(column[rows] for column in batch.keys),
        tuple((part(s), part(t)) for s, t in batch.admitted),
    )
