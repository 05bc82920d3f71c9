"""Boxes that no counted set of equalities settles: how pairs of new rows inside them are found all the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.evidence.counted import Evidence
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget
from refute.tracking.codes import Longs
from refute.tracking.cover import Chosen, Cover, EqualSet
from refute.tracking.rows import TrackedRows

Mask = NDArray[np.bool_]
_SELECTIVE = 12  # a set is worth its groups if a row meets less than this part of all rows


def required(space: PredicateSpace, boxes: Words) -> Mask:
    """Per box and slot, whether the box asks for equality there."""
    equal: Mask = (space.masks(boxes) & ~equal_masks(space)) == 0
    return equal


def settled(sets: Sequence[Chosen], equal: Mask) -> Mask:
    """Which boxes ask for all equalities of one of the sets, given what `required` tells of them."""
    found = np.zeros(len(equal), np.bool_)
    for chosen in sets:
        found |= equal[:, sorted(chosen)].all(axis=1)
    return found


class Residual:
    """Sets of equalities by which new rows meet others without being counted."""

    def __init__(self, rows: TrackedRows, classes: int) -> None:
        self._rows = rows
        self._classes = classes
        self._probes: Cover | None = None

    @property
    def nbytes(self) -> int:
        """The memory of all groups."""
        return 0 if self._probes is None else self._probes.nbytes

    def plan(self, space: PredicateSpace, boxes: Words, counted: Sequence[EqualSet]) -> None:
        """Makes sure that pairs in all boxes are found when rows come.

        Ways that settled a box settle whatever it is cut into, as equalities only become more.
        """
        equal = required(space, boxes)
        left = ~settled([one.chosen for one in counted], equal)
        probes: list[Chosen] = []
        if left.any():
            known = [] if self._probes is None else [one.chosen for one in self._probes.sets]
            probes = [chosen for chosen in known if settled([chosen], equal[left]).any()]
            open_ones = ~settled(probes, equal[left])
            if open_ones.any():
                probes = self._chosen(space, equal[left][open_ones], probes)
        if not probes:
            self._probes = None
        elif self._probes is None:
            self._probes = Cover(space, self._rows, probes)
        else:
            self._probes.lay(space, probes)

    def _chosen(self, space: PredicateSpace, equal: Mask, probes: list[Chosen]) -> list[Chosen]:
        """Sets that settle boxes which ask for these equalities, those by which rows meet the fewest others first."""
        living = self._rows.living
        work = {}
        for k in np.flatnonzero(equal.any(axis=0)).tolist():
            slot = space.slots[k]
            codes = [self._rows.codes[living, self._rows.at[name]] for name in slot.columns]
            counts = [np.unique(one, return_counts=True)[1].astype(np.float64) for one in codes]
            work[k] = max(float((one * one).sum()) for one in counts) / max(1, len(living))
        for k in sorted(work, key=lambda k: (work[k], k)):
            if work[k] * _SELECTIVE > len(living) or not len(equal):
                break
            if equal[:, k].any():
                probes = [*probes, frozenset([k])]
                equal = equal[~equal[:, k]]
        return [frozenset()] if len(equal) else probes

    def evidence(self, coming: Longs, counted: Sequence[EqualSet], budget: Budget) -> Evidence:
        """The evidence of pairs that new rows are in, and takes the rows in."""
        if self._probes is None:
            return Evidence.empty(self._rows.space)
        found = self._probes.evidence(coming, budget, before=counted)
        self._probes.add(coming)
        return found

    def drop(self, going: Longs) -> None:
        """Lets rows go."""
        if self._probes is not None:
            self._probes.drop(going)

    def reload(self, columns: frozenset[int] | None = None) -> None:
        """Makes anew what depends on the codes of some columns, or everything."""
        if self._probes is not None:
            self._probes.reload(columns)
