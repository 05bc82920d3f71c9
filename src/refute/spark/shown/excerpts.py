"""Some rows of a Spark table around a clash: one job, of which a few hundred rows come here whatever the table's size.

They are chosen by the hash of their ids, or of their values, so the same are shown however the table is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.engine import ClashingRow
from refute.detect.shown.excerpts import Excerpt
from refute.language.arithmetic import formula_of
from refute.language.predicate import Row
from refute.relation.shown import shown_values, told_rows
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.answer.rule import SparkRule
    from refute.spark.engine import SparkEngine

_WANTED = RESERVED + "wanted"


def excerpt_of(
    engine: SparkEngine, prepared: SparkRule, clash: Sequence[ClashingRow], rows: int, most: int
) -> Excerpt | None:
    """At most `most` clashes among about `rows` rows; None where these cannot be asked for."""
    rule = prepared.rule
    rows = int(min(rows, engine.budget.sample_bytes / max(engine.gathering.row_bytes(rule.columns), 1))) + 1
    if rule.constraint.is_single_row:
        return _breaking(engine, prepared, min(rows, most)) if engine.identifies else None
    pair = _typed(engine, prepared, clash)
    if pair is None:
        return None
    found = _group(engine, prepared, pair).orderBy(*_shuffled(engine, prepared)).limit(rows).toArrow()
    sample = found.select(range(len(rule.columns))).rename_columns(list(rule.columns)).cast(pair.schema)
    if engine.identifies:
        ids, own = shown_values(found.column(ROW_COLUMN)), [row.row_id for row in clash]
        known = set(map(repr, own))
        others = [place for place, one in enumerate(ids) if repr(one) not in known]
        told = [*own, *(ids[place] for place in others)]
    else:
        both, told = told_rows(pair), None
        others = [place for place, row in enumerate(told_rows(sample)) if row not in both]
    return Excerpt.around(rule, pa.concat_tables([pair, sample.take(others)]), told, most)


def _breaking(engine: SparkEngine, prepared: SparkRule, most: int) -> Excerpt:
    """The first rows that break a rule about one row."""
    names = prepared.rule.constraint.columns
    broken = prepared.bound.rows.violating(identified=True).orderBy(ROW_COLUMN).limit(most)
    found = broken.select(*(engine.names[name] for name in names), ROW_COLUMN).toArrow()
    ids, values = shown_values(found.column(ROW_COLUMN)), told_rows(found.drop_columns([ROW_COLUMN]))
    told = ({name: row[engine.names[name]] for name in names} for row in values)
    return Excerpt(tuple((ClashingRow("s", one, row),) for one, row in zip(ids, told, strict=True)))


def _typed(engine: SparkEngine, prepared: SparkRule, clash: Sequence[ClashingRow]) -> pa.Table | None:
    """The rows of the clash as a table; None where Python does not hold some value of them as it is."""
    names = prepared.rule.columns
    try:
        columns = [
            pa.array([row.values[name] for row in clash], engine.types.type_of(name).arrow_type) for name in names
        ]
    except (pa.ArrowException, TypeError, ValueError, OverflowError, KeyError):
        return None
    return pa.table(columns, names=list(names)) if len(clash) == 2 else None


def _group(engine: SparkEngine, prepared: SparkRule, pair: pa.Table) -> DataFrame:
    """The rows that agree with the clash on what the rule asks to be equal, and may stand on one of its sides: the
    columns that the rule reads under their plain names, and ids."""
    pairing, rule = prepared.bound.pairing, prepared.rule
    assert pairing is not None
    frame = prepared.bound.rows.frame
    sides = [pairing.filters(row) for row in Row]
    exact = [one for one in sides if one is not None]
    if len(exact) == len(sides):
        frame = frame.where(reduce(SparkColumn.__or__, exact))
    rows = frame.select(*(engine.names[name] for name in rule.columns), *_ids(engine))
    equal = [one.left.name for one in pairing.equal if not one.is_cross_column and formula_of(one.left.name) is None]
    if not equal:
        return rows
    originals = {plain: name for name, plain in engine.names.items()}
    seed = pa.table({_WANTED + name: pair.column(originals[name]).slice(0, 1) for name in equal})
    wanted = frame_of(seed, rows.sparkSession)
    same = [F.col(name).eqNullSafe(F.col(_WANTED + name)) for name in equal]
    return rows.join(F.broadcast(wanted), reduce(SparkColumn.__and__, same)).drop(*wanted.columns)


def _shuffled(engine: SparkEngine, prepared: SparkRule) -> list[SparkColumn]:
    """What puts rows into an order that has nothing to do with their values, nor with where they are."""
    by = [F.col(name) for name in _ids(engine) or [engine.names[name] for name in prepared.rule.columns]]
    return [F.xxhash64(*by), *by]


def _ids(engine: SparkEngine) -> list[str]:
    return [ROW_COLUMN] if engine.identifies else []
