"""Many rules at once: pipelines merged into tries, so that common prefixes are refined once (FACET, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from refute.detect.refine.batch import ClusterPairs, all_pairs
from refute.detect.refine.bitmaps import bitmaps_pay, clusters_of, count_pairs, refine_bitmaps
from refute.detect.refine.collect import Total, self_pairs
from refute.detect.refine.nested import cut_small, gathered
from refute.detect.refine.operators import count_last, iejoin_orders, refine
from refute.detect.refine.order import inequality, paired, plan
from refute.detect.refine.stages import Algorithm, Kind, Pipeline, Purpose, Stage, leading_reflexive
from refute.detect.refine.tuning import Tuning
from refute.kernels.refinement_nested import count_nested
from refute.plan.problem import Problem
from refute.plan.share import Share


class Organisation(Enum):
    """How the predicates of each rule are ordered before their pipelines are merged (figure 1)."""

    COST = "cost"  # as each rule alone: cheap predicates first
    FREQUENCY = "frequency"  # within a class of predicates, those that most rules share first


@dataclass(slots=True)
class Node:
    """A refinement that several rules share. `ends` are the rules that end here, `settled` those whose leading
    reflexive equalities do, after which no set is dropped and self-pairs can be taken back."""

    stage: Stage | None
    drop: bool
    children: dict[Hashable, Node] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    settled: list[int] = field(default_factory=list)

    chain: tuple[Stage, ...] = ()  # from here to a leaf, where no rule ends before and nothing branches off
    last_ends: list[int] = field(default_factory=list)  # the rules that end at that leaf

    @property
    def stages(self) -> int:
        """How many refinements the trie below and including this node performs."""
        return (self.stage is not None) + sum(child.stages for child in self.children.values())


def pipelines(
    problems: Sequence[Problem], organisation: Organisation, tuning: Tuning, share: Share | None
) -> list[Pipeline]:
    """The pipeline of each problem, ordered so that prefixes can be shared; no stage takes two predicates."""
    planned = [plan(problem, Purpose.COUNT, tuning, share, paired_last=False) for problem in problems]
    if organisation is Organisation.COST:
        return planned
    frequency = Counter(stage.key for pipeline in planned for stage in pipeline.stages)
    classes = {Kind.EQUAL: 0, Kind.DIFFER: 1, Kind.ORDER: 2}

    def place(stage: Stage) -> tuple[int, bool, int, float, str]:
        return classes[stage.kind], not stage.single_column, -frequency[stage.key], stage.cardinality, str(stage.key)

    ordered = [tuple(sorted(pipeline.stages, key=place)) for pipeline in planned]
    aligned = [problem.aligned for problem in problems]
    return [Pipeline(stages, leading_reflexive(stages, a)) for stages, a in zip(ordered, aligned, strict=True)]


def trie_of(rules: Sequence[tuple[int, Pipeline]], tuning: Tuning) -> Node:
    """The trie of the numbered pipelines, with the algorithm of each inequality chosen by what follows it."""
    root = Node(None, False)
    for number, pipeline in rules:
        node = root
        for depth, stage in enumerate(pipeline.stages):
            node = node.children.setdefault(stage.key, Node(stage, depth < pipeline.reflexive))
            if depth + 1 == pipeline.reflexive:
                node.settled.append(number)
        node.ends.append(number)
    _choose(root, tuning)
    _link(root)
    return root


def _link(node: Node) -> None:
    """Fills in the chains."""
    for child in node.children.values():
        _link(child)
    if node.stage is None:
        return
    if not node.children:
        node.chain, node.last_ends = (node.stage,), node.ends
    elif len(node.children) == 1 and not node.ends:
        (child,) = node.children.values()
        node.chain, node.last_ends = ((node.stage, *child.chain) if child.chain else ()), child.last_ends


def _choose(node: Node, tuning: Tuning) -> None:
    for child in node.children.values():
        _choose(child, tuning)
    if node.stage is None or node.stage.kind is not Kind.ORDER:
        return
    if len(node.children) == 1 and not node.ends:
        (leaf,) = node.children.values()
        single = leaf.stage if leaf.stage is not None and leaf.stage.algorithm is not Algorithm.IEJOIN else None
        both = paired(node.stage, single, tuning) if single is not None and not leaf.children else None
        if both is not None:
            node.stage, node.ends, node.children = both, leaf.ends, {}
            return
    node.stage = inequality(node.stage, bool(node.children), tuning)


class Many:
    """The counts of many problems over the same rows."""

    def __init__(self, rules: Sequence[tuple[int, Problem, Pipeline]], tuning: Tuning, share: Share) -> None:
        self._problem = rules[0][1]
        self._tuning = tuning
        self._share = share
        rows = self._problem.n_rows
        self._dense = [rule for rule in rules if bitmaps_pay(rule[2].stages, rows, tuning)]
        dense = {rule[0] for rule in self._dense}
        self._trie = trie_of([(number, pipeline) for number, _, pipeline in rules if number not in dense], tuning)
        self._self_pairs = {number: self_pairs(problem)[0] for number, problem, _ in rules if problem.self_pairs}
        self._settled_late = {number for number, _, pipeline in rules if pipeline.reflexive and number not in dense}

    def counts(self) -> dict[int, int]:
        """The number of violating pairs of each problem, by its number."""
        totals: Counter[int] = Counter()
        for number, points in self._self_pairs.items():
            if number not in self._settled_late:
                totals[number] -= len(points)
        root = all_pairs(self._problem)
        for number in self._trie.ends:
            totals[number] += root.pairs
        with ThreadPoolExecutor(self._share.threads) as pool:
            # As in the paper, each root of a trie on a thread of its own.
            running = [pool.submit(self._count_dense, *rule) for rule in self._dense]
            running += [pool.submit(self._run, child, root) for child in self._trie.children.values()]
            for future in running:
                totals.update(future.result())
        return dict(totals)

    def _count_dense(self, number: int, problem: Problem, pipeline: Pipeline) -> Counter[int]:
        indexes = [clusters_of(stage, problem, self._tuning, self._share) for stage in pipeline.stages]
        return Counter({number: sum(count_pairs(*dense) for dense in refine_bitmaps(indexes))})

    def _run(self, node: Node, root: ClusterPairs) -> Counter[int]:
        itself: dict[int, NDArray[np.bool_]] = {}
        for number in self._settled_late & self._self_pairs.keys():
            itself[number] = np.zeros(self._problem.s_size, np.bool_)
            if len(self._self_pairs[number]) < self._problem.s_size:
                itself[number][self._self_pairs[number]] = True
        totals: Counter[int] = Counter()
        for number, pairs in self._descend(node, root, itself):
            totals[number] += pairs
        return totals

    def _descend(
        self, node: Node, batch: ClusterPairs, itself: dict[int, NDArray[np.bool_]]
    ) -> Iterator[tuple[int, int]]:
        assert node.stage is not None
        for part in batch.split(self._tuning.budget):
            small, large = (None, part) if node.drop else cut_small(part, node.chain, self._tuning)
            if small is not None:
                pairs = part.sign * count_nested(*gathered(small, node.chain))[0]
                yield from ((number, pairs) for number in node.last_ends)
            if large is None:
                continue
            if not node.children:
                yield from self._ended(node, node.stage, large, itself)
                continue
            for found in refine(node.stage, large, Purpose.COUNT, self._tuning, drop=node.drop):
                yield from self._settled(node, found, itself)
                pairs = found.sign * found.pairs if node.ends else 0
                yield from ((number, pairs) for number in node.ends)
                for child in node.children.values():
                    yield from self._descend(child, found, itself)

    def _ended(
        self, node: Node, stage: Stage, part: ClusterPairs, itself: dict[int, NDArray[np.bool_]]
    ) -> Iterator[tuple[int, int]]:
        """What a leaf counts; nothing reads its sets."""
        total = Total(self._problem.s_size, self._problem.t_size)
        if stage.kind is not Kind.ORDER:
            yield from self._settled(node, part, itself)
            total.total += count_last(stage, part)
        elif stage.algorithm is Algorithm.IEJOIN:
            total.add_iejoin(iejoin_orders(stage, part), part.sign)
        else:
            for found in refine(stage, part, Purpose.COUNT, self._tuning, last=True):
                total.add(found)
        yield from ((number, total.total) for number in node.ends)

    def _settled(
        self, node: Node, batch: ClusterPairs, itself: dict[int, NDArray[np.bool_]]
    ) -> Iterator[tuple[int, int]]:
        """What the rules take back whose leading reflexive equalities end at the node."""
        for number in node.settled:
            if number in itself:
                ids = batch.members()
                everyone = len(self._self_pairs[number]) == self._problem.s_size
                yield number, -(len(ids) if everyone else int(np.count_nonzero(itself[number][ids])))


def count_many(
    problems: Sequence[Problem], share: Share | None, organisation: Organisation, tuning: Tuning
) -> list[int]:
    """The number of violating pairs of each problem, all found together.

    Predicates are the same when their comparisons have the same label and kind; problems meet in a trie when they
    admit the same rows.
    """
    share = Share() if share is None else share
    ordered = pipelines(problems, organisation, tuning, share)
    together: dict[Hashable, list[tuple[int, Problem, Pipeline]]] = {}
    for number, (problem, pipeline) in enumerate(zip(problems, ordered, strict=True)):
        rows = (problem.n_rows, id(problem.s_rows), id(problem.t_rows))
        together.setdefault(rows, []).append((number, problem, pipeline))
    counts: dict[int, int] = {}
    for rules in together.values():
        counts |= Many(rules, tuning, share).counts()
    return [counts.get(number, 0) for number in range(len(problems))]
