"""Which rows a rule admits as `s` and as `t`: of a batch row by row, and of the kept rows as sets."""

from __future__ import annotations

from collections.abc import Container

from pyroaring import BitMap

from refute.live.indexes.index import Batch, Longs, Mask
from refute.live.indexes.lt_tree.sets import as_set
from refute.live.indexes.lt_tree.tree import set_bytes

Roles = list[tuple[bool, bool]]  # for each rule whether a row may be s, and whether it may be t


class Barred:
    """For each rule the kept rows that may not stand as `s`, and those that may not stand as `t`.

    Constants work as filters (section 3): they are not predicates of a plan, but the sets here are taken from the
    candidates as soon as there are fewer of these than all rows.
    """

    def __init__(self, rules: int) -> None:
        self.s = [BitMap() for _ in range(rules)]
        self.t = [BitMap() for _ in range(rules)]

    def add(self, batch: Batch) -> None:
        """Takes in the rows of a batch."""
        for rule, (s, t) in enumerate(batch.admitted):
            _bar(self.s[rule], batch.slots, s)
            _bar(self.t[rule], batch.slots, t)

    def discard(self, rows: BitMap) -> None:
        """Forgets rows."""
        for barred in (*self.s, *self.t):
            barred -= rows

    @property
    def nbytes(self) -> int:
        """The memory of the sets."""
        return sum(map(set_bytes, (*self.s, *self.t)))


class RolesOf:
    """The roles of each row of a batch, in the rules that are asked about."""

    def __init__(self, batch: Batch, asked: Container[int] | None = None) -> None:
        rules = [asked is None or rule in asked for rule in range(len(batch.admitted))]
        self._all: Roles | None = None  # those of every row, where no rule has a mask
        if all(mask is None for masks in batch.admitted for mask in masks):
            self._all = [(is_asked, is_asked) for is_asked in rules]
            return
        nobody, everybody = [False] * len(batch), [True] * len(batch)
        self._masks = [
            tuple(everybody if mask is None else mask.tolist() for mask in masks) if is_asked else (nobody, nobody)
            for is_asked, masks in zip(rules, batch.admitted, strict=True)
        ]

    def __getitem__(self, row: int) -> Roles:
        return self._all if self._all is not None else [(s[row], t[row]) for s, t in self._masks]


def _bar(barred: BitMap, slots: Longs, admitted: Mask | None) -> None:
    if admitted is not None:
        barred |= as_set(slots[~admitted])
