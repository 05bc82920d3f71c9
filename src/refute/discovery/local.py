"""The pairs of a table in this process."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import Agreement, Agreements
from refute.discovery.evidence.codebook import codebook
from refute.discovery.evidence.counted import Evidence, merged
from refute.discovery.evidence.sampling import pair_evidence, prefix_evidence, row_evidence
from refute.discovery.evidence.tiles import ClueTally, evidence_in_time, tile_evidence
from refute.discovery.guided.reduction import Among, Reduction
from refute.discovery.options import Options
from refute.discovery.pairs import Chosen, Costs, Hunt, Masks
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, Crew
from refute.relation import Relation

if TYPE_CHECKING:
    from refute.discovery.guided.hunting import Witnesses


Rows = NDArray[np.int64]


class LocalPairs:
    """The pairs of a relation in a space."""

    def __init__(
        self,
        relation: Relation,
        space: PredicateSpace,
        options: Options,
        tuning: Tuning = STANDARD,
        *,
        keeps_pairs: bool = False,
    ) -> None:
        """With `keeps_pairs`, evidence has a pair of rows for each of its points."""
        self.relation = relation
        self.space = space
        self.book = codebook(relation, space, options.nulls, keeps_pairs=keeps_pairs)
        self.n_rows = relation.n_rows
        self._tuning = tuning
        self._seed = options.seed
        threads = Budget(options).threads
        self.costs = Costs(0.0, tuning.row_cost, tuning.pair_cost / threads, tuning.witness_cost / threads)
        self.agreements = Agreements(relation, self.book, options.nulls)
        self._reduction = Reduction(relation, space, tuning)
        self._random = np.random.default_rng(options.seed)
        self._gauge = self._sample(tuning.gauge)
        self._peeled: set[int] = set()
        self._tallies: dict[Chosen, list[ClueTally]] = {}  # of the sets of slots whose pairs were all looked at

    def everything(self, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs, counted, and whether all of them were looked at."""
        return tile_evidence(self.book, budget, self.n_rows)

    def some(self, budget: Budget) -> Evidence:
        """The evidence of some rows against each other."""
        return prefix_evidence(self.book, self._sample(self._tuning.prefix), budget)[0]

    def drawn(self, slot: int) -> Evidence:
        """The evidence of rows with a random partner that agrees on the slot, and of neighbours in its order."""
        found = self.agreements.find((slot,), self._sample(self._tuning.drawn))
        s_start, s_stop, t_start, t_stop = found.ranges.T
        sizes = s_stop - s_start
        s = np.repeat(s_start - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
        t = np.repeat(t_start, sizes) + self._random.integers(0, np.repeat(t_stop - t_start, sizes))
        rows = found.s_rows
        parts = [pair_evidence(self.book, found.s_rows[s], found.t_rows[t])]
        parts.extend(pair_evidence(self.book, rows[:-step], rows[step:]) for step in (1, 7))
        return merged(self.space, parts)

    def random(self, pairs: int) -> Evidence:
        """The evidence of about so many random pairs, the same ones in every run."""
        if self.n_rows < 2:
            return Evidence.empty(self.space)
        s, t = np.random.default_rng(self._seed).integers(0, self.n_rows, (2, pairs))
        return pair_evidence(self.book, s, t)

    def agree(self, chosen: Chosen) -> float:
        """How many pairs agree on the slots, estimated from some rows."""
        scale = (self.n_rows / max(1, len(self._gauge))) ** 2
        return self.agreements.find(tuple(sorted(chosen)), self._gauge).pairs * scale

    def agreeing(self, chosen: Chosen, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs that agree on the slots, and whether all of them were looked at."""
        found = self.agreements.find(tuple(sorted(chosen)))
        tallies, complete = self.agreements.tallied(found, budget)
        if complete:
            self._tallies[chosen] = tallies
        sides = found.s_rows, found.t_rows
        return evidence_in_time(self.book, tallies, budget, sides, complete=complete)

    def seen_clues(self, chosen: Chosen) -> list[ClueTally]:
        """The tallies of all pairs that agree on the slots, which were all looked at."""
        return self._tallies[chosen]

    def against(self, rows: Rows, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs that hold one of the numbered rows, and whether all of them were looked at."""
        distinct = np.unique(rows)
        found, complete = row_evidence(self.book, distinct, self.n_rows, budget)
        twice, finished = prefix_evidence(self.book, distinct, budget)
        if not (complete and finished):
            return found, False
        return replace(found - twice, firsts=found.firsts), True  # all points are left: no pair was seen three times

    @property
    def discerning(self) -> Chosen:
        """The slots that tell most rows apart."""
        return self._reduction.discerning

    def reduced(self, chosen: Chosen, read: Chosen) -> tuple[Among, Agreement]:
        """The rules with these equalities that read only these of the discerning slots, and the pairs to see."""
        among = self._reduction.among(chosen, read)
        return among, self.agreements.find(tuple(sorted(chosen)), self._reduction.rows(among))

    def seen(self, pairs: Agreement, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of the pairs, and whether all of them were looked at."""
        return self.agreements.evidence(pairs, budget)

    def peeled(self, done: list[Chosen], budget: Budget) -> tuple[Evidence, ...]:
        """The evidence of all pairs of rows that agree with others in rare ways on one of the sets of slots."""
        pairs = [
            self.agreements.rare_pairs(
                self.agreements.find(tuple(sorted(one))), self._tuning.rare_pairs, budget, self._tallies.get(one, ())
            )
            for one in done
            if not budget.expired
        ]
        rows, times = np.unique(np.concatenate([np.empty((0, 2), np.int64), *pairs]), return_counts=True)
        most = int(min(self._tuning.peeled, self._tuning.peeled_pairs // max(1, self.n_rows)))
        return self._against_all(rows[np.argsort(-times, kind="stable")[:most]], budget)

    def hunt(self, masks: Masks, budget: Budget) -> Hunt:
        """Searches all rows for a pair inside each of the boxes; all pairs of the rows found become evidence too."""
        results: dict[int, tuple[int, int] | None] = {}
        witnesses = self._witnesses

        def search(_: None, number: int) -> None:
            results[number] = witnesses.find(masks[number])

        _, complete = Crew(budget, lambda: None, search).run(range(len(masks)))
        held = tuple(number for number, pair in results.items() if pair is None)
        broken = [pair for pair in results.values() if pair is not None]
        if not broken:
            return Hunt(held, (), complete)
        pairs = np.array(broken, np.int64)
        found = pair_evidence(self.book, pairs[:, 0], pairs[:, 1])
        return Hunt(held, (found, *self._against_all(pairs.ravel(), budget)), complete)

    @cached_property
    def _witnesses(self) -> Witnesses:
        from refute.discovery.guided.hunting import (
            Witnesses,  # with all that detection is made of; small tables need none
        )

        return Witnesses(self.relation, self.space, self._reduction, self._tuning)

    def here(self) -> tuple[Relation, PredicateSpace]:
        """The table, and the space over its columns."""
        return self.relation, self.space

    def _against_all(self, rows: Rows, budget: Budget) -> tuple[Evidence, ...]:
        """The evidence of the given rows against all rows, except those looked at before; none if it is too much."""
        fresh = np.array(sorted({int(row) for row in rows} - self._peeled), np.int64)
        if not len(fresh) or (len(self._peeled) + len(fresh)) * self.n_rows > self._tuning.peeled_pairs:
            return ()
        self._peeled.update(fresh.tolist())
        return (row_evidence(self.book, fresh, self.n_rows, budget)[0],)

    def _sample(self, size: int) -> Rows:
        """Some rows, ascending; all of them if they are few."""
        if self.n_rows <= size:
            return np.arange(self.n_rows)
        return np.sort(self._random.choice(self.n_rows, size, replace=False))
