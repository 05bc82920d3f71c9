"""What a picture of a broken rule shows of a Spark table: few rows, whatever its size."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from refute.detect.scenes import MOST_VALUES, Scene, TalliedGroup, TalliedValue, ValueTally, tallied_columns
from refute.detect.scenes import tally_of as local_tally
from refute.language.form import Form
from refute.language.predicate import Row
from refute.relation.shown import shown, shown_row
from refute.spark.expressions import quoted
from refute.spark.source.frames import frame_of
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine
    from refute.spark.rule import SparkRule

_WANTED, _GROUP, _PLACE = (RESERVED + name for name in ("wanted", "group", "place"))


def tally_of(engine: SparkEngine, prepared: SparkRule, limit: int) -> ValueTally | None:
    """The tally: from the rows that are here, else by counts of groups, of which the largest few come here."""
    rule, bound = prepared.rule, prepared.bound
    columns = tallied_columns(Form.of(rule))
    if columns is None:
        return None
    here = engine.gathering.here(bound.columns)
    if here is not None:
        ids = here.relation.arrow.column(ROW_COLUMN) if here.relation.has(ROW_COLUMN) else None
        return local_tally(here.relation, rule, limit, lambda row: None if ids is None else shown(ids[row]))
    pairing = bound.pairing
    if pairing is None or not bound.counts_groups:
        return None
    left, right = columns
    sides = [pairing.operands(one) for one in (*pairing.equal, *pairing.differ)]
    keys = [side[0].alias(f"k{at}") for at, side in enumerate(sides) if side is not None] or [F.lit(0).alias("k0")]
    names = [engine.names[name] for name in (*left, *right)]
    values = [F.first(F.col(name)).alias(f"v{at}") for at, name in enumerate(names)]
    first = [F.min(ROW_COLUMN).alias("first")] if engine.source.has_identity else []
    admitted = pairing.side(bound.rows.frame, Row.S)
    counted = admitted.groupBy(*keys).agg(F.count(F.lit(1)).alias("n"), *values, *first)
    return _largest(counted, left, right, limit)


def _largest(counted: DataFrame, left: tuple[str, ...], right: tuple[str, ...], limit: int) -> ValueTally:
    """The tally of counts of distinct values: `k0`, ... compare, `v0`, ... show, `n` are their rows."""
    owners = [f"k{at}" for at in range(len(left))]
    rows, square = F.sum("n").alias("rows"), F.sum(F.col("n").cast("double") * F.col("n")).alias("square")
    groups = counted.groupBy(*owners).agg(rows, square, F.count(F.lit(1)).alias("distinct"))
    broken = groups.where("distinct > 1" if right else "rows > 1")
    order = F.col("rows").cast("double") * F.col("rows") - (F.col("square") if right else F.lit(0))
    n_groups = broken.count()
    chosen = broken.orderBy(order.desc(), *owners).limit(limit).withColumn(_GROUP, F.monotonically_increasing_id())
    wanted = chosen.toDF(*(_WANTED + name for name in owners), "rows", "square", "distinct", _GROUP)
    same = [F.col(name).eqNullSafe(F.col(_WANTED + name)) for name in owners]
    joined = counted.join(F.broadcast(wanted), reduce(SparkColumn.__and__, same, F.lit(True)))
    by_size = Window.partitionBy(_GROUP).orderBy(F.col("n").desc(), *counted.columns[len(owners) : len(owners) + 1])
    named = joined.withColumn(_PLACE, F.row_number().over(by_size)).where(F.col(_PLACE) <= MOST_VALUES)
    table = named.orderBy(order.desc(), *owners, _PLACE).toArrow()
    found: dict[int, list[dict[str, Any]]] = {}
    for at in range(table.num_rows):
        row = shown_row(table, at)
        found.setdefault(row[_GROUP], []).append(row)
    told = []
    for lines in found.values():
        key = tuple(lines[0][f"v{at}"] for at in range(len(left)))
        said = (tuple(line[f"v{len(left) + at}"] for at in range(len(right))) for line in lines)
        values = tuple(TalliedValue(one, line["n"], line.get("first")) for one, line in zip(said, lines, strict=True))
        told.append(TalliedGroup(key, values, lines[0]["distinct"], lines[0]["rows"]))
    return ValueTally(left, right, tuple(told), n_groups)


def scene_of(engine: SparkEngine, prepared: SparkRule, clash: pa.Table, limit: int) -> Scene:
    """The scene of a clash, whose values are `s_city`, `t_city` and so on; others of its group are looked up."""
    names = prepared.rule.constraint.columns
    sides = [side for side in ("s", "t") if side in clash.column_names]
    pair = tuple({name: shown(clash.column(f"{side}_{name}")[0]) for name in names} for side in sides)
    group = tuple(one.left.name for one in Form.of(prepared.rule).equal if not one.is_cross_column)
    rows = engine.source.frame.select(*(F.col(quoted(name)) for name in names))
    if group:
        seed = pa.table({f"{_WANTED}{at}": clash.column(f"s_{name}") for at, name in enumerate(group)})
        wanted = frame_of(seed, engine.source.frame.sparkSession)
        same = [F.col(quoted(name)).eqNullSafe(F.col(f"{_WANTED}{at}")) for at, name in enumerate(group)]
        rows = rows.join(F.broadcast(wanted), reduce(SparkColumn.__and__, same)).drop(*wanted.columns)
    table = rows.limit(limit + len(pair)).toArrow()
    others = [shown_row(table, at) for at in range(table.num_rows)]
    return Scene(pair, tuple(one for one in others if one not in pair)[:limit], group)
