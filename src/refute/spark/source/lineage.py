"""What a DataFrame is made of, as Spark's plans show: whether it is a plain scan of files, and whether its rows are the
same each time it is evaluated.

A plan is read by EXPLAIN, the only public way on classic sessions and Connect alike that leaves the standard output
alone. What cannot be read for certain counts as unknown: no position, and rows that may be others next time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.workers.worker import RESERVED

_AT_ONCE = 20  # columns a plan is asked for: beyond 25 Spark leaves some out of its texts

_SCAN = re.compile(r"Relation .*\] (parquet|csv|json|orc|text|avro)")
_ONE_TO_ONE = re.compile(r"(Project \[.*\]|SubqueryAlias \S+)")
_OWN_VIEW = re.compile(r"View \(`_pyspark_\w+`, .*\)")
_INDEX = re.compile(r"\bLocation: (\w+)(?:\((\d+) paths?\))?")
# Those of other formats, such as Delta's, may hide rows of the files they name.
_OWN_INDEXES = frozenset({"InMemoryFileIndex", "CatalogFileIndex", "PrunedInMemoryFileIndex", "MetadataLogFileIndex"})

_HEADER = re.compile(r"^== (.+) ==$", re.MULTILINE)
_CUT_SHORT = re.compile(r"\.\.\. -?\d+ more (fields|characters)")

# Operators whose rows, in whatever order, depend on their input alone; expressions are looked at beside them.
_LEAVES = frozenset({"Relation", "RelationV2", "HiveTableRelation", "LogicalRDD", "LocalRelation", "OneRowRelation"})
_PHYSICAL_LEAVES = frozenset({"FileScan", "BatchScan", "LocalTableScan", "InMemoryTableScan", "Scan"})
_OPERATORS = re.compile(
    r"Aggregate|CTERelation(Def|Ref)|Distinct|EmptyRelation|Except|Expand|Filter|Generate|InMemoryRelation|Intersect"
    r"|Join|Project|Range|RebalancePartitions|Repartition|RepartitionByExpression|Sort|SubqueryAlias|Union|View|WithCTE"
)
_PHYSICAL = re.compile(  # what a cached table was made by
    r"AQEShuffleRead|AdaptiveSparkPlan|BroadcastExchange|Broadcast(HashJoin|NestedLoopJoin|QueryStage)|CartesianProduct"
    r"|Coalesce|ColumnarToRow|(Reused)?Exchange|(Hash|ObjectHash|Sort)Aggregate|(Result|Shuffle|TableCache)QueryStage"
    r"|ShuffledHashJoin|SortMergeJoin"
)
_HELD = frozenset({"InMemoryRelation", "LocalRelation", "OneRowRelation"})
_CHOOSING = frozenset({"Project", "Filter"})
_GROUPING = frozenset({"Aggregate", "Distinct", "HashAggregate", "ObjectHashAggregate", "SortAggregate"})
_CUTTING = frozenset({"GlobalLimit", "LocalLimit", "Limit", "Offset", "Tail", "Sample"})

# Functions whose value depends on chance, on where or in which order rows are met, or on how floats are rounded.
_UNSTEADY = re.compile(
    r"(?:^|[^a-z0-9])(?:"
    r"aes_?encrypt|rand|randn|random|randstr|uniform|uuid|shuffle|monotonically_increasing_id|spark_partition_id"
    r"|input_file_block_\w+|reflect|java_method|try_reflect"
    r"|first|first_value|last|last_value|any_value|nth_value|max_by|min_by|mode"
    r"|collect_\w+|array_agg|listagg|string_agg|vector_\w+|measure"
    r"|sum|try_sum|avg|try_avg|mean|product|std|stddev\w*|variance|var_\w+|covar\w*|corr|skewness|kurtosis|regr_\w+"
    r"|approx\w*|percentile\w*|median|histogram_\w+|hll_\w+|theta_\w+|tuple_\w+|kll_\w+|count_min_sketch|bloom_\w+"
    r"|bitmap_\w+|\w*sketch\w*|schema_of_\w+_agg|ai_\w+"
    r")\s*\(|file_block_(?:start|length)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(?:current_\w+|now|curdate|localtime\w*|unix_timestamp|sysdate|getdate)\s*\(", re.IGNORECASE)
_ATTRIBUTE = r"(?:(?! AS )[^\[\],#()])+#\d+L?"
_RENAMED = rf"{_ATTRIBUTE}(?: AS {_ATTRIBUTE})?"
_COLUMNS_ONLY = re.compile(rf"Project \[{_RENAMED}(?:, {_RENAMED})*\]|Union\b.*|Repartition \d+, \w+")


@dataclass(frozen=True)
class Lineage:
    """Spark's plans of some columns of a DataFrame, as texts."""

    analyzed: str
    optimized: str
    physical: str

    @classmethod
    def of(cls, text: str) -> Lineage:
        """The plans in the text of EXPLAIN EXTENDED; none of them where it is unclear which is which."""
        parts = _HEADER.split(text)
        names, plans = parts[1::2], parts[2::2]
        wanted = ("Analyzed Logical Plan", "Optimized Logical Plan", "Physical Plan")
        if any(names.count(name) != 1 for name in wanted):  # as where a column is named like a headline
            return cls("", "", "")
        return cls(*(plans[names.index(name)].strip("\n") for name in wanted))

    @cached_property
    def scanned(self) -> str | None:
        """The format of the files that are read row by row, with nothing but renaming or computing of columns in
        between; None for everything else, whose rows have no place of their own.

        None also for files whose rows another format than Spark's own may hide, as Delta does with deleted rows.
        """
        lines = _operators(self.analyzed)[1:]  # after the names and types of columns
        scan = _SCAN.fullmatch(lines[-1]) if lines else None
        views = [line for line in lines if _OWN_VIEW.fullmatch(line)]
        between = [line for line in lines[:-1] if line not in views]
        if scan is None or len(views) > 1 or not all(map(_ONE_TO_ONE.fullmatch, between)):
            return None
        indexes = {name for name, _ in _INDEX.findall(self.physical)}
        return scan.group(1) if indexes and indexes <= _OWN_INDEXES else None

    @cached_property
    def names_one_path(self) -> bool:
        """Whether a single path is read: of several, two may be the same."""
        return [paths for _, paths in _INDEX.findall(self.physical)] == ["1"]

    @cached_property
    def is_held(self) -> bool:
        """Whether the rows are in memory, or kept by Spark, with nothing but columns and rows chosen since."""
        names = map(_name, _operators(self.optimized))
        return next((name for name in names if name not in _CHOOSING), "") in _HELD

    @cached_property
    def is_repeatable(self) -> bool:
        """Whether every evaluation gives the same rows, in whatever order, as far as the plans show."""
        lines = _operators(self.optimized)
        if not lines or _CUTTING & set(map(_name, _operators(self.analyzed))):
            return False
        inner = [line for line in lines if _name(line) not in _LEAVES | _PHYSICAL_LEAVES]
        known = (_OPERATORS.fullmatch(_name(line)) or _PHYSICAL.fullmatch(_name(line)) for line in inner)
        if not all(found or _HEADER.fullmatch(line) for found, line in zip(known, inner, strict=True)):
            return False
        if any(_CUT_SHORT.search(line) for line in inner) or any(map(_UNSTEADY.search, lines)):
            return False
        if _GROUPING & set(map(_name, lines)) and " collate " in self.analyzed:  # any of the equal texts is kept
            return False
        # The optimizer replaces the time of day by what it is now: only where nothing but columns is left is it absent.
        return not self._may_read_clock or all(map(_COLUMNS_ONLY.fullmatch, inner))

    @property
    def _may_read_clock(self) -> bool:
        """Whether the time of day is read for some column, or may be, where the text leaves some out."""
        lines = [line for line in _operators(self.analyzed)[1:] if _name(line) not in _LEAVES]
        return any(_CLOCK.search(line) or _CUT_SHORT.search(line) for line in lines)


def lineages_of(frame: DataFrame, columns: Sequence[str]) -> Iterator[Lineage]:
    """The plans of these columns, of 20 of them at a time, made as they are asked for: each costs about as much as a
    job over a few rows."""
    for start in range(0, len(columns), _AT_ONCE):
        yield _lineage(frame, columns[start : start + _AT_ONCE])


def _lineage(frame: DataFrame, columns: Sequence[str]) -> Lineage:
    # EXPLAIN takes a view, and who drops a view drops what is cached of its plan: so it is a plan that nobody else has.
    mark = f"{RESERVED}{uuid4().hex}"
    chosen = frame.select(*(F.col(quoted(name)) for name in columns), F.lit(0).alias(mark))
    asked = f"EXPLAIN EXTENDED SELECT * EXCEPT ({mark}) FROM {{chosen}}"
    with plain_failures():
        return Lineage.of(str(frame.sparkSession.sql(asked, chosen=chosen).collect()[0][0]))


def scanned_format(frame: DataFrame) -> tuple[str | None, bool]:
    """The format of the files that a DataFrame reads row by row, None where its rows have no place of their own; and
    whether it reads a single path."""
    first = next(lineages_of(frame, frame.columns), None)
    return (None, False) if first is None else (first.scanned, first.names_one_path)


def is_repeatable(frame: DataFrame, columns: Sequence[str]) -> bool:
    """Whether every evaluation of these columns gives the same rows, in whatever order, as far as Spark can tell.

    Unknown to Spark are inputs that change by themselves, such as tables of a database that is written to.
    """
    return all(lineage.is_repeatable for lineage in lineages_of(frame, columns))


def settled(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The frame where it is repeatable; else these columns of it, evaluated once and for all.

    The rows then stay on the executors until the DataFrame is garbage-collected. Where an executor is lost, jobs fail:
    rows that were made again might be others.
    """
    return frame if is_repeatable(frame, columns) else materialised(frame, columns)


def materialised(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """These columns of a frame, evaluated once and for all."""
    with plain_failures():
        return frame.select(*(F.col(quoted(name)) for name in columns)).localCheckpoint(eager=True)


def _operators(plan: str) -> list[str]:
    """The lines of a plan without the drawing of its tree, and without marks of generated code."""
    lines = (re.sub(r"^[\s:]*(?:\+?- )?(?:\*\(\d+\) )?", "", line).rstrip() for line in plan.splitlines())
    return [line for line in lines if line]


def _name(line: str) -> str:
    found = re.match(r"'?[A-Za-z0-9]+", line)
    return found.group() if found else ""
