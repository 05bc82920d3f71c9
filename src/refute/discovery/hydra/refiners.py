"""Partition refinement (Hydra, section 6.3): cluster pairs split by one predicate at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.codebook import row_states
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.space.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.kernels.refinement.id_sets import Keyed
from refute.kernels.refinement.iejoin import JoinListing, Sorted
from refute.language.nulls import Nulls
from refute.language.predicate import Column, Row
from refute.relation import Relation

Rows = NDArray[np.int64]
_ROOM = 1 << 22  # partners listed at a time


@dataclass(frozen=True, slots=True)
class ClusterRanges:
    """Cluster pairs side by side: with ranges[r] = (a, b, c, d), pair r is the rows s[a:b] with the rows t[c:d]."""

    s: Rows
    t: Rows
    ranges: Rows  # (R, 4)

    @property
    def sizes(self) -> Rows:
        """How many pairs of rows each cluster pair stands for, rows with themselves included."""
        return (self.ranges[:, 1] - self.ranges[:, 0]) * (self.ranges[:, 3] - self.ranges[:, 2])

    def where(self, chosen: NDArray[np.bool_]) -> ClusterRanges:
        """The chosen cluster pairs."""
        return ClusterRanges(self.s, self.t, self.ranges[chosen])

    def each(self) -> Iterator[tuple[Rows, Rows]]:
        """The cluster pairs one by one."""
        for a, b, c, d in self.ranges.tolist():
            yield self.s[a:b], self.t[c:d]


class Refiners:
    """The refiners of a space over a table."""

    def __init__(self, relation: Relation, space: PredicateSpace, nulls: Nulls) -> None:
        self._relation = relation
        self._space = space
        self._nulls = nulls
        self._filters: dict[int, NDArray[np.uint8]] = {}

    def refine(self, slot: int, mask: int, s: Rows, t: Rows) -> Iterator[ClusterRanges]:
        """Cluster pairs that hold exactly the pairs of (s, t) whose comparison in the slot is in the mask."""
        chosen = self._space.slots[slot]
        if not chosen.is_pair:
            yield self._filtered(slot, mask, s, t)
            return
        left, right = self._codes(slot)
        atoms = chosen.kind.atoms(mask)
        same_null = bool(atoms & BOTH_NULL) and self._nulls is Nulls.EQUAL
        other_null = bool(atoms & ONE_NULL) and self._nulls is Nulls.EQUAL
        if not (same_null or other_null):
            s, t = s[left[s] >= 0], t[right[t] >= 0]
        s, t = s[np.argsort(left[s], kind="stable")], t[np.argsort(right[t], kind="stable")]
        a, b = left[s], right[t]
        values = atoms & (LESS | EQUAL | GREATER)
        if values == EQUAL:
            yield _joined(s, t, a, b)
        elif values == LESS | GREATER:
            yield from _apart(s, t, a, b)
        else:
            yield from _ordered(s, t, a, b, values)

    def is_order(self, slot: int, mask: int) -> bool:
        """Whether the predicates of the mask are one inequality between the two rows."""
        chosen = self._space.slots[slot]
        return chosen.is_pair and chosen.kind.atoms(mask) in (LESS, LESS | EQUAL, GREATER, GREATER | EQUAL)

    def refine_twice(
        self, first: tuple[int, int], second: tuple[int, int], s: Rows, t: Rows
    ) -> Iterator[ClusterRanges]:
        """As `refine` for two inequalities (slot, mask) at once, by IEJoin."""
        for slot, _ in (first, second):
            left, right = self._codes(slot)
            s, t = s[left[s] >= 0], t[right[t] >= 0]
        if not len(s) or not len(t):
            return
        (a_x, b_x), (a_y, b_y) = (self._ascending(slot, mask, s, t) for slot, mask in (first, second))
        listing = JoinListing(Sorted(_keyed(a_x), _keyed(a_y), _keyed(b_x), _keyed(b_y)), len(s), len(t), _ROOM)
        while (found := listing.next()) is not None:
            ours, theirs = found
            ranges = np.stack([ours.starts, ours.ends, theirs.starts, theirs.ends], axis=1)
            yield ClusterRanges(s[ours.ids], t[theirs.ids[: int(theirs.ends[-1])]], ranges)

    def _codes(self, slot: int) -> tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]:
        """The codes of all rows in the roles of s and of t; negative where a value is null."""
        chosen = self._space.slots[slot]
        assert isinstance(chosen.right, Column)
        ordered = any(op.is_order for op in chosen.kind.operators)
        if chosen.left.name == chosen.right.name:
            same = self._relation.encode(chosen.left.name, ordered=ordered, dense=True).values
            return same, same
        left, right = self._relation.encode_joint((chosen.left.name, chosen.right.name), ordered=ordered, dense=True)
        return left.values, right.values

    def _ascending(self, slot: int, mask: int, s: Rows, t: Rows) -> tuple[Rows, Rows]:
        """Keys of s and of t such that the inequality reads `s < t`."""
        left, right = self._codes(slot)
        atoms = self._space.slots[slot].kind.atoms(mask)
        sign = 1 if atoms & LESS else -1
        ours, theirs = sign * left[s].astype(np.int64), sign * right[t].astype(np.int64)
        return ours, theirs + (1 if atoms & EQUAL else 0)

    def _filtered(self, slot: int, mask: int, s: Rows, t: Rows) -> ClusterRanges:
        chosen = self._space.slots[slot]
        if slot not in self._filters:
            self._filters[slot] = row_states(self._relation, chosen)
        accepted = (mask >> self._filters[slot]) & 1 == 1
        if chosen.left.row is Row.S:
            s = s[accepted[s]]
        else:
            t = t[accepted[t]]
        return ClusterRanges(s, t, np.array([[0, len(s), 0, len(t)]], np.int64)[: len(s) * len(t) > 0])


def _keyed(keys: Rows) -> Keyed:
    """Positions in the order of their keys, as one set."""
    order = np.argsort(keys, kind="stable")
    return Keyed(order.astype(np.int32), keys[order], np.array([0, len(keys)], np.int64))


def _joined(s: Rows, t: Rows, a: Rows, b: Rows) -> ClusterRanges:
    """Equi-join: clusters of equal values, one from each side."""
    starts = np.flatnonzero(np.concatenate([[True], a[1:] != a[:-1]])) if len(a) else np.empty(0, np.int64)
    stops = np.append(starts[1:], len(a))
    low, high = np.searchsorted(b, a[starts], side="left"), np.searchsorted(b, a[starts], side="right")
    ranges = np.stack([starts, stops[: len(starts)], low, high], axis=1).astype(np.int64)
    return ClusterRanges(s, t, ranges[high > low])


def _apart(s: Rows, t: Rows, a: Rows, b: Rows) -> Iterator[ClusterRanges]:
    """Anti-join: each cluster of s with the rows of t of other values; clusters without a match go together."""
    joined = _joined(s, t, a, b)
    alone = np.ones(len(s), np.bool_)
    for start, stop, low, high in joined.ranges.tolist():
        alone[start:stop] = False
        rest = np.concatenate([t[:low], t[high:]])
        if len(rest):
            yield ClusterRanges(s[start:stop], rest, np.array([[0, stop - start, 0, len(rest)]], np.int64))
    rest = s[alone]
    if len(rest) and len(t):
        yield ClusterRanges(rest, t, np.array([[0, len(rest), 0, len(t)]], np.int64))


def _ordered(s: Rows, t: Rows, a: Rows, b: Rows, atoms: int) -> Iterator[ClusterRanges]:
    """Inequality join on sorted clusters; neighbours with the same partners are merged."""
    if atoms & LESS:
        bound = np.searchsorted(b, a, side="left" if atoms & EQUAL else "right")
    else:
        bound = np.searchsorted(b, a, side="right" if atoms & EQUAL else "left")
    starts = np.flatnonzero(np.concatenate([[True], bound[1:] != bound[:-1]])) if len(bound) else bound
    stops = np.append(starts[1:], len(bound))[: len(starts)]
    limits = bound[starts]
    full = np.full(len(starts), len(t))
    none = np.zeros(len(starts), np.int64)
    low, high = (limits, full) if atoms & LESS else (none, limits)
    ranges = np.stack([starts, stops, low, high], axis=1).astype(np.int64)
    yield ClusterRanges(s, t, ranges[high > low])
