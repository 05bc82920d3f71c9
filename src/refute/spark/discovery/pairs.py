"""The pairs of a Spark table: tasks look at them, and only distinct evidence comes to the driver."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.evidence.codebook import codebook
from refute.discovery.evidence.counted import Evidence
from refute.discovery.evidence.sampling import pair_evidence, prefix_evidence
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options
from refute.discovery.pairs import Chosen, Costs, Hunt, Masks, Pairs
from refute.discovery.result.rank import state_shares
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.errors import OptionError
from refute.relation import Relation
from refute.spark.discovery.agreeing import keys_of
from refute.spark.discovery.asking import KeptBlocks
from refute.spark.discovery.blocks import Packing
from refute.spark.discovery.coding import Coding, coding_of
from refute.spark.discovery.looking import (
    FOUND,
    NUMBER,
    Against,
    Look,
    Rare,
    SearchTask,
    by_numbers,
    seen_schema,
    without_selves,
)
from refute.spark.discovery.projections import Project, SearchProjections, column_sets
from refute.spark.discovery.scatter import Large, Scatter
from refute.spark.source.keeping import Kept
from refute.spark.workers.blocks import PACKED, packed

if TYPE_CHECKING:
    from refute.spark.discovery.table import SparkTable


def pairs_of(
    table: SparkTable,
    space: PredicateSpace,
    options: Options,
    place: Kept,
    tuning: Tuning = STANDARD,
) -> Pairs:
    """The pairs of a Spark table in a space."""
    if not space.slots:
        return LocalPairs(Relation.of(pa.table({"nothing": pa.array([0, 0])})), space, options)
    return SparkPairs(coding_of(table, space), space, table, options, place, tuning)


class SparkPairs:
    """The pairs of coded rows, kept as blocks; some rows are here, to judge by what is worth a job.

    Where the table numbers its rows, evidence has a pair of these numbers for each of its points.
    """

    def __init__(
        self,
        coding: Coding,
        space: PredicateSpace,
        table: SparkTable,
        options: Options,
        place: Kept,
        tuning: Tuning,
    ) -> None:
        self.space = space
        self.n_rows = n_rows = table.n_rows
        self._coded = coding.space
        self._nulls = options.nulls
        self._sizes = sizes = table.tuning
        self._numbers = table.numbers
        self._keeps_pairs = keeps_pairs = table.numbers is not None
        self._tuning = tuning
        self._cores = table.cores
        blocks = coding.frame.mapInArrow(Packing(coding.names, coding.dictionaries, sizes.block_rows), PACKED)
        if n_rows > 4 * sizes.block_rows:
            blocks = blocks.repartition(max(2 * self._cores, n_rows // (8 * sizes.block_rows)))
        self._blocks = KeptBlocks(place.keep(blocks), self._coded, keeps_pairs=keeps_pairs)
        share = min(1.0, sizes.sample_rows / max(1, n_rows))
        tables = self._blocks.drawn(share, options.seed)
        rows = pa.concat_tables(tables).combine_chunks() if tables else pa.table({n: pa.nulls(0) for n in coding.names})
        self._here = rows
        self._near = LocalPairs(Relation.of(rows), self._coded, options, tuning, keeps_pairs=keeps_pairs)
        each = (cost / self._cores for cost in (sizes.row_cost, sizes.pair_cost, sizes.witness_cost))
        self.costs = Costs(sizes.job_cost, *each)
        self._peeled: set[bytes] = set()
        self._settled: dict[Chosen, Evidence] = {}

    def everything(self, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs, counted, and whether all of them were looked at."""
        parts = max(1, -(-self.n_rows // self._sizes.part_rows))
        while parts * (parts + 1) // 2 < 3 * self._cores and parts * self._sizes.block_rows // 16 < self.n_rows:
            parts += 1
        return self._look(frozenset(), 0, (Large(0, parts, 0),), budget)

    def some(self, budget: Budget) -> Evidence:
        """The evidence of some rows against each other."""
        return self._nearby(self._near.some(budget))

    def drawn(self, slot: int) -> Evidence:
        """The evidence of rows with a partner that agrees on the slot, from the rows that are here."""
        return self._nearby(self._near.drawn(slot))

    def random(self, pairs: int) -> Evidence:
        """The evidence of random pairs of the rows that are here."""
        return self._nearby(self._near.random(pairs))

    def agree(self, chosen: Chosen) -> float:
        """How many pairs agree on the slots, estimated from the rows that are here."""
        found = self._near.agreements.find(tuple(sorted(chosen)))
        return float(found.pairs * (self.n_rows / max(1, self._here.num_rows)) ** 2)

    def shares_nearby(self, slot: Slot) -> list[float]:
        """The share of pairs of the rows that are here in each state of a slot."""
        return state_shares(self._near.relation, self._coded.slots[self.space.slots.index(slot)])

    def agreeing(self, chosen: Chosen, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs that agree on the slots, and whether all of them were looked at."""
        found, complete = self._look(chosen, *self._tasks(chosen), budget)
        if complete and self._keeps_pairs:
            self._settled[chosen] = found
        return found, complete

    def seen_evidence(self, chosen: Chosen) -> Evidence:
        """The evidence of all pairs that agree on the slots, which were all looked at, where rows have numbers."""
        return self._settled[chosen]

    def against(self, rows: pa.Table, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs that hold one of these coded rows, and whether all of them were looked at."""
        rows = rows.combine_chunks()
        found = self._met(rows, budget)
        if found is None:
            return Evidence.empty(self.space), False
        book = codebook(Relation.of(rows), self._coded, self._nulls)
        twice, finished = prefix_evidence(book, np.arange(rows.num_rows), budget)
        return self._true(found - twice), finished

    def peeled(self, done: list[Chosen], budget: Budget) -> tuple[Evidence, ...]:
        """The evidence of all pairs of rows that agree with others in rare ways on one of the sets of slots."""
        found: list[pa.Table] = []
        for chosen in done:
            buckets, large = self._tasks(chosen)
            rare = Rare(self._coded, chosen, self._nulls, buckets, max(8, self._tuning.rare_pairs // buckets))
            answers = self._blocks.sent(Scatter(self._coded, chosen, self._nulls, buckets, large)).mapInArrow(
                rare, FOUND
            )
            found.extend(rows for _, rows in self._blocks.collected(answers, budget) or ())
        if not found:
            return ()
        counted = pa.concat_tables(found).group_by(found[0].column_names).aggregate([([], "count_all")])
        most = int(min(self._tuning.peeled, self._tuning.peeled_pairs // max(1, self.n_rows)))
        often = counted.sort_by([("count_all", "descending")]).slice(0, most)
        return self._against_all(often.select(found[0].column_names), budget)

    def hunt(self, masks: Masks, budget: Budget) -> Hunt:
        """Searches all rows for a pair inside each of the boxes; the rows that are here first, since they are near."""
        nearby = self._near.hunt(masks, budget)
        if nearby.evidence or not nearby.complete:
            return Hunt((), tuple(self._nearby(one) for one in nearby.evidence), nearby.complete)
        sets, boxes = column_sets(self._coded, masks)
        projected = self._blocks.frame.mapInArrow(Project(sets, self._sizes.points), FOUND)
        search = SearchProjections(sets, boxes, masks, self._coded, self._sizes.points)
        answers = projected.repartitionById(len(sets), F.col(NUMBER)).mapInArrow(search, FOUND)
        found = self._blocks.collected(answers, budget)
        if found is None:
            return Hunt((), (), complete=False)
        broken = {number: values for number, values in found if number >= 0}
        unsettled = {-1 - number for number, _ in found if number < 0}
        rows = self._blocks.looked_up(list(broken.values()), budget)
        searched = self._searched(masks, sorted(unsettled), budget)
        if rows is None or searched is None:
            return Hunt((), (), complete=False)
        held = tuple(number for number in range(len(masks)) if number not in broken and number not in searched)
        pairs = [*rows, *searched.values()]
        if not pairs:
            return Hunt(held, (), complete=True)
        together = pa.concat_tables(pairs).combine_chunks()
        book = codebook(Relation.of(together), self._coded, self._nulls, keeps_pairs=self._keeps_pairs)
        first = np.arange(0, together.num_rows, 2)
        evidence = self._true(by_numbers(pair_evidence(book, first, first + 1), together, self._numbers))
        return Hunt(held, (evidence, *self._against_all(together, budget)), complete=True)

    def here(self) -> tuple[Relation, PredicateSpace]:
        """The coded table in this process; raises OptionError where it is too large."""
        if self.n_rows > self._sizes.here_rows:
            raise OptionError(
                f"This needs all rows in this process, and a table of {self.n_rows:,} rows is too large for that. "
                "Use measure='g1' or method='guided', or select fewer rows.",
                count=self.n_rows,
            )
        return Relation.of(pa.concat_tables(self._blocks.drawn(1.0, 0)).combine_chunks()), self._coded

    def _tasks(self, chosen: Chosen) -> tuple[int, tuple[Large, ...]]:
        """How many buckets there are, and which groups are too large for one."""
        scale = self.n_rows / max(1, self._here.num_rows)
        buckets = max(4 * self._cores, -(-self.n_rows // self._sizes.bucket_rows))
        buckets = max(buckets, min(4096, int(self.agree(chosen) / self._sizes.bucket_pairs)))
        keys = keys_of(self._here, self._coded, chosen, self._nulls)
        known, counts = np.unique(np.concatenate([keys.s[keys.s_known], keys.t[keys.t_known]]), return_counts=True)
        large: list[Large] = []
        first = buckets
        for key, count in zip(known, counts, strict=True):
            rows = count * scale / 2
            if rows > 2 * self._sizes.part_rows:
                large.append(Large(int(key), int(-(-rows // self._sizes.part_rows)), first))
                first += large[-1].tasks
        return buckets, tuple(large)

    def _look(self, chosen: Chosen, buckets: int, large: tuple[Large, ...], budget: Budget) -> tuple[Evidence, bool]:
        scatter = Scatter(self._coded, chosen, self._nulls, buckets, large)
        look = Look(self._coded, chosen, self._nulls, buckets, self._numbers)
        found = self._blocks.seen(self._blocks.sent(scatter).mapInArrow(look, self._seen_schema), budget)
        return (Evidence.empty(self.space), False) if found is None else (self._true(found), True)

    def _searched(self, masks: Masks, numbers: list[int], budget: Budget) -> dict[int, pa.Table] | None:
        """The rows of a witness for each of the numbered boxes that has one, from tasks where the rows meet."""
        equal = equal_masks(self._coded)
        groups: dict[Chosen, list[int]] = {}
        for number in numbers:
            chosen = frozenset(np.flatnonzero((masks[number] & ~equal) == 0).tolist())
            groups.setdefault(chosen, []).append(number)
        witnesses: dict[int, pa.Table] = {}
        for chosen, boxes in groups.items():
            large: tuple[Large, ...]
            if chosen:
                buckets, large = self._tasks(chosen)
            else:
                buckets, large = 0, (Large(0, max(1, -(-self.n_rows // self._sizes.bucket_rows)), 0),)
            search = SearchTask(self._coded, masks[boxes], buckets)
            sent = self._blocks.sent(Scatter(self._coded, chosen, self._nulls, buckets, large))
            found = self._blocks.collected(sent.mapInArrow(search, FOUND), budget)
            if found is None:
                return None
            witnesses |= {boxes[number]: rows for number, rows in found}
        return witnesses

    def _against_all(self, rows: pa.Table, budget: Budget) -> tuple[Evidence, ...]:
        """The evidence of the given rows against all rows, except those looked at before; none if it is too much."""
        fresh = [row for row in _single_rows(rows) if packed(row) not in self._peeled]
        known = len(self._peeled) + len(fresh)
        if not fresh or known * self.n_rows > self._tuning.peeled_pairs:
            return ()
        self._peeled.update(packed(row) for row in fresh)
        found = self._met(pa.concat_tables(fresh).combine_chunks(), budget)
        return () if found is None else (self._true(found),)

    def _met(self, rows: pa.Table, budget: Budget) -> Evidence | None:
        """The evidence of each given row against all others, pairs of two given rows twice; None if time was up."""
        task = Against(packed(rows), self._coded, self._nulls, self._numbers)
        found = self._blocks.seen(self._blocks.frame.mapInArrow(task, self._seen_schema), budget)
        return found if found is None or self._keeps_pairs else without_selves(rows, found, self._nulls)

    @property
    def _seen_schema(self) -> str:
        return seen_schema(self.space, keeps_pairs=self._keeps_pairs)

    def _nearby(self, evidence: Evidence) -> Evidence:
        """The evidence of rows that are here, whose pairs are their positions."""
        return self._true(by_numbers(evidence, self._here, self._numbers))

    def _true(self, evidence: Evidence) -> Evidence:
        """The evidence as that of the space itself; points do not depend on what stands for a text."""
        return Evidence(self.space, evidence.points, evidence.counts, evidence.firsts)


def _single_rows(rows: pa.Table) -> Iterable[pa.Table]:
    """The distinct rows, each as a table."""
    distinct = rows.group_by(rows.column_names).aggregate([]).combine_chunks()
    return (distinct.slice(place, 1).combine_chunks() for place in range(distinct.num_rows))
