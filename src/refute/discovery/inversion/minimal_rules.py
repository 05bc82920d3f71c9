"""The minimal rules of maximal boxes that come and go, without comparing all of them again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from refute.discovery.inversion.closing import Closing, Closures
from refute.discovery.inversion.implied import find_implying, nested, packed, packing_order
from refute.discovery.inversion.minimal import is_plain, leads_mirror, sort_keys
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.kernels.inversion.implied import Nested, RuleWords

Numbers = NDArray[np.int64]
_TRIVIAL = -1  # the number of a box that no pair could ever be in
_FEW = 1024  # numbers that may be out of use before the others are renumbered


class MinimalRules:
    """What `minimal` gives of a set of boxes, kept true while boxes come and go.

    Whether a box makes another superfluous depends on these two alone, as does the order of boxes. So a box that is
    dropped remembers one that it follows from, and is looked at again only when that one goes. Of a change, only new
    boxes are closed; they, and those that lost the box they followed from, are searched among all, and all others among
    the new ones. As in `minimal`, all boxes that are there at a time must be maximal ones of one set of points, so that
    those from which nothing further follows can only follow from their mirror images.

    What follows from a box depends on the space and on which columns hold nulls: where these change, rules are made
    anew from all boxes.
    """

    def __init__(self, space: PredicateSpace, nullable: frozenset[str], tuning: Tuning = STANDARD) -> None:
        """`nullable` names the columns that hold nulls."""
        self._space = space
        self._tuning = tuning
        self._closing = None if is_plain(space, nullable) else Closing(space, nullable)
        self._numbers: dict[bytes, int] = {}  # of every box
        self._order: Numbers | None = None  # in which pairs of terms are packed
        self._boxes: Words = np.empty((0, space.words), np.uint64)
        self._words = RuleWords(*(np.empty((0, 0), np.uint64) for _ in range(4)))
        self._there = np.empty(0, np.bool_)
        self._infers = np.empty(0, np.bool_)  # whether more follows from a box than it says
        self._said: dict[bytes, int] = {}  # the box that says this, to find mirror images by
        self._by = np.empty(0, np.int64)  # a box that this one follows from, -1 for none
        self._runs: list[Nested] = []  # all boxes, in parts of falling sizes

    def __len__(self) -> int:
        return int(np.count_nonzero(self._there & (self._by < 0)))

    @property
    def boxes(self) -> Words:
        """The minimal ones, in the order of `minimal`."""
        return self._sorted(np.flatnonzero(self._there & (self._by < 0)))

    def change(self, gone: Words, come: Words, budget: Budget) -> tuple[Words, Words]:
        """The rules that are no longer minimal and those that now are, once these boxes go and come.

        Boxes that go must be there, and those that come must not be, unless they go too.
        """
        leaving = self._leave(gone)
        lost = leaving[self._by[leaving] < 0]
        orphans = np.flatnonzero(self._there & np.isin(self._by, leaving) & (self._by >= 0))
        before = np.flatnonzero(self._there & (self._by < 0))
        fresh = self._enter(come, budget)
        opened = np.concatenate([orphans, fresh])
        self._by[opened] = -1
        if self._closing is not None:
            self._compare(before, opened, fresh, budget)
        lost = np.concatenate([lost, before[self._by[before] >= 0]])
        gained = opened[self._by[opened] < 0]
        changes = self._sorted(lost), self._sorted(gained)
        self._renumber()
        return _apart(*changes)

    def _leave(self, boxes: Words) -> Numbers:
        """The numbers of boxes that go, apart from trivial ones."""
        known = [self._numbers.pop(box.tobytes()) for box in boxes]
        numbers = np.array([number for number in known if number != _TRIVIAL], np.int64)
        self._there[numbers] = False
        if self._closing is not None:
            for number in numbers.tolist():
                del self._said[self._words.rules[number].tobytes()]
            for run in self._runs if len(numbers) else ():
                run.boxes[~self._there[run.owner]] = 0  # nothing lies within an empty box
        return numbers

    def _enter(self, boxes: Words, budget: Budget) -> Numbers:
        """The numbers of boxes that come, apart from those that can never be minimal."""
        boxes = np.ascontiguousarray(boxes)
        if self._closing is None:
            possible, closures = leads_mirror(self._space, boxes), None
        else:
            possible, closures = self._closing.closed(boxes, budget)
        first = len(self._boxes)
        numbers = np.full(len(boxes), _TRIVIAL, np.int64)
        numbers[possible] = np.arange(first, first + np.count_nonzero(possible))
        for box, number in zip(boxes, numbers.tolist(), strict=True):
            assert self._numbers.setdefault(box.tobytes(), number) == number, "a box comes that exists already"
        self._add(boxes[possible], closures)
        return numbers[possible]

    def _add(self, boxes: Words, closures: Closures | None) -> None:
        size = len(boxes)
        keys = sort_keys(self._space, boxes)
        none = np.empty((size, 0), np.uint64)
        words = RuleWords(none, none, none, keys)
        if closures is not None:
            if self._order is None and size:
                self._order = packing_order(closures.rules, closures.implied)
            order = np.arange(closures.rules.shape[1]) if self._order is None else self._order
            rules, mirrors, implied = (packed(atoms, order) for atoms in closures[:3])
            words = RuleWords(rules, mirrors, implied, keys)
            self._said.update((rule.tobytes(), len(self._boxes) + n) for n, rule in enumerate(rules))
        if not len(self._boxes):
            self._words = words
        else:
            self._words = RuleWords(*(np.concatenate(both) for both in zip(self._words, words, strict=True)))
        self._boxes = np.concatenate([self._boxes, boxes])
        self._there = np.concatenate([self._there, np.ones(size, np.bool_)])
        infers = np.zeros(size, np.bool_) if closures is None else closures.infers
        self._infers = np.concatenate([self._infers, infers])
        self._by = np.concatenate([self._by, np.full(size, -1, np.int64)])

    def _compare(self, before: Numbers, opened: Numbers, fresh: Numbers, budget: Budget) -> None:
        """Finds for the boxes that were minimal a new one that they follow from, and for the open ones any."""
        self._find_mirrors(opened)
        if len(fresh):
            self._runs.append(nested(self._words, fresh, self._tuning))
            self._find(self._runs[-1:], before, budget)
        self._find(reversed(self._runs), opened, budget)
        while len(self._runs) > 1 and len(self._runs[-2].owner) <= 2 * len(self._runs[-1].owner):
            owners = np.unique(np.concatenate([run.owner for run in self._runs[-2:]]))
            del self._runs[-2:]
            owners = owners[self._there[owners]]
            if len(owners):
                self._runs.append(nested(self._words, owners, self._tuning))

    def _find_mirrors(self, opened: Numbers) -> None:
        """Drops the later one of an open box and its mirror image."""
        for number in opened.tolist():
            other = self._said.get(self._words.mirrors[number].tobytes(), number)
            if other != number:
                first, second = sorted((number, other), key=lambda one: self._words.keys[one].tolist())
                self._by[second] = first

    def _find(self, runs: Iterable[Nested], which: Numbers, budget: Budget) -> None:
        which = which[self._infers[which] & (self._by[which] < 0)]
        for run in runs if len(which) else ():
            find_implying(run, self._words, which, self._by, budget, self._tuning)

    def _renumber(self) -> None:
        """Numbers out of use are given up once they are as many as the others."""
        used = np.flatnonzero(self._there)
        if len(self._boxes) < 2 * len(used) + _FEW:
            return
        place = np.full(len(self._boxes) + 1, -1, np.int64)  # one more for the number -1
        place[used] = np.arange(len(used))
        self._numbers = {box: int(place[number]) for box, number in self._numbers.items()}
        self._said = {said: int(place[number]) for said, number in self._said.items()}
        self._by = place[self._by[used]]
        self._boxes, self._there, self._infers = self._boxes[used], self._there[used], self._infers[used]
        self._words = RuleWords(*(part[used] for part in self._words))
        self._runs = [nested(self._words, place[used], self._tuning)] if self._closing and len(used) else []

    def _sorted(self, numbers: Numbers) -> Words:
        if not len(numbers):
            return self._boxes[:0]
        found: Words = self._boxes[numbers[np.lexsort(self._words.keys[numbers].T[::-1])]]
        return found


def _apart(lost: Words, gained: Words) -> tuple[Words, Words]:
    """Both without the boxes that are in both."""
    ours, theirs = ([box.tobytes() for box in boxes] for boxes in (lost, gained))
    if not (same := set(ours) & set(theirs)):
        return lost, gained
    left, right = (np.array([box not in same for box in some], np.bool_) for some in (ours, theirs))
    return lost[left], gained[right]
