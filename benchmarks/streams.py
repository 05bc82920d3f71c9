"""Tables whose rows come and go: rules and columns as the indices of monitors take them, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.tables import read
from refute.language.parsing.parser import parse
from refute.language.predicate import Column, Predicate, Row
from refute.live.indexes.index import Batch, Compared, Index, Longs, Watched

STEP = 1000  # rows that come or go in one measured call
ROUNDS = 24  # calls for which a stream has rows
FILL = 5000  # rows of the batches that come before the clock starts
EVERYTHING = 1 << 60  # a limit that lists every pair

Counts = tuple[int, ...]


class Stream:
    """The rows of a table in their order, under rules."""

    def __init__(self, path: Path, texts: Sequence[str], rows: int) -> None:
        predicates = [parse(text).predicates for text in texts]
        names = sorted({side.name for rule in predicates for one in rule for side in _columns(one)})
        table = read(path).select(names).slice(0, rows)
        self.rows = table.num_rows
        self._keys = tuple(_keys(table.column(name)) for name in names)
        place = {name: number for number, name in enumerate(names)}
        self.rules = tuple(
            Watched(text, tuple(_compared(one, place) for one in rule))
            for text, rule in zip(texts, predicates, strict=True)
        )

    def batch(self, start: int, end: int) -> Batch:
        """Rows by their numbers."""
        assert end <= self.rows, f"{self.rows:,} rows are too few: measure fewer rounds"
        keys = tuple(column[start:end] for column in self._keys)
        return Batch(np.arange(start, end), keys, ((None, None),) * len(self.rules))

    def filled(self, index: Index, rows: int, limit: int = EVERYTHING) -> Index:
        """An index after the first rows came."""
        for start in range(0, rows, FILL):
            index.insert(self.batch(start, min(start + FILL, rows)), [limit] * len(self.rules))
        return index

    def inserts(self, index: Index, kept: int, batch: int = STEP) -> Callable[[], Counts]:
        """A call that lets the next rows come, in batches of this size; how many pairs appear, by rule."""
        limits, starts = [EVERYTHING] * len(self.rules), iter(range(kept, self.rows + STEP, STEP))

        def call() -> Counts:
            first = next(starts)
            batches = (self.batch(start, start + batch) for start in range(first, first + STEP, batch))
            found = [[one.count for one in index.insert(rows, limits)] for rows in batches]
            return tuple(map(sum, zip(*found, strict=True)))

        return call

    def deletes(self, index: Index) -> Callable[[], Counts]:
        """A call that lets the oldest rows go; how many pairs vanish, by rule."""
        limits, starts = [EVERYTHING] * len(self.rules), iter(range(0, self.rows, STEP))

        def call() -> Counts:
            first = next(starts)
            return tuple(one.count for one in index.delete(self.batch(first, first + STEP), limits))

        return call


def _columns(predicate: Predicate) -> tuple[Column, Column]:
    left, right = predicate.left, predicate.right
    assert isinstance(right, Column), "these rules compare two rows"
    return (left, right) if left.row is Row.S else (right, left)


def _compared(predicate: Predicate, place: dict[str, int]) -> Compared:
    s, t = _columns(predicate)
    op = predicate.op if predicate.left.row is Row.S else predicate.op.mirrored
    return Compared(op, place[s.name], place[t.name])


def _keys(column: pa.ChunkedArray) -> Longs:
    """Integers that compare as the values do, in all columns of integers alike."""
    values = column.to_numpy()
    if values.dtype.kind != "i":
        values = np.unique(values, return_inverse=True)[1]
    return np.asarray(values, np.int64)
