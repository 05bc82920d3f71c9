"""Focused sampling (Hydra, section 4.3): partners drawn where unseen evidence is most likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import PredicateSpace
from refute.language.predicate import Column
from refute.relation import Relation

Rows = NDArray[np.int64]


class Strategy(Enum):
    """How a partner compares with a tuple in one column."""

    WITHIN = "="
    OTHER = "!="
    BACK = ">"
    FORTH = "<"


@dataclass(frozen=True, slots=True)
class Focus:
    """A column's tuples clustered by value, clusters in order, and a strategy to draw partners by."""

    rows: Rows  # by value
    start: Rows  # per position, where its cluster begins
    stop: Rows  # per position, where its cluster ends
    strategy: Strategy

    def draw(self, random: np.random.Generator) -> tuple[Rows, Rows]:
        """For every tuple that has one, a random partner."""
        n = len(self.rows)
        low = {Strategy.WITHIN: self.start, Strategy.FORTH: self.stop}.get(self.strategy, np.zeros(n, np.int64))
        high = {Strategy.WITHIN: self.stop, Strategy.BACK: self.start}.get(self.strategy, np.full(n, n))
        room = high - low
        if self.strategy is Strategy.OTHER:
            room = room - (self.stop - self.start)
        able = np.flatnonzero(room > 0)
        picked = low[able] + random.integers(0, room[able]) if len(able) else able
        if self.strategy is Strategy.OTHER:
            picked = np.where(picked >= self.start[able], picked + self.stop[able] - self.start[able], picked)
        return self.rows[able], self.rows[picked]


def foci(relation: Relation, space: PredicateSpace, checked: Callable[[], None]) -> list[Focus]:
    """The foci of a table: one per column and strategy that its comparisons allow.

    `checked` is called between columns, and ends this by an error of its own.
    """
    found: list[Focus] = []
    for slot in space.slots:
        checked()
        if not slot.is_pair or not isinstance(slot.right, Column) or slot.right.name != slot.left.name:
            continue
        ordered = any(op.is_order for op in slot.kind.operators)
        codes = relation.encode(slot.left.name, ordered=ordered, dense=True).values
        rows = np.argsort(codes, kind="stable")
        values = codes[rows]
        start = np.searchsorted(values, values, side="left")
        stop = np.searchsorted(values, values, side="right")
        strategies = list(Strategy) if ordered else [Strategy.WITHIN, Strategy.OTHER]
        found.extend(Focus(rows, start, stop, strategy) for strategy in strategies)
    return found
