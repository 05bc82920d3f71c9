"""Running a pipeline: depth first over bounded parts of batches, so memory never grows with the output."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refute.detect.refine.batch import ClusterPairs, all_pairs
from refute.detect.refine.bitmaps import bitmap_steps, bitmaps_pay, clusters_of, refine_bitmaps
from refute.detect.refine.collect import Collector, Total, self_pairs
from refute.detect.refine.nested import cut_small, gathered, listed
from refute.detect.refine.order import plan
from refute.detect.refine.refinements import count_last, iejoin_orders, refine
from refute.detect.refine.stages import Algorithm, Kind, Pipeline, Purpose
from refute.detect.refine.tuning import Tuning
from refute.plan.problem import Problem
from refute.plan.share import Share, announce
from refute.plan.step import Step
from refute.runtime.threads import carried


def stream(problem: Problem, tuning: Tuning, share: Share | None) -> Iterator[ClusterPairs]:
    """The cluster pairs whose pairs of points satisfy all comparisons (self-pairs included), first ones early."""
    pipeline = plan(problem, Purpose.LIST, tuning, share)
    announce(share, pipeline)
    yield from _stream(pipeline, 0, all_pairs(problem), tuning)


def _stream(pipeline: Pipeline, level: int, batch: ClusterPairs, tuning: Tuning) -> Iterator[ClusterPairs]:
    if level == len(pipeline.stages):
        yield batch
        return
    last, drop = level == len(pipeline.stages) - 1, level < pipeline.reflexive
    for part in batch.split(tuning.budget, growing=True):
        small, large = cut_small(part, pipeline.stages[level:], tuning)
        if small is not None:
            yield from listed(small, pipeline.stages[level:], tuning)
        if large is not None:
            for found in refine(pipeline.stages[level], large, Purpose.LIST, tuning, last=last, drop=drop):
                yield from _stream(pipeline, level + 1, found, tuning)


class Collection:
    """One pipeline run to a sum."""

    def __init__(self, problem: Problem, tuning: Tuning, share: Share | None, *, partners: bool = False) -> None:
        self._problem = problem
        self._tuning = tuning
        self._threads = 1 if share is None else share.threads
        self._share = share
        self._pipeline = plan(problem, Purpose.COUNT, tuning, share)
        self._dense = bitmaps_pay(self._pipeline.stages, max(problem.s.size, problem.t.size), tuning, partners=partners)
        self._self_pairs = self_pairs(problem)
        self._itself = np.zeros(problem.s.size if self._pipeline.reflexive else 0, np.bool_)
        if self._pipeline.reflexive:
            self._itself[self._self_pairs[0]] = True

    def steps(self) -> Iterator[Step]:
        """How pairs are counted."""
        return bitmap_steps(self._pipeline.stages) if self._dense else self._pipeline.steps()

    def into(self, collector: Collector) -> None:
        """Adds all violating pairs to the collector."""
        announce(self._share, self)
        if self._dense:
            collector.take_self(*self._self_pairs)
            stages = self._pipeline.stages
            for dense in refine_bitmaps([clusters_of(s, self._problem, self._tuning, self._share) for s in stages]):
                collector.add_bitmaps(*dense)
            return
        if self._pipeline.reflexive == 0:
            collector.take_self(*self._self_pairs)
        root = all_pairs(self._problem)
        if self._threads == 1 or len(self._pipeline.stages) < 2:
            self._descend(root, 0, collector)
            return
        for part in carried(self._threads, self._pieces(root, collector), collector.fresh, self._apart):
            collector.merge(part)

    def _descend(self, batch: ClusterPairs, level: int, collector: Collector) -> None:
        if level == self._pipeline.reflexive > 0:
            self._settle(batch, collector)
        if level == len(self._pipeline.stages):
            collector.add(batch)
            return
        for part in batch.split(self._tuning.budget):
            self._refine(part, level, collector)

    def _settle(self, batch: ClusterPairs, collector: Collector) -> None:
        """Takes back the self-pairs of a reflexive batch of which no set is dropped any more."""
        ids = batch.members()
        itself = (ids if len(self._self_pairs[0]) == len(self._itself) else ids[self._itself[ids]]).astype(np.int64)
        collector.take_self(itself, itself)

    def _refine(self, part: ClusterPairs, level: int, collector: Collector) -> None:
        stage = self._pipeline.stages[level]
        if isinstance(collector, Total) and level + 1 == len(self._pipeline.stages) and stage.kind is not Kind.ORDER:
            if level + 1 == self._pipeline.reflexive:
                self._settle(part, collector)
            collector.total += count_last(stage, part)
            return
        if level >= self._pipeline.reflexive:  # before, self-pairs are still to be taken back
            left = self._pipeline.stages[level:]
            small, large = cut_small(part, left, self._tuning)
            if small is not None:
                collector.add_nested(gathered(small, left), part.sign)
            if large is None:
                return
            part = large
        if stage.algorithm is Algorithm.IEJOIN:
            collector.add_iejoin(iejoin_orders(stage, part), part.sign)
            return
        for found in self._found(part, level):
            self._descend(found, level + 1, collector)

    def _found(self, part: ClusterPairs, level: int) -> Iterator[ClusterPairs]:
        last, drop = level == len(self._pipeline.stages) - 1, level < self._pipeline.reflexive
        return refine(self._pipeline.stages[level], part, Purpose.COUNT, self._tuning, last=last, drop=drop)

    def _pieces(self, root: ClusterPairs, collector: Collector) -> Iterator[ClusterPairs]:
        """What the first stage finds, in parts for several threads, each with a sum of its own.

        FACET leaves parallelism within one rule open (section 7.3); parts of a batch are independent, so it is plain.
        """
        for part in root.split(self._tuning.budget):
            for found in self._found(part, 0):
                if self._pipeline.reflexive == 1:
                    self._settle(found, collector)
                share = max(1, min(self._tuning.budget, found.ids // (2 * self._threads)))
                yield from found.split(share)

    def _apart(self, collector: Collector, piece: ClusterPairs) -> Collector:
        self._refine(piece, 1, collector)
        return collector
