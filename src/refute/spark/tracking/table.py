"""A Spark table that a tracker keeps: in this process where its rows are few, else where they are."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from refute.discovery.options import Options
from refute.discovery.result.discovery import CompleteDiscovery
from refute.discovery.result.kinds import RuleSort
from refute.discovery.result.outcome import Outcome
from refute.discovery.search import search
from refute.discovery.space.slots import PredicateSpace
from refute.errors import OptionError
from refute.spark.discovery.search import GATHERED, few_rows
from refute.spark.discovery.table import SparkTable
from refute.spark.discovery.tuning import SPARK_STANDARD, SparkTuning
from refute.spark.session.failures import plain_failures
from refute.spark.session.jobs import stoppable
from refute.spark.session.warning import calm
from refute.spark.source.keeping import Kept, forgotten_at_exit
from refute.spark.source.opening import open_source, session_of
from refute.spark.source.source import SparkSource
from refute.spark.tracking.rows import SparkRows
from refute.spark.tracking.tasks import NUMBER
from refute.spark.tracking.tracking import SparkTracking
from refute.tracking.ways import Ways

_Found = TypeVar("_Found")


class TrackedTable:
    """Rows on Spark, and what is tracked of them; what is kept on the executors is let go with it."""

    def __init__(self, source: SparkSource, ways: Ways, tuning: SparkTuning) -> None:
        self._place, self._shown = Kept(), Kept()
        self._ways = ways
        self._tuning = tuning
        self.rows = SparkRows(source, ways.came)
        weakref.finalize(self, _released, self._place, self._shown)
        for holder in (self, self.rows):
            forgotten_at_exit(holder)

    def tracking(self, options: Options, space: PredicateSpace | None) -> SparkTracking:
        """What is tracked from now on, searched by tasks, in a given space or in the one that the columns ask for."""
        self._place.release()
        with calm(), plain_failures():
            return SparkTracking(
                self.rows, options, self._place, space=space, ways=self._ways, spark_tuning=self._tuning
            )

    def frame(self) -> DataFrame:
        """All rows of this moment."""
        return self.rows.now().drop(NUMBER)

    def discovery(
        self, options: Options, kinds: set[RuleSort] | None, space: PredicateSpace, outcome: Outcome
    ) -> CompleteDiscovery:
        """The rules of this moment, ranked, given what is tracked of them."""
        self._shown.release()
        with calm(), plain_failures():
            table = SparkTable(self.frame(), self._shown, options.columns, self._tuning)
            return search(table, options, kinds, space=space, outcome=outcome)


def opened(
    table: Any,
    key: Sequence[str],
    driver_bytes: int | None = None,
    ways: Ways | None = None,
    tuning: SparkTuning = SPARK_STANDARD,
) -> pa.Table | TrackedTable:
    """The rows of a DataFrame, where they take at most so many bytes in this process; else the table on Spark."""

    def run() -> pa.Table | TrackedTable:
        settled, here = _opened(table, key, driver_bytes)
        return TrackedTable(settled, ways or Ways(), tuning) if here is None else here

    return _run(table, key, run)


def gathered(table: Any, key: Sequence[str], driver_bytes: int | None = None) -> pa.Table:
    """The rows of a DataFrame for a tracker on disk; raises OptionError where they take more than so many bytes."""
    _, here = _run(table, key, lambda: _opened(table, key, driver_bytes))
    if here is None:
        most = GATHERED if driver_bytes is None else driver_bytes
        raise OptionError(
            f"The rows of a tracker on disk are in this process too, and this DataFrame takes more than {most:,} bytes "
            "there. Raise driver_bytes, or use Tracker(...) to leave them on Spark.",
            option="driver_bytes",
            value=most,
        )
    return here


def _opened(table: Any, key: Sequence[str], driver_bytes: int | None) -> tuple[SparkSource, pa.Table | None]:
    """A table that is the same each time, and its rows where they take at most so many bytes in this process."""
    source = open_source(table, key=key)
    settled = source.settled(source.frame.columns)
    here = few_rows(settled, GATHERED if driver_bytes is None else driver_bytes)
    return settled, None if here is None else here.arrow


def _run(table: Any, key: Sequence[str], job: Callable[[], _Found]) -> _Found:
    """What a job on a DataFrame gives, which ends when this process is interrupted."""
    if not key:
        raise OptionError(
            "The rows of a Spark table have no order, so they cannot be numbered. Give key=.", option="key"
        )
    session = session_of(table)
    with calm(), plain_failures("the DataFrame"):
        return stoppable(session, "track", job)


def fetched(table: Any) -> pa.Table:
    """The rows of a DataFrame that a change consists of, evaluated once."""
    with calm(), plain_failures("the DataFrame"):
        return stoppable(session_of(table), "track", table.toArrow)


def _released(*places: Kept) -> None:
    for place in places:
        place.release()
