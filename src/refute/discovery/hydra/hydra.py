"""Hydra (Bleifuss, Kruse and Naumann, VLDB 2017): approximate the rules from a sample, then find what breaks them.

Random and focused sampling give a preliminary evidence set (section 4), its inversion preliminary rules (section 5).
All pairs that violate one of these complete the evidence (theorem 2); they are found by refining cluster pairs along a
tree of predicates that puts frequent and selective ones first (section 6.4), inequalities that follow one another in
pairs by IEJoin. Unlike the paper, a cluster pair that stands for few pairs is not refined further but looked at as a
whole (true pairs are always evidence), and once more pairs were looked at than the table has, all of them are. A rule
whose branch of the tree is done, and that no evidence breaks, is verified: a search that is stopped returns those.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import picked
from refute.discovery.evidence.codebook import codebook
from refute.discovery.evidence.counted import Evidence, merged, violating_pairs
from refute.discovery.evidence.sampling import pair_evidence
from refute.discovery.evidence.tiles import rectangle_evidence, tile_evidence
from refute.discovery.hydra.foci import foci
from refute.discovery.hydra.refiners import ClusterRanges, Refiners
from refute.discovery.inversion.inverted import inverted
from refute.discovery.inversion.minimal import minimal
from refute.discovery.options import Options
from refute.discovery.result.outcome import Outcome
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, TimeIsUpError
from refute.kernels.evidence.clues import own_positions
from refute.relation import Relation

_COMPARED = 1 << 21  # comparisons of drawn pairs between two looks at the clock

Choice = tuple[int, int]  # a slot and the mask of its accepted states


@dataclass(slots=True, eq=False)
class PredicateNode:
    """A node of the tree: the predicate that leads to it, whether a rule ends here, what follows, and its rules.

    Rules are given by the predicates that are not on the way to the node's parent: whole ones below the root.
    """

    choice: Choice | None
    ends: bool = False
    children: list[PredicateNode] = field(default_factory=list)
    rules: list[frozenset[Choice]] = field(default_factory=list)


class Hydra:
    """One run of the algorithm."""

    def __init__(self, relation: Relation, space: PredicateSpace, options: Options, tuning: Tuning = STANDARD) -> None:
        self._relation = relation
        self._book = book = codebook(relation, space, options.nulls)
        self._space = space
        self._options = options
        self._tuning = tuning
        self._budget = Budget(options)
        self._random = np.random.default_rng(options.seed)
        self._refiners = Refiners(relation, book.space, options.nulls)
        self._evidence = Evidence.empty(book.space)
        self._place = np.full(relation.n_rows, -1, np.int64)
        self._passed: list[frozenset[Choice]] = []

    def run(self, budget: Budget) -> Outcome:
        """The rules of the table, or those verified until the time was up."""
        self._budget = budget
        try:
            tree = self._preliminary()
            if not self._complete(tree):
                return self.so_far()
            boxes = self._inverted()
        except TimeIsUpError:
            return self.so_far()
        return Outcome(boxes, self._evidence, True, counted=False, method="hydra")

    def _preliminary(self) -> PredicateNode:
        """The tree of the rules that a sample leaves; raises TimeIsUpError."""
        sample = self._random_sample()
        self._focused_sample()
        boxes = self._inverted()
        nullable = frozenset(n for s in self._space.slots for n in s.columns if self._relation.null_count(n))
        boxes = minimal(self._space, boxes, self._budget, nullable, self._tuning)
        self._budget.raise_if_expired()
        self._budget.report("completion", evidences=len(self._evidence), candidates=len(boxes))
        return tree_of(self._choices(boxes), self._selectivities(sample), self._budget.raise_if_expired)

    def _inverted(self) -> Words:
        """The boxes that the evidence leaves; raises TimeIsUpError."""
        states, longest = self._states(self._evidence), self._options.max_predicates
        boxes, complete = inverted(self._space, states, self._budget, longest, mirrored=True, tuning=self._tuning)
        if not complete:
            raise TimeIsUpError
        return boxes

    def _states(self, evidence: Evidence) -> NDArray[np.uint8]:
        """The states of all points; raises TimeIsUpError."""
        states = evidence.states_within(lambda: self._budget.expired)
        if states is None:
            raise TimeIsUpError
        return states

    def so_far(self) -> Outcome:
        """The rules whose branches of the tree are done and that no evidence breaks."""
        masks = np.empty((len(self._passed), len(self._space.slots)), np.uint8)
        masks[:] = [slot.kind.full for slot in self._space.slots]
        for n, rule in enumerate(self._passed):
            for slot, mask in rule:
                masks[n, slot] = mask
        boxes = self._space.boxes(masks)
        held = boxes[violating_pairs(boxes, self._evidence) == 0]
        return Outcome(held, self._evidence, False, counted=False, method="hydra")

    def _random_sample(self) -> Evidence:
        """Section 4.2: every tuple with some random others."""
        self._budget.report("random sample")
        n, partners = self._relation.n_rows, self._tuning.partners
        step = max(1, self._at_once // partners)
        parts = []
        for start in range(0, n, step):
            s = np.repeat(np.arange(start, min(start + step, n)), partners)
            parts += self._drawn(s, self._random.integers(0, n, len(s)))
        self._evidence = merged(self._space, parts, checked=self._budget.raise_if_expired)
        return self._evidence

    @property
    def _at_once(self) -> int:
        """How many pairs are compared between two looks at the clock."""
        return max(1, _COMPARED // max(1, len(self._book.facts.s)))

    def _drawn(self, s: NDArray[np.int64], t: NDArray[np.int64]) -> list[Evidence]:
        """The evidence of pairs that were drawn, in parts; raises TimeIsUpError."""
        checked = self._budget.raise_if_expired
        return [
            pair_evidence(self._book, s[at : at + self._at_once], t[at : at + self._at_once], checked=checked)
            for at in range(0, len(s), self._at_once)
        ]

    def _focused_sample(self) -> None:
        """Section 4.3: the focus that last gave most unseen evidences per pair comes next."""
        self._budget.report("focused sample", evidences=len(self._evidence))
        listed = foci(self._relation, self._space, self._budget.raise_if_expired)
        queue = [(-np.inf, number) for number in range(len(listed))]
        heapq.heapify(queue)
        while queue and not self._budget.expired:
            _, number = heapq.heappop(queue)
            s, t = listed[number].draw(self._random)
            if not len(s):
                continue
            before = len(self._evidence)
            known = [self._evidence, *self._drawn(s, t)]
            self._evidence = merged(self._space, known, checked=self._budget.raise_if_expired)
            efficiency = (len(self._evidence) - before) / len(s)
            if efficiency >= self._tuning.efficiency:
                heapq.heappush(queue, (-efficiency, number))

    def _choices(self, boxes: NDArray[np.uint64]) -> list[frozenset[Choice]]:
        full = [slot.kind.full for slot in self._space.slots]
        return [
            frozenset((k, mask) for k, mask in enumerate(row) if mask != full[k])
            for row in self._space.masks(boxes).tolist()
        ]

    def _selectivities(self, sample: Evidence) -> dict[Choice, float]:
        """The share of random pairs that satisfy each choice."""
        states, total = self._states(sample), max(1, int(sample.counts.sum()))
        found = {}
        for k, slot in enumerate(self._space.slots):
            self._budget.raise_if_expired()
            pairs = np.bincount(states[:, k], sample.counts).tolist()  # by state; whole numbers that a float holds
            for mask in slot.kind.conjunctions:
                inside = sum(number for state, number in enumerate(pairs) if mask >> state & 1)
                found[k, mask] = (inside + 0.5) / total
        return found

    def _complete(self, root: PredicateNode) -> bool:
        """Adds the evidence of all pairs that violate a rule of the tree; whether that was finished."""
        n = self._relation.n_rows
        looked = 0
        passing: list[PredicateNode] = []  # branches that are done except for pairs still to be looked at
        pending: list[ClusterRanges] = []
        waiting = 0
        for child in root.children:
            for found in self._below(child, np.arange(n), np.arange(n)):
                pending.append(found)
                waiting += int(found.sizes.sum())
                if waiting >= self._tuning.batch_pairs:
                    self._look(pending)
                    looked, waiting, pending = looked + waiting, 0, []
                    if self._budget.expired:
                        return False
                    self._pass(passing)
                    if looked > n * (n - 1):
                        everything, complete = tile_evidence(self._book, self._budget, n)
                        self._evidence = merged(self._space, [self._evidence, everything])
                        return complete
            passing.append(child)
            if self._budget.expired:
                break
        self._look(pending)
        if self._budget.expired:
            return False
        self._pass(passing)
        return True

    def _pass(self, branches: list[PredicateNode]) -> None:
        """Notes that all violations of the rules of these branches are evidence by now."""
        for branch in branches:
            self._passed.extend(branch.rules)
        branches.clear()

    def _below(self, child: PredicateNode, s: NDArray[np.int64], t: NDArray[np.int64]) -> Iterator[ClusterRanges]:
        """Cluster pairs of true pairs that include all that violate a rule of the node, depth first."""
        assert child.choice is not None
        paired = [] if child.ends or not self._refiners.is_order(*child.choice) else self._ordered(child)
        for second in paired:
            assert second.choice is not None
            for refined in self._refiners.refine_twice(child.choice, second.choice, s, t):
                yield from self._followed(second, refined, second.children)
        if len(paired) < len(child.children) or child.ends:
            rest = [one for one in child.children if one not in paired]
            for refined in self._refiners.refine(*child.choice, s, t):
                yield from self._followed(child, refined, rest)

    def _ordered(self, node: PredicateNode) -> list[PredicateNode]:
        return [one for one in node.children if one.choice is not None and self._refiners.is_order(*one.choice)]

    def _followed(
        self, node: PredicateNode, refined: ClusterRanges, children: list[PredicateNode]
    ) -> Iterator[ClusterRanges]:
        """Cluster pairs below a node, given those that satisfy all on the way to it."""
        if node.ends:
            yield refined
            return
        few = refined.sizes <= self._tuning.few_pairs
        if few.any():
            yield refined.where(few)
        for a, b in refined.where(~few).each():
            for one in children:
                yield from self._below(one, a, b)

    def _look(self, pending: list[ClusterRanges]) -> None:
        """The evidence of all pairs of these cluster pairs; of some, when the time is up."""
        for found in pending:
            if self._budget.expired:
                return
            s, t, ranges = found.s, found.t, found.ranges
            own = np.full(len(s), -1, np.int64)
            own_positions(s, t, ranges, self._place, own)
            facts = picked(self._book.facts, s, t)
            parts = np.array_split(ranges, max(1, min(len(ranges), 8)))
            tasks = [np.ascontiguousarray(part) for part in parts if len(part)]
            part, _ = rectangle_evidence(self._book, facts, tasks, self._budget, own)
            self._evidence = merged(self._space, [self._evidence, part])
        self._budget.report("completion", evidences=len(self._evidence))


def tree_of(
    rules: list[frozenset[Choice]], selectivity: dict[Choice, float], checked: Callable[[], None]
) -> PredicateNode:
    """The tree of the rules: at every node the choice with the most rules per selectivity comes first.

    `checked` is called between steps that may take long, and ends them by an error of its own.
    """
    root = PredicateNode(None)
    _grow(root, rules, selectivity, checked)
    return root


def _grow(
    node: PredicateNode, rules: list[frozenset[Choice]], selectivity: dict[Choice, float], checked: Callable[[], None]
) -> None:
    while rules:
        checked()
        frequency: dict[Choice, int] = {}
        for rule in rules:
            for choice in rule:
                frequency[choice] = frequency.get(choice, 0) + 1
        best = max(sorted(frequency), key=lambda choice: frequency[choice] / selectivity[choice])
        child = PredicateNode(best, rules=[rule for rule in rules if best in rule])
        with_it = [rule - {best} for rule in child.rules]
        rules = [rule for rule in rules if best not in rule]
        child.ends = any(not rule for rule in with_it)
        _grow(child, [rule for rule in with_it if rule], selectivity, checked)
        node.children.append(child)
