"""What tasks do with the rows that meet in them: the same looks at pairs as in one process, over fewer rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import Agreements
from refute.discovery.evidence.codebook import codebook
from refute.discovery.evidence.counted import Evidence, merged, packed_pairs, unpacked_pairs
from refute.discovery.evidence.sampling import pair_evidence
from refute.discovery.evidence.tiles import rectangle_evidence, triangle
from refute.discovery.guided.hunting import Witnesses
from refute.discovery.options import Options
from refute.discovery.pairs import Chosen
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.relation import Relation
from refute.spark.discovery.scatter import ALONE, FIRST, PART, SECOND, TASK
from refute.spark.workers.blocks import BLOCK, Batches, packed, tables_of, unpacked
from refute.spark.workers.worker import settle

COUNT, FIRST_PAIR = "count", "first"
NUMBER = "number"
FOUND = f"{NUMBER} int, {BLOCK} binary"
_NO_ROWS = np.empty(0, np.int64)


def seen_columns(space: PredicateSpace) -> list[str]:
    """The columns that hold the words of a point."""
    return [f"w{word}" for word in range(space.words)]


def seen_schema(space: PredicateSpace, *, keeps_pairs: bool = False) -> str:
    """The schema of evidence that tasks give, with or without pairs of rows."""
    names = (*seen_columns(space), COUNT, *[FIRST_PAIR] * keeps_pairs)
    return ", ".join(f"{name} bigint" for name in names)


def written(evidence: Evidence, *, keeps_pairs: bool = False) -> pa.RecordBatch:
    """Evidence as rows of a task."""
    points = evidence.points.view(np.int64)
    columns = {name: pa.array(points[:, word]) for word, name in enumerate(seen_columns(evidence.space))}
    columns[COUNT] = pa.array(evidence.counts)
    if keeps_pairs:
        columns[FIRST_PAIR] = pa.array(np.empty(0, np.int64) if evidence.firsts is None else evidence.firsts)
    return pa.record_batch(columns)


def read(space: PredicateSpace, table: pa.Table) -> Evidence:
    """The evidence in rows that tasks gave."""
    words = [table.column(name).to_numpy() for name in seen_columns(space)]
    points = np.ascontiguousarray(np.stack(words, axis=1).astype(np.int64, copy=False)).view(np.uint64)
    counts = table.column(COUNT).to_numpy().astype(np.int64, copy=False)
    firsts = table.column(FIRST_PAIR).to_numpy() if FIRST_PAIR in table.column_names else None
    return Evidence.of(space, points, counts, firsts)


def by_numbers(evidence: Evidence, table: pa.Table, numbers: str | None) -> Evidence:
    """Evidence whose pairs are positions in a table, with the numbers that the rows there have; without, no pairs."""
    if numbers is None or evidence.firsts is None:
        return replace(evidence, firsts=None)
    known = table.column(numbers).to_numpy()
    s, t = unpacked_pairs(evidence.firsts).T
    return replace(evidence, firsts=packed_pairs(known[s], known[t]))


@dataclass(frozen=True, slots=True)
class Meeting:
    """The rows that meet in a task: those of a bucket, or one or two parts of a large group, the first part first."""

    table: pa.Table
    split: int | None  # the rows of the first part where there are two

    @property
    def rectangles(self) -> Iterator[NDArray[np.int64]]:
        """All pairs that are this task's to look at."""
        size = self.table.num_rows
        if self.split is None:
            yield from triangle(size)
            return
        for start in range(0, self.split, 1024):
            yield np.array([[start, min(start + 1024, self.split), self.split, size]], np.int64)


def meetings(batches: Batches, buckets: int) -> Iterator[tuple[bool, Meeting]]:
    """The meetings of a Spark task, and whether each is that of a bucket."""
    settle()
    held: dict[int, dict[int, list[pa.Table]]] = {}
    for batch in batches:
        for task, part, cell in zip(batch[TASK].to_pylist(), batch[PART].to_pylist(), batch[BLOCK], strict=True):
            held.setdefault(task, {FIRST: [], SECOND: [], ALONE: []})[part].append(unpacked(cell))
    for task, parts in held.items():
        table = pa.concat_tables([*parts[FIRST], *parts[SECOND], *parts[ALONE]]).combine_chunks()
        split = None if parts[ALONE] else sum(part.num_rows for part in parts[FIRST])
        yield task < buckets, Meeting(table, split)


@dataclass(frozen=True)
class Look:
    """The task that looks at the pairs that meet and agree on the chosen slots."""

    space: PredicateSpace
    chosen: Chosen
    nulls: Nulls
    buckets: int
    numbers: str | None = None

    def __call__(self, batches: Batches) -> Batches:
        """The evidence."""
        keeps_pairs = self.numbers is not None
        budget = Budget(Options(threads=1))
        for is_bucket, meeting in meetings(batches, self.buckets):
            relation = Relation.of(meeting.table)
            book = codebook(relation, self.space, self.nulls, keeps_pairs=keeps_pairs)
            if is_bucket:
                agreements = Agreements(relation, book, self.nulls)
                found, _ = agreements.evidence(agreements.find(tuple(sorted(self.chosen))), budget)
            else:
                found, _ = rectangle_evidence(book, book.facts, meeting.rectangles, budget)
            yield written(by_numbers(found, meeting.table, self.numbers), keeps_pairs=keeps_pairs)


@dataclass(frozen=True)
class Rare:
    """The task that finds rows which agree with others in rare ways."""

    space: PredicateSpace
    chosen: Chosen
    nulls: Nulls
    buckets: int
    most: int

    def __call__(self, batches: Batches) -> Batches:
        """The rows of rare pairs, one block per bucket; the task number says nothing."""
        budget = Budget(Options(threads=1))
        for is_bucket, meeting in meetings(batches, self.buckets):
            if not is_bucket:
                continue
            relation = Relation.of(meeting.table)
            agreements = Agreements(relation, codebook(relation, self.space, self.nulls), self.nulls)
            pairs = agreements.rare_pairs(agreements.find(tuple(sorted(self.chosen))), self.most, budget)
            if len(pairs):
                yield answer(0, meeting.table.take(pa.array(pairs.ravel())))


@dataclass(frozen=True)
class Against:
    """The task that looks at all pairs of given rows with the rows of each block."""

    rows: bytes
    space: PredicateSpace
    nulls: Nulls
    numbers: str | None = None

    def __call__(self, batches: Batches) -> Batches:
        """The evidence, in which each given row has met itself once, unless rows have numbers."""
        rows = pa.ipc.open_stream(self.rows).read_all()
        keeps_pairs = self.numbers is not None
        budget = Budget(Options(threads=1))
        found = Evidence.empty(self.space)
        for table in tables_of(batches):
            meeting = Meeting(pa.concat_tables([rows, table]).combine_chunks(), rows.num_rows)
            book = codebook(Relation.of(meeting.table), self.space, self.nulls, keeps_pairs=keeps_pairs)
            own = _NO_ROWS if self.numbers is None else _own(rows, table, self.numbers)
            seen, _ = rectangle_evidence(book, book.facts, meeting.rectangles, budget, own)
            found = merged(self.space, [found, by_numbers(seen, meeting.table, self.numbers)])
        yield written(found, keeps_pairs=keeps_pairs)


def _own(rows: pa.Table, table: pa.Table, numbers: str) -> NDArray[np.int64]:
    """Where each of the rows stands in both tables, behind one another, if it is in the second; else -1."""
    known, asked = table.column(numbers).to_numpy(), rows.column(numbers).to_numpy()
    order = np.argsort(known)
    at = order[np.minimum(np.searchsorted(known, asked, sorter=order), len(known) - 1)]
    return np.concatenate([np.where(known[at] == asked, len(asked) + at, -1), np.full(len(known), -1)])


def without_selves(rows: pa.Table, evidence: Evidence, nulls: Nulls) -> Evidence:
    """The evidence less each row's meeting with itself: a row does not form a pair with itself."""
    doubled = pa.concat_tables([rows, rows]).combine_chunks()
    here = np.arange(rows.num_rows)
    book = codebook(Relation.of(doubled), evidence.space, nulls)
    selves = pair_evidence(book, here, here + rows.num_rows)
    return evidence - selves


@dataclass(frozen=True)
class SearchTask:
    """The task that searches the rows that meet for a pair inside each box."""

    space: PredicateSpace
    masks: NDArray[np.uint8]
    buckets: int

    def __call__(self, batches: Batches) -> Batches:
        """For each box with a pair among these rows, its number and the two rows."""
        for _, meeting in meetings(batches, self.buckets):
            witnesses = Witnesses(Relation.of(meeting.table), self.space)
            for number, masks in enumerate(self.masks):
                pair = witnesses.find(masks)
                if pair is not None:
                    yield answer(number, meeting.table.take(pa.array(pair)))


def answer(number: int, table: pa.Table) -> pa.RecordBatch:
    """A numbered block as a row of a task."""
    return pa.record_batch(
        {NUMBER: pa.array([number], pa.int32()), BLOCK: pa.array([packed(table.combine_chunks())], pa.binary())}
    )
