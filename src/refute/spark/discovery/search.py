"""Discovery of a Spark table: in this process where the rows are few, else where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from refute.discovery.options import Options, SearchMethod
from refute.discovery.result.discovery import CompleteDiscovery
from refute.discovery.result.kinds import RuleSort
from refute.discovery.search import search
from refute.discovery.table import LocalTable
from refute.discovery.tuning import STANDARD, Tuning
from refute.errors import OptionError
from refute.language.conditions import Condition, columns_of, compared_by
from refute.language.parsing.parser import parse_condition
from refute.plan.method import MethodName
from refute.relation import Family, Relation
from refute.spark.answer.fetching.gathering import Gathering, is_too_much
from refute.spark.answer.native.single import chosen_rows
from refute.spark.budget import SparkBudget
from refute.spark.discovery.table import SparkTable
from refute.spark.discovery.tuning import SPARK_STANDARD, SparkTuning
from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.session.jobs import stoppable
from refute.spark.session.warning import calm
from refute.spark.source.keeping import Kept, kept
from refute.spark.source.opening import open_source, session_of
from refute.spark.source.renaming import by_code_point, renamed_condition
from refute.spark.source.source import SparkSource
from refute.spark.source.types import empty_relation
from refute.spark.workers.worker import ROW_COLUMN

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
) -> CompleteDiscovery:
    """The rules of a path, catalog table or DataFrame; with `where`, of the rows that this condition selects.

    Up to `gather` bytes of rows are searched in this process; answers do not depend on it. With `persist` the columns
    that are looked at are kept on the executors from the first look at them; else where it pays.
    """
    session = session_of(table)
    with calm(), kept() as place:
        opened = stoppable(session, "discover", lambda: opened_rows(table, options, where, place if persist else None))
        source = opened.source
        with plain_failures(source.name):
            if options.columns is not None:
                options = replace(options, columns=tuple(dict.fromkeys(map(source.spelled, options.columns))))
            here = stoppable(session, "discover", lambda: fetched(opened, options, gather))
            if here is not None:
                return search(LocalTable(here), options, kinds, tuning=tuning)
            if options.method is SearchMethod.HYDRA:
                raise OptionError(
                    f"Method 'hydra' needs all rows in this process, and {source.name} is too large for that. "
                    "Use 'guided' or 'tiles'.",
                    option="method",
                    value="hydra",
                    table=source.name,
                )
            names = opened.readable(options)
            frame = source.frame if opened.chosen is None else opened.rows(source.frame, names)
            if not persist and (source.is_costly or opened.chosen is not None):
                frame = place.keep(frame.select(*map(quoted, names)))
            held = SparkTable(frame, place, options.columns, spark_tuning)
            return search(held, options, kinds, tuning=tuning)


def few_rows(source: SparkSource, most: int) -> Relation | None:
    """All rows of a table in this process, where they take at most so many bytes; else None."""
    return fetched(OpenedRows(source, source.frame.columns, None), Options(), most)


@dataclass(frozen=True)
class OpenedRows:
    """A table with the same rows each time, the names of its own columns, and the condition on rows to be searched."""

    source: SparkSource
    own: list[str]
    chosen: Condition | None

    def readable(self, options: Options) -> list[str]:
        """The columns that are searched."""
        if options.columns is None:
            return self.own
        return [name for name in self.source.frame.columns if name in options.columns] or self.own

    def rows(self, frame: DataFrame, names: Sequence[str]) -> DataFrame:
        """These columns of the chosen rows; where some are left out, texts are compared by their code points."""
        if self.chosen is None:
            return frame.select(*map(quoted, names))
        needed = frame.select(*map(quoted, dict.fromkeys([*names, *compared_by(self.chosen)])))
        plain = by_code_point(needed, needed.schema)
        return chosen_rows(plain, empty_relation(plain), self.chosen).select(*map(quoted, names))


def opened_rows(table: Any, options: Options, where: str | None, place: Kept | None) -> OpenedRows:
    """The table, of the columns that are looked at where these are known. With a place for it, it is kept there."""
    source = open_source(table)
    own = source.frame.columns
    chosen = None if where is None else _condition(source, where)
    wanted = set(options.columns or own)
    names = [name for name in own if name in wanted or not wanted <= set(own)]
    names += [name for name in (() if chosen is None else compared_by(chosen)) if name not in names]
    return OpenedRows(source.settled(names) if place is None else source.kept(place, names), own, chosen)


def _condition(source: SparkSource, where: str) -> Condition:
    """What `where` means for this table; raises an error where it does not fit."""
    own = source.frame.columns
    meant = {name: source.spelled(name) for name in columns_of(parse_condition(where))}
    known = [*own, *(name for name, spelled in meant.items() if name not in own and spelled in source.frame.columns)]
    written = parse_condition(where, known)
    meant |= {name: source.spelled(name) for name in compared_by(written)}
    condition = renamed_condition(written, meant)
    empty_relation(source.frame).condition_mask(condition)  # which says what cannot be compared
    return condition


def fetched(opened: OpenedRows, options: Options, most: int) -> Relation | None:
    """The rows of the columns to be looked at in this process, where they take at most so many bytes; where pairs of
    rows are reported, in the order of their positions. None where they are too many, also by Spark's own limits."""
    source, names = opened.source, opened.readable(options)
    types = empty_relation(source.frame)
    gathering = Gathering(source, types, SparkBudget(driver_bytes=most), MethodName.AUTO)
    measured = [name for name in names if types.type_of(name).family is not Family.UNSUPPORTED]
    if most <= 0 or not gathering.fits(measured, source.most_rows()):
        return None
    ordered = bool(options.almost) and source.has_identity
    frame = source.identified() if ordered else source.frame
    try:
        rows = opened.rows(frame, [*names, ROW_COLUMN] if ordered else names).toArrow()
    except (PySparkException, Py4JError) as error:
        if is_too_much(error):
            return None
        raise
    return Relation.of(rows.sort_by(ROW_COLUMN).drop_columns([ROW_COLUMN]) if ordered else rows)
