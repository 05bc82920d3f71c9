"""The minimal rules of what is tracked, and how a change of rows changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refute.discovery.inversion.minimal import is_plain, leads_mirror
from refute.discovery.inversion.minimal_rules import MinimalRules
from refute.discovery.result.kinds import RuleSort, sort_of
from refute.discovery.space.slots import PredicateSpace, Words, mirror_masks
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.kernels.tracking.points import first_around, first_inside
from refute.language.constraint import DenialConstraint
from refute.language.render import render_text
from refute.tracking.ages import RuleAges, said_in
from refute.tracking.changes import AddedRule, RemovedRule, RuleChanges, Told, WhyGone
from refute.tracking.codes import Longs
from refute.tracking.evidence.judging import Judging
from refute.tracking.evidence.known import apart, ascending
from refute.tracking.ways import TrackedChange

Ids = Callable[[Longs], list[Any]]


class TrackedRules:
    """The minimal ones among the maximal boxes of a tracking; those that follow from others are found incrementally."""

    def __init__(self, tracking: Judging, kept: set[RuleSort] | None = None, tuning: Tuning = STANDARD) -> None:
        """`kept` are the kinds of rules that are listed, None for all."""
        self._kept = kept
        self._tuning = tuning
        self._budget = Budget(tracking.options)
        self._load(tracking)
        self.ages = RuleAges.of(self.boxes)

    def _load(self, tracking: Judging) -> None:
        self._space, self._nullable = tracking.space, tracking.nullable
        self._all = tracking.boxes
        self._plain = is_plain(self._space, self._nullable)
        self._rules: MinimalRules | None = None
        if self._plain:  # where only mirror images say the same, each box speaks for itself
            self.boxes = self._all[leads_mirror(self._space, self._all)]
            return
        self._rules = MinimalRules(self._space, self._nullable, self._tuning)
        self._rules.change(self._all[:0], self._all, self._budget)
        self._budget.raise_if_interrupted()
        self.boxes = ascending(self._rules.boxes)

    def __len__(self) -> int:
        return len(self.boxes) if self._kept is None else len(self.constraints())

    def constraints(self) -> list[DenialConstraint]:
        """All rules that are listed."""
        return [one for one in _constraints(self._space, self.boxes) if self._tells(one)]

    def held(self, *, everything: bool = False) -> dict[str, int]:
        """Through how many batches each rule that is listed has held so far, by its text; or each that there is."""
        rules = _constraints(self._space, self.boxes)
        held = self.ages.held(self.boxes).tolist()
        return {render_text(one): n for one, n in zip(rules, held, strict=True) if everything or self._tells(one)}

    def take_ages(self, batch: int, held: Mapping[str, int]) -> None:
        """Takes in through how many batches rules have held, by their texts; all others begin with this one."""
        texts = map(render_text, _constraints(self._space, self.boxes))
        since = np.array([batch + 1 - held.get(text, 1) for text in texts], np.int64)
        self.ages = RuleAges(batch, self.boxes, since)

    def changed(self, tracking: Judging, change: TrackedChange, ids: Ids) -> RuleChanges:
        """What a change that the tracking has taken in did to rules; `ids` gives the names of rows by their slots."""
        before, space, everything = self.boxes, self._space, self._all
        if tracking.space is not space or tracking.nullable != self._nullable:
            self._load(tracking)
            if tracking.space is not space:
                self.ages = self.ages.widened(space, tracking.space)
                before, everything = (_widened(space, some, tracking.space) for some in (before, everything))
            (lost, gained), gone = _apart(before, self.boxes), _apart(everything, self._all)[0]
        else:
            now = tracking.boxes
            if now is everything:
                self.ages = self.ages.after(self.boxes)
                return RuleChanges.of()
            gone, come = _apart(everything, now)
            if self._plain:
                lost, gained = (some[leads_mirror(space, some)] for some in (gone, come))
            else:
                assert self._rules is not None
                lost, gained = self._rules.change(gone, come, self._budget)
                self._budget.raise_if_interrupted()
            self._all = now
            self.boxes = ascending(np.concatenate([_apart(before, ascending(lost))[0], gained]))
        return self._told(lost, gained, gone, change, ids, tracking)

    def _told(
        self, lost: Words, gained: Words, gone: Words, change: TrackedChange, ids: Ids, tracking: Judging
    ) -> RuleChanges:
        """The changes, of which only the names of rows are looked up at once: rows may be gone when they are read.

        A rule is broken if a point came to it; where some errors are allowed, if it lies in no box that holds within
        them. Of fewer than two rows none is broken.
        """
        within = tracking.boxes if tracking.options.error else None
        few = tracking.n_alive < 2
        held = self.ages.held(lost)
        self.ages = self.ages.after(self.boxes)
        names = _named(ids, change.pairs if len(lost) else change.pairs[:0])
        space, kept = self._space, self._kept

        def told() -> Told:
            breaking = _firsts(first_inside, lost, change.fresh)
            holds = breaking < 0 if within is None else _firsts(first_around, lost, within) >= 0
            breaking[holds] = -1
            still = WhyGone.TOO_FEW_ROWS if few else WhyGone.FOLLOWS
            whys = [still if few or true else WhyGone.BROKEN for true in holds.tolist()]
            return _in_words(space, (lost, held, whys), gained, gone, breaking, names)

        if kept is None:
            return RuleChanges(len(gained), len(lost), told)
        added, removed = told()
        return RuleChanges.of(
            [one for one in added if self._tells(one.constraint)],
            [one for one in removed if self._tells(one.constraint)],
        )

    def _tells(self, rule: DenialConstraint) -> bool:
        return self._kept is None or sort_of(rule) in self._kept


def _in_words(
    space: PredicateSpace,
    went: tuple[Words, Longs, list[WhyGone]],
    gained: Words,
    gone: Words,
    breaking: Longs,
    names: list[tuple[Any, Any]],
) -> Told:
    """What each rule that went was, for how many batches and why it went, and in whose place each came.

    `breaking` says which of the pairs broke each, -1 for none.
    """
    lost, held, whys = went
    both_lost, both_gained = (np.concatenate([some, _mirrored(space, some)]) for some in (lost, gained))
    around = _firsts(first_around, lost, both_gained)
    around[around >= 0] %= max(1, len(gained))
    inside = _firsts(first_inside, gained, both_lost)
    replaced = np.concatenate([both_lost, gone])
    outer = _firsts(first_around, gained, replaced)
    lost_rules, gained_rules = _constraints(space, lost), _constraints(space, gained)
    removed = []
    for number, rule in enumerate(lost_rules):
        pair = names[breaking[number]] if breaking[number] >= 0 else None
        why = whys[number]
        follows = gained_rules[around[number]] if why is WhyGone.FOLLOWS and around[number] >= 0 else None
        removed.append(RemovedRule(rule, pair, follows, int(held[number]), why))
    wider = np.flatnonzero(outer >= 0)
    refined = dict(zip(wider.tolist(), _constraints(space, replaced[outer[wider]]), strict=True))
    inner: dict[int, list[DenialConstraint]] = {}
    for number, place in enumerate(around.tolist()):
        inner.setdefault(place, []).append(lost_rules[number])
    for number in np.flatnonzero(inside >= 0).tolist():  # what lies within several is said of each of them
        inner.setdefault(number, [lost_rules[inside[number] % len(lost_rules)]])
    added = [
        AddedRule(rule, refined.get(number), tuple(inner.get(number, ()))) for number, rule in enumerate(gained_rules)
    ]
    return added, removed


def _firsts(kernel: Callable[[Words, Words, Longs], None], some: Words, others: Words) -> Longs:
    out = np.empty(len(some), np.int64)
    kernel(np.ascontiguousarray(some), np.ascontiguousarray(others), out)
    return out


def _named(ids: Ids, pairs: Longs) -> list[tuple[Any, Any]]:
    """The names of the rows of pairs (N, 2)."""
    if not len(pairs):
        return []
    return list(zip(ids(pairs[:, 0]), ids(pairs[:, 1]), strict=True))


def _constraints(space: PredicateSpace, boxes: Words) -> list[DenialConstraint]:
    return [space.constraint(row) for row in space.masks(boxes).tolist()]


def _mirrored(space: PredicateSpace, boxes: Words) -> Words:
    """The boxes of the same rules with the rows exchanged, where all have one."""
    return space.boxes(mirror_masks(space, space.masks(boxes))) if space.is_symmetric else boxes[:0]


def _widened(space: PredicateSpace, boxes: Words, wider: PredicateSpace) -> Words:
    """The boxes that say the same in a widened space; those that cannot be said there by one box are left out."""
    return ascending(said_in(space, boxes, wider)[0])


def _apart(boxes: Words, others: Words) -> tuple[Words, Words]:
    """The boxes that are not among the others, and the others that are not among these; all ascend."""
    alone, others_alone = apart(boxes, others)
    return boxes[alone], others[others_alone]
