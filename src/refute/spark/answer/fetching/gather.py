"""The rows come to this process, and its kernels answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from refute.detect.local import LocalEngine
from refute.spark.answer.native.ways import Filter
from refute.spark.answer.way import Distribute, Extent, Way
from refute.spark.answer.witness import Clash, Totals
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import ROW_COLUMN

Numbers = NDArray[np.int64]
_SENT_BACK = 1_000_000  # rows or violations; to send back more costs more than to let tasks find them


class TooMuchError(Exception):
    """Spark refused to send the rows; from then on nothing is gathered any more."""


class Gather(Way):
    """The rows come once for all questions about their columns, as long as there is room for them."""

    name = "gather"
    steps = ("fetch the columns into this process", "answer with the in-process kernels")
    worst = "one scan, then as in process"

    def suits(self, rows: int) -> bool:
        """Whether the rows take few enough bytes."""
        return self._bound.comes_here(rows)

    @property
    def is_quick(self) -> bool:
        """Whether they take so few that a look at some of them would save nothing."""
        return self._bound.comes_here(self._bound.most_rows, below=self._bound.engine.budget.counted_bytes)

    def count(self) -> int:
        """The exact number of violations."""
        with self._rows(identified=False) as local:
            return local.count(self._bound.rule)

    def clash(self, *, counted: bool) -> Clash | None:
        """The rows of some violation, or None where the rule holds."""
        return self.extent(counts=False).clash

    def extent(self, *, counts: bool) -> Extent:
        """How far the rule is violated; without `counts` only whether it is."""
        rows = self._bound.rows
        with self._rows(identified=True) as local:
            (timed,) = local.measure([self._bound.rule], counts=counts)
            found = timed.finding
            rows.learn(Totals(local.n_rows, found.skipped_nulls))
            clash = None if found.witness is None else rows.named(local, found.witness)
            return Extent(found.violations, found.rows, found.skipped_nulls, clash)

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        with self._rows(identified=True) as local:
            counts = local.partners(self._bound.rule)
            broken = np.flatnonzero(counts.in_violation)
            if len(broken) <= _SENT_BACK:
                return self._named(local, {ROW_COLUMN: broken}, as_s=counts.as_s[broken], as_t=counts.as_t[broken])
        return self._elsewhere.partners()

    def pairs(self, limit: int | None) -> DataFrame:
        """The violations by row id, in columns `s` and `t`; only `s` for a rule about one row."""
        rule = self._bound.rule
        with self._rows(identified=True) as local:
            if (limit is not None and limit <= _SENT_BACK) or local.count(rule) <= _SENT_BACK:
                found = local.clashes(rule, limit).table()
                return self._named(local, {side: found.column(side).to_numpy() for side in found.column_names})
        return self._elsewhere.pairs(limit)

    @property
    def _elsewhere(self) -> Way:
        """The way to find what is too much to be sent back."""
        return Filter(self._bound) if self._bound.pairing is None else Distribute(self._bound)

    @contextmanager
    def _rows(self, *, identified: bool) -> Iterator[LocalEngine]:
        bound = self._bound
        with bound.engine.gathering.rows(bound.columns, identified=identified) as local:
            if local is None:
                raise TooMuchError
            yield local

    def _named(self, local: LocalEngine, rows: dict[str, Numbers], **beside: Numbers) -> DataFrame:
        """A DataFrame of ids, for rows of what was gathered, and of numbers beside them."""
        ids = local.relation.arrow.column(ROW_COLUMN)
        named = {name: ids.take(pa.array(places, pa.int64())) for name, places in rows.items()}
        return frame_of(pa.table(named | beside), self._bound.engine.source.frame.sparkSession)
