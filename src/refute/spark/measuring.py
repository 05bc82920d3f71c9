"""Findings for many rules about one Spark table: fetched, shuffled and looked up together wherever that can be."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from refute.detect.results import Timed
from refute.errors import RefuteError, SchemaError
from refute.language.rulebook import Rule
from refute.relation.shown import shown_values
from refute.spark.expressions import all_of, literal, quoted
from refute.spark.failures import plain_failures
from refute.spark.rule import SparkRule
from refute.spark.schema import bind, sendable_columns
from refute.spark.sharing import SharedShuffle, shared_key
from refute.spark.spread import distinct_rows
from refute.spark.strategy import Strategy
from refute.spark.summary import LEAST_REPEATS, MOST_SHARED, DistinctRows
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_RULES_AT_ONCE = 4
_WANTED = RESERVED + "wanted"


def measure(
    engine: SparkEngine, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None
) -> list[Timed]:
    """A finding for each rule, in order. Jobs of several rules run side by side."""
    check_fit(engine, rules)
    prepared = [engine.prepared(rule) for rule in rules]
    together = tuple(dict.fromkeys(name for one in prepared for name in one.columns))
    # One fetch for all rules, where it may be; else each rule fetches what it reads, or nothing.
    engine.gathering.whole(engine.gathering.worthwhile(together), identified=True)
    counted = _count_values_together(engine, prepared) if counts else []  # verifying looks at the first rows first
    units: dict[Hashable, list[SparkRule]] = {}
    for one in prepared:
        key = shared_key(one.pairing) if counts else None
        if key is not None:
            units.setdefault(key, []).append(one)
    with ThreadPoolExecutor(_RULES_AT_ONCE) as pool:
        # What is shared is begun first, so that no thread waits for what none has begun.
        for values in counted:
            pool.submit(_read, engine, values)
        shares = {key: pool.submit(_shared, engine, unit) for key, unit in units.items()}
        unit_of = {one: shares[key] for key, unit in units.items() for one in unit}
        jobs = [pool.submit(_timed, engine, one, counts, progress, unit_of.get(one)) for one in prepared]
        return with_values(engine, [job.result() for job in jobs])


def _timed(
    engine: SparkEngine,
    prepared: SparkRule,
    counts: bool,
    progress: Callable[[Rule], None] | None,
    share: Future[float] | None,
) -> Timed:
    shared = 0.0 if share is None else share.result()
    started = time.perf_counter()
    with plain_failures(engine.source.name):
        finding, values = prepared.measure(counts)
    if progress is not None:
        progress(prepared.rule)
    own = time.perf_counter() - started
    return Timed(finding, values, own + (shared if prepared.shared_extent is not None else 0.0))


def _count_values_together(engine: SparkEngine, rules: Sequence[SparkRule]) -> list[DistinctRows]:
    """Give rules the same counts of values where they read few distinct ones, all of them taken together."""
    able = [one for one in rules if one.may_share_values]
    if len(able) < 2:
        return []
    sample = engine.gathering.glimpse(tuple(dict.fromkeys(name for one in able for name in one.columns)))
    most = min(MOST_SHARED, engine.source.most_rows() / LEAST_REPEATS)
    units: list[tuple[tuple[str, ...], list[SparkRule]]] = []
    for one in able:
        for i, (names, unit) in enumerate(units):
            both = tuple(dict.fromkeys((*names, *one.columns)))
            if distinct_rows(sample.select(list(both))) <= most:
                units[i] = both, [*unit, one]
                break
        else:
            if distinct_rows(sample.select(list(one.columns))) <= most:
                units.append((one.columns, [one]))
    counted = []
    for names, unit in units:
        if len(unit) > 1:
            values = DistinctRows(tuple(engine.names[name] for name in names), engine.plain_types, engine.plain)
            counted.append(values)
            for one in unit:
                one.shared_values = values
    return counted


def _read(engine: SparkEngine, values: DistinctRows) -> None:
    """Count the values; a failure comes to the rules that ask for them."""
    with contextlib.suppress(RefuteError), plain_failures(engine.source.name):
        _ = values.table


def _shared(engine: SparkEngine, rules: list[SparkRule]) -> float:
    """Answer those of these rules that go through one shuffle; gives the seconds that each of them took."""
    started = time.perf_counter()
    with plain_failures(engine.source.name):
        distributed = [one for one in rules if one.strategy is Strategy.DISTRIBUTE]
        pairings = [one.pairing for one in distributed if one.pairing is not None]
        if not pairings:
            return 0.0
        rows = engine.source.most_rows()
        shuffle = SharedShuffle(pairings, engine.plain, rows=rows, tasks=engine.tasks, method=engine.method)
        for one, extent in zip(distributed, shuffle.extents() or (), strict=False):
            one.shared_extent = extent
    return (time.perf_counter() - started) / len(pairings)


def check_fit(engine: SparkEngine, rules: Sequence[Rule]) -> None:
    """Raise one SchemaError for all rules that do not fit the table, before any of them is run."""
    problems: list[str] = []
    for rule in rules:
        try:
            bind(engine.types, rule)
        except SchemaError as error:
            problems.append(str(error))
    if problems:
        raise SchemaError("\n".join(problems))


def with_values(engine: SparkEngine, measured: list[Timed]) -> list[Timed]:
    """The findings with the values of all witness rows that are not known yet: one job for all of them."""
    unknown = [one.finding.witness for one in measured if one.finding.witness is not None and one.values is None]
    known = values_of(engine, [row_id for witness in unknown for row_id in witness if row_id is not None])
    found = []
    for one in measured:
        if one.finding.witness is not None and one.values is None:
            roles = zip(("s", "t"), one.finding.witness, strict=True)
            one = replace(one, values={role: known.get(_hashable(row_id)) for role, row_id in roles})
        found.append(one)
    return found


def values_of(engine: SparkEngine, row_ids: Sequence[Any]) -> dict[Hashable, dict[str, Any]]:
    """All values of the rows with these ids, by id; ids that are values already stand for themselves.

    Values that Python has no type for come as texts.
    """
    if not engine.source.has_identity:
        return {_hashable(row_id): row_id for row_id in row_ids if isinstance(row_id, dict)}
    if not row_ids:
        return {}
    frame = engine.source.identified()
    wanted = [_is(frame.schema[ROW_COLUMN].dataType, row_id) for row_id in row_ids]
    number = F.coalesce(*(F.when(one, i) for i, one in enumerate(wanted)))
    known = set(sendable_columns(engine.source.frame))
    shown = [
        quoted(name) if name in known else f"cast({quoted(name)} as string) as {quoted(name)}"
        for name in engine.columns
    ]
    chosen = frame.where(reduce(or_, wanted)).withColumn(_WANTED, number).selectExpr(*shown, _WANTED)
    rows = chosen.limit(len(row_ids)).toArrow()
    columns = {name: shown_values(rows.column(name)) for name in engine.columns}
    return {
        _hashable(row_ids[wanted]): {name: values[place] for name, values in columns.items()}
        for place, wanted in enumerate(rows.column(_WANTED).to_pylist())
    }


def _is(kind: DataType, row_id: Any) -> Any:
    """Whether the id of a row is this one."""
    row = F.col(ROW_COLUMN)
    if not isinstance(row_id, dict):
        return row == literal(row_id, kind.simpleString())
    assert isinstance(kind, StructType)
    parts = [(row.getField(name), literal(value, kind[name].dataType.simpleString())) for name, value in row_id.items()]
    return all_of([part == value for part, value in parts])


def _hashable(row_id: Any) -> Hashable:
    return tuple(sorted(row_id.items())) if isinstance(row_id, dict) else row_id
