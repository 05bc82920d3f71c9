"""What runs in Spark's Python workers: the in-process kernels over the rows of one task.

Functions made here are shipped to workers by name, so a worker compiles nothing that is cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum

import numpy as np
import pyarrow as pa

from refute.detect.detector import Detector
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.relation import Relation

Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]
ROW_COLUMN = "__row"  # the id of a row, when ids are shipped
RESERVED = "__refute_"  # how columns begin that Refute adds to those of the user
WITNESS_COLUMNS = ("s", "t")


class Question(Enum):
    """What a task answers about its rows."""

    COUNT = "count"
    EXISTS = "exists"
    PARTNERS = "partners"
    PAIRS = "pairs"


def task(question: Question, rule: Rule, method: MethodName, limit: int | None = None) -> Task:
    """The function for `mapInArrow` that answers the question for the rows of each task."""

    def run(batches: Batches) -> Batches:
        table = _gathered(batches)
        if table is not None:
            yield from _ANSWERS[question](table, rule, method, limit)

    return run


def extents_task(rules: Sequence[Rule], method: MethodName) -> Task:
    """The function for `mapInArrow` that tells how far each rule is violated by the rows of each task."""

    def run(batches: Batches) -> Batches:
        table = _gathered(batches)
        if table is None:
            return
        detector = _detector(table, method)
        found = [detector.measure(rule) for rule in rules]
        yield pa.record_batch(
            {
                "rule": pa.array(range(len(rules)), pa.int32()),
                "violations": pa.array([str(one.violations) for one in found]),
                "rows": pa.array([one.rows for one in found], pa.int64()),
                "skipped": pa.array([one.skipped_nulls for one in found], pa.int64()),
                "task_rows": pa.array([table.num_rows] * len(rules), pa.int64()),
            }
        )

    return run


def _gathered(batches: Batches) -> pa.Table | None:
    kept = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(kept) if kept else None


def _detector(table: pa.Table, method: MethodName) -> Detector:
    return Detector(Relation.of(table), method=method)


def _count(table: pa.Table, rule: Rule, method: MethodName, limit: int | None) -> Batches:
    """One row: the number of violations as text (it may exceed 64 bits) and the rows of the task."""
    found = _detector(table, method).count(rule)
    yield pa.record_batch({"violations": pa.array([str(found)]), "task_rows": pa.array([table.num_rows], pa.int64())})


def _exists(table: pa.Table, rule: Rule, method: MethodName, limit: int | None) -> Batches:
    """The ids of one violating pair, or nothing."""
    witness = _detector(table, method).verify(rule).witness
    if witness is not None:
        ids = table.column(ROW_COLUMN).combine_chunks()
        yield pa.record_batch([ids.take(pa.array([row])) for row in witness], names=list(WITNESS_COLUMNS))


def _partners(table: pa.Table, rule: Rule, method: MethodName, limit: int | None) -> Batches:
    """The rows with some partner, with their number of partners in each role."""
    counts = _detector(table, method).partners(rule)
    found = np.flatnonzero(counts.in_violation)
    kept = table.select([ROW_COLUMN]).take(pa.array(found))
    kept = kept.append_column("as_s", pa.array(counts.as_s[found])).append_column("as_t", pa.array(counts.as_t[found]))
    yield from kept.combine_chunks().to_batches()


def _pairs(table: pa.Table, rule: Rule, method: MethodName, limit: int | None) -> Batches:
    """The ids of the violating pairs, in bounded batches."""
    ids = table.column(ROW_COLUMN).combine_chunks()
    for s_rows, t_rows in _detector(table, method).pairs(rule, limit):
        assert t_rows is not None
        yield pa.record_batch([ids.take(pa.array(s_rows)), ids.take(pa.array(t_rows))], names=list(WITNESS_COLUMNS))


_ANSWERS = {
    Question.COUNT: _count,
    Question.EXISTS: _exists,
    Question.PARTNERS: _partners,
    Question.PAIRS: _pairs,
}
