"""How many rows are to blame for one rule, of a table that stays where it is; as none is named, rows need no ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.shapes import BlameShape
from refute.spark.source.renaming import renamed
from refute.spark.workers.worker import RESERVED

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_ROWS, _MOST, _VALUE = (RESERVED + name for name in ("rows", "most", "value"))


def fewest_here(engine: SparkEngine, rule: Rule) -> int | None:
    """The rows to blame for a rule, of a table whose columns come to this process; None where they do not fit."""
    engine.prepared(rule)  # which raises where something is wrong with it
    names = rule.read
    if not engine.gathering.fits(names, engine.gathering.most_rows(names)):
        return None
    with engine.gathering.rows(names, identified=False) as here:
        return None if here is None else here.blamed(rule)


def fewest_of_groups(engine: SparkEngine, rule: Rule) -> int | None:
    """The rows to blame for a key or a dependency, by Spark's own aggregates: in each group all rows may stay that have
    its most common value, and of rows with one key one. None for other rules."""
    shape = BlameShape.of(renamed(rule, engine.names))
    if not (shape.is_dependency or (shape.is_key and not shape.form.order)):
        return None
    pairing = Pairing.of(shape.rule, engine.plain_types)
    if pairing.filters(Row.S) is None:
        return None
    keys = [own.alias(f"{RESERVED}key_{place}") for place, own in enumerate(shape.keys(pairing))]
    names = [f"{RESERVED}key_{place}" for place in range(len(keys))]
    value = shape.value(pairing)
    rows = pairing.side(engine.plain, Row.S).select(*keys, *([] if value is None else [value.alias(_VALUE)]))
    if value is None:
        groups = rows.groupBy(*names).agg(F.count("*").alias(_ROWS), F.lit(1).alias(_MOST))
    else:
        counts = rows.groupBy(*names, _VALUE).agg(F.count("*").alias(_ROWS))
        groups = counts.groupBy(*names).agg(F.max(_ROWS).alias(_MOST), F.sum(_ROWS).alias(_ROWS))
    ((blamed,),) = groups.agg(F.sum(F.col(_ROWS) - F.col(_MOST))).collect()
    return blamed or 0
