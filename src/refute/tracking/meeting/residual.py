"""Boxes that no counted set of equalities settles: how pairs of new rows inside them are found all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.evidence.counted import Evidence, merged
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget
from refute.tracking.codes import Longs
from refute.tracking.meeting.cover import Chosen, Cover, EqualSet
from refute.tracking.meeting.standing import Alike, BoxReading, StandIns
from refute.tracking.rows import TrackedRows

Mask = NDArray[np.bool_]
_SAMPLE = 4096  # rows from which the number of values of a column is estimated
_SELECTIVE = 12  # a set is worth its groups if a row meets less than this part of all rows


def required(space: PredicateSpace, boxes: Words) -> Mask:
    """Per box and slot, whether the box asks for equality there."""
    equal: Mask = (space.masks(boxes) & ~equal_masks(space)) == 0
    return equal


def settled(sets: Sequence[Chosen], equal: Mask) -> Mask:
    """Which boxes ask for all equalities of one of the sets, given what `required` says about them."""
    found = np.zeros(len(equal), np.bool_)
    for chosen in sets:
        found |= equal[:, sorted(chosen)].all(axis=1)
    return found


class Residual:
    """Ways by which new rows meet others without being counted.

    Few rows that stand for all others alike are the cheapest, where boxes read few values. Else rows meet those that
    agree with them on some equality, and if all fails, all rows.
    """

    def __init__(self, rows: TrackedRows, classes: int, share: float) -> None:
        """Up to so many `classes` of rows that stand for others, together at most that share of all, are kept."""
        self._rows = rows
        self._most = classes
        self._share = share
        self._probes: Cover | None = None
        self._classes: dict[Alike, StandIns] = {}
        self._refused: dict[Alike, int] = {}  # classes with too many rows, and how many rows there were
        self._seen: tuple[list[Chosen], list[Alike]] = ([], [])  # ways by which the last rows that came were seen

    @property
    def nbytes(self) -> int:
        """The memory of all groups."""
        kept = 0 if self._probes is None else self._probes.nbytes
        return kept + sum(one.nbytes for one in self._classes.values())

    @property
    def work(self) -> float:
        """How many rows a row that comes meets on average, but for those that it comes to stand for."""
        return 0.0 if self._probes is None else self._probes.work

    def plan(self, space: PredicateSpace, boxes: Words, counted: Sequence[EqualSet]) -> None:
        """Makes sure that pairs in all boxes are found when rows come."""
        equal = required(space, boxes)
        left = ~settled([one.chosen for one in counted], equal)
        masks, equal = space.masks(boxes[left]), equal[left]
        reading = BoxReading(space, self._rows)
        settling = {alike: reading.settles(alike, masks, equal) for alike in self._classes}
        classes = {alike: self._classes[alike] for alike, some in settling.items() if some.any()}
        known = [one.chosen for one in self._probes.sets] if self._probes is not None else []
        probes = [chosen for chosen in known if settled([chosen], equal).any()]
        open_ones = ~settled(probes, equal)
        for alike in classes:
            open_ones &= ~settling[alike]
        if open_ones.any():
            more, rest = self._standing(reading, masks[open_ones], equal[open_ones], classes)
            classes |= more
            if rest.any():
                probes = self._chosen(space, equal[open_ones][rest], probes)
        self._classes = {} if frozenset() in probes else classes
        if not probes:
            self._probes = None
        elif self._probes is None:
            self._probes = Cover(space, self._rows, probes)
        else:
            self._probes.lay(space, probes)

    def _standing(
        self, reading: BoxReading, masks: NDArray[np.uint8], equal: Mask, kept: Mapping[Alike, StandIns]
    ) -> tuple[dict[Alike, StandIns], Mask]:
        """New classes for boxes, and the boxes that these do not settle."""
        made: dict[Alike, StandIns] = {}
        rest = np.ones(len(masks), np.bool_)
        values = self._values()
        most = self._share * self._rows.n_alive - sum(2 * one.size for one in kept.values())
        while rest.any() and len(kept) + len(made) < self._most:
            first = int(rest.argmax())
            alike = reading.alike(masks[first], equal[first], values)
            if self._rows.n_alive > 2 * self._refused.get(alike, self._rows.n_alive):
                del self._refused[alike]
            found = None if alike in self._refused else StandIns(self._rows, alike)
            if found is None or 2 * found.size > most:
                self._refused[alike] = self._rows.n_alive
                return made, rest
            made[alike] = found
            most -= 2 * found.size
            rest &= ~reading.settles(alike, masks, equal)
        return made, rest

    def _values(self) -> list[int]:
        """About how many values each column has."""
        some = self._rows.living[:_SAMPLE]
        return [len(np.unique(self._rows.codes[some, column])) for column in range(len(self._rows.names))]

    def _chosen(self, space: PredicateSpace, equal: Mask, probes: list[Chosen]) -> list[Chosen]:
        """Sets that settle boxes which ask for these equalities, those by which rows meet the fewest others first."""
        living = self._rows.living
        work = {}
        for k in np.flatnonzero(equal.any(axis=0)).tolist():
            codes = [self._rows.codes[living, self._rows.at[name]] for name in space.slots[k].columns]
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
        found = [Evidence.empty(self._rows.space)]
        self._seen = ([], list(self._classes))
        if self._probes is not None:
            found.append(self._probes.evidence(coming, budget, before=counted))
            self._probes.add(coming)
            self._seen[0].extend(one.chosen for one in self._probes.sets)
        for one in self._classes.values():
            new = one.add(coming)
            if len(new):
                found.append(one.evidence(new, budget))
        return merged(self._rows.space, found)

    def unseen(self, space: PredicateSpace, boxes: Words, counted: Sequence[EqualSet]) -> bool:
        """Whether the rows that came last may be in a pair that lies in one of the boxes and was not seen."""
        probes, classes = self._seen
        equal = required(space, boxes)
        left = ~settled([*(one.chosen for one in counted), *probes], equal)
        if left.any() and classes:
            reading = BoxReading(space, self._rows)
            masks, equal = space.masks(boxes[left]), equal[left]
            open_ones = np.ones(len(masks), np.bool_)
            for alike in classes:
                open_ones &= ~reading.settles(alike, masks, equal)
            return bool(open_ones.any())
        return bool(left.any())

    def look(self, coming: Longs, counted: Sequence[EqualSet], budget: Budget) -> Evidence:
        """The evidence of rows that came last by ways that are new since then."""
        found = [Evidence.empty(self._rows.space)]
        probes, classes = self._seen
        if self._probes is not None and any(one.chosen not in probes for one in self._probes.sets):
            self._probes.drop(coming)
            found.append(self._probes.evidence(coming, budget, before=counted))
            self._probes.add(coming)
            probes.extend(one.chosen for one in self._probes.sets)
        for alike, one in self._classes.items():
            if alike not in classes:
                classes.append(alike)
                new = one.among(coming)
                if len(new):
                    found.append(one.evidence(new, budget))
        return merged(self._rows.space, found)

    def drop(self, going: Longs) -> None:
        """Lets rows go that are no longer alive."""
        if self._probes is not None:
            self._probes.drop(going)
        for one in self._classes.values():
            one.drop(going)

    def reload(self, columns: frozenset[int] | None = None) -> None:
        """Makes anew what depends on the codes of some columns, or everything."""
        if self._probes is not None:
            self._probes.reload(columns)
        for alike, one in self._classes.items():
            if columns is None or columns & {*alike.columns, alike.ends}:
                one.load()
