"""The values in the groups of a broken dependency or key of a Spark table: a few lines, whatever its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from refute.detect.shown.scenes import MOST_VALUES, TalliedGroup, TalliedValue, ValueTally, tallied_columns
from refute.detect.shown.scenes import tally_of as local_tally
from refute.language.form import Form
from refute.language.predicate import Row
from refute.relation.shown import shown, told_rows
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.answer.rule import SparkRule
    from refute.spark.engine import SparkEngine

_ROWS, _SQUARE, _DISTINCT, _PLACE = (RESERVED + name for name in ("rows", "square", "distinct", "place"))


def tally_of(engine: SparkEngine, prepared: SparkRule, limit: int, *, counts: bool) -> ValueTally | None:
    """The tally: from the rows that are here, else by counts of groups, of which the largest few come here, by one job;
    with `counts`, another counts all groups."""
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
    values = [F.min(F.col(name)).alias(f"v{at}") for at, name in enumerate(names)]
    ends = [F.min(ROW_COLUMN).alias("first"), F.max(ROW_COLUMN).alias("last")] if engine.identifies else []
    admitted = pairing.side(bound.rows.frame, Row.S)
    counted = admitted.groupBy(*keys).agg(F.count(F.lit(1)).alias("n"), *values, *ends)
    return _largest(counted, left, right, limit, counts=counts)


def _largest(
    counted: DataFrame, left: tuple[str, ...], right: tuple[str, ...], limit: int, *, counts: bool
) -> ValueTally:
    """The tally of counts of distinct values: `k0`, ... compare, `v0`, ... show, `n` are their rows."""
    owners = [f"k{at}" for at in range(len(left))]
    same = Window.partitionBy(*map(F.col, owners)) if owners else Window.partitionBy(F.lit(0))
    by_size = same.orderBy(F.col("n").desc(), *counted.columns[len(owners) : len(owners) + 1])
    number = F.col("n").cast("double")
    lines = counted.select(
        "*",
        F.sum("n").over(same).alias(_ROWS),
        F.sum(number * number).over(same).alias(_SQUARE),
        F.count(F.lit(1)).over(same).alias(_DISTINCT),
        F.row_number().over(by_size).alias(_PLACE),
    )
    broken = F.col(_DISTINCT) > 1 if right else F.col(_ROWS) > 1
    lines = lines.where(broken & (F.col(_PLACE) <= MOST_VALUES))
    rows = F.col(_ROWS).cast("double")
    order = rows * rows - (F.col(_SQUARE) if right else F.lit(0))
    first = lines.orderBy(order.desc(), *owners, _PLACE).limit(limit * MOST_VALUES).toArrow()
    groups: list[list[dict[str, Any]]] = []
    for one in told_rows(first):
        if one[_PLACE] == 1:
            groups.append([])
        groups[-1].append(one)
    n_groups: int | None = len(groups)
    if first.num_rows == limit * MOST_VALUES:  # there may be others
        n_groups = lines.where(F.col(_PLACE) == 1).count() if counts else None
    told = []
    for group in groups[:limit]:
        key = tuple(group[0][f"v{at}"] for at in range(len(left)))
        values = tuple(
            TalliedValue(
                tuple(one[f"v{len(left) + at}"] for at in range(len(right))),
                one["n"],
                one.get("first"),
                one.get("last"),
            )
            for one in group
        )
        told.append(TalliedGroup(key, values, group[0][_DISTINCT], group[0][_ROWS]))
    return ValueTally(left, right, tuple(told), n_groups)
