"""Discovery of a Spark table: in this process where the rows are few, else where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from refute.discovery.options import Options, SearchMethod
from refute.discovery.result.discovery import Discovery
from refute.discovery.result.kinds import RuleSort
from refute.discovery.search import search
from refute.discovery.table import LocalTable
from refute.discovery.tuning import STANDARD, Tuning
from refute.errors import OptionError
from refute.plan.method import MethodName
from refute.relation import Family, Relation
from refute.spark.answer.gathering import Gathering, is_too_much
from refute.spark.budget import SparkBudget
from refute.spark.discovery.table import SparkTable
from refute.spark.discovery.tuning import SPARK_STANDARD, SparkTuning
from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.session.jobs import stoppable
from refute.spark.session.warning import calm
from refute.spark.source.keeping import Kept, kept
from refute.spark.source.opening import open_source, session_of
from refute.spark.source.source import SparkSource
from refute.spark.source.types import empty_relation
from refute.spark.worker import ROW_COLUMN

GATHERED = 256 << 20  # bytes of the needed columns up to which rows come to this process


def discover_on_spark(
    table: Any,
    options: Options,
    kinds: set[RuleSort] | None = None,
    *,
    where: str | None = None,
    gather: int = GATHERED,
    persist: bool = False,
    tuning: Tuning = STANDARD,
    spark_tuning: SparkTuning = SPARK_STANDARD,
) -> Discovery:
    """The rules of a path, catalog table or DataFrame; with `where`, of the rows for which this SQL is true.

    Up to `gather` bytes of rows are searched in this process; answers do not depend on it. With `persist` the columns
    that are looked at are kept on the executors from the first look at them; else where it pays.
    """
    session = session_of(table)
    with calm(), kept() as place:
        source = stoppable(session, "discover", lambda: _opened(table, options, where, place if persist else None))
        with plain_failures(source.name):
            if options.columns is not None:
                options = replace(options, columns=tuple(dict.fromkeys(map(source.spelled, options.columns))))
            here = stoppable(session, "discover", lambda: rows_here(source, options, where, gather))
            if here is not None:
                return search(LocalTable(here), options, kinds, tuning=tuning)
            if options.method is SearchMethod.HYDRA:
                raise OptionError(
                    f"method 'hydra' needs all rows in this process, and {source.name} is too large for that; "
                    "use 'guided' or 'tiles'",
                    option="method",
                    value="hydra",
                    table=source.name,
                )
            frame = source.frame if where is None else source.frame.where(where)
            if not persist and (source.is_costly or where is not None):
                frame = place.keep(frame.select(*map(quoted, _readable(source, options))))
            held = SparkTable(frame, place, options.columns, spark_tuning)
            return search(held, options, kinds, tuning=tuning)


def _opened(table: Any, options: Options, where: str | None, place: Kept | None) -> SparkSource:
    """The table with the same rows each time: those columns that are looked at, or all where SQL may read them. With a
    place for it, it is kept there."""
    source = open_source(table)
    wanted = set(options.columns or ())
    narrow = where is None and wanted <= set(source.frame.columns)
    names = _readable(source, options) if narrow else source.frame.columns
    return source.settled(names) if place is None else source.kept(place, names)


def _readable(source: SparkSource, options: Options) -> list[str]:
    names = [name for name in source.frame.columns if options.columns is None or name in options.columns]
    return names or source.frame.columns


def rows_here(source: SparkSource, options: Options, where: str | None, most: int) -> Relation | None:
    """The rows of the columns to be looked at in this process, where they take at most so many bytes; where pairs of
    rows are reported, in the order of their positions. None where they are too many, also by Spark's own limits."""
    types, names = empty_relation(source.frame), _readable(source, options)
    gathering = Gathering(source, types, SparkBudget(driver_bytes=most), MethodName.AUTO)
    measured = [name for name in names if types.type_of(name).family is not Family.UNSUPPORTED]
    if most <= 0 or not gathering.fits(measured, source.most_rows()):
        return None
    ordered = bool(options.almost) and source.has_identity
    frame = source.identified() if ordered else source.frame
    chosen = (frame if where is None else frame.where(where)).select(*map(quoted, names), *[ROW_COLUMN] * ordered)
    try:
        rows = chosen.toArrow()
    except (PySparkException, Py4JError) as error:
        if is_too_much(error):
            return None
        raise
    return Relation.of(rows.sort_by(ROW_COLUMN).drop_columns([ROW_COLUMN]) if ordered else rows)
