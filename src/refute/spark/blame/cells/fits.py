"""Which values suspects could have under a rule about two orders, by the rows of a Spark table that stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import Window
from pyspark.sql import functions as F

from refute.language.form import operands
from refute.language.operators import Operator
from refute.language.predicate import Row
from refute.relation.arrays import row_numbers
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.cells.staying import StayingRows
from refute.spark.blame.marks import joined_by
from refute.spark.blame.shapes import BlameShape
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import RESERVED

_NUMBER, _OTHER, _LEAST, _MOST = (RESERVED + name for name in ("number", "other", "least", "most"))
_BELOW, _ABOVE, _SIZE = (RESERVED + name for name in ("below", "above", "size"))
_LESS = (Operator.LT, Operator.LE)


class OrderFits:
    """The intervals of both columns of a rule that says that two orders agree."""

    def __init__(self, staying: StayingRows, shape: BlameShape) -> None:
        """The shape is that of the rule under plain names."""
        self._staying = staying
        self._shape = shape
        self._pairing = Pairing.of(shape.rule, staying.engine.plain_types)
        self._orders = [one.predicate for one in shape.form.order]
        self._rising = (self._orders[0].op in _LESS) != (self._orders[1].op in _LESS)

    def interval(self, column: int, rows: pa.Table) -> pa.Table:
        """For some rows, in their order: the least and the most that fit in one of the columns, null where there is no
        bound, and how many rows that stay the interval is of, 0 where no value fits."""
        about = self._staying.about(self._shape.rule, Row.S)
        keys = [own.alias(f"{RESERVED}k{at}") for at, own in enumerate(self._shape.keys(self._pairing))]
        names = [f"{RESERVED}k{at}" for at in range(len(keys))]
        other, own = self._operand(1 - column).alias(_OTHER), self._operand(column)
        asked = frame_of(
            rows.append_column(_NUMBER, row_numbers(np.arange(rows.num_rows))), self._staying.frame.sparkSession
        )
        asked = asked.select(_NUMBER, *keys, other)
        raw = F.struct(own.alias("rank"), F.col(operands(self._orders[column])[0]).alias("value"))
        groups = asked.select(*names).distinct()
        there = self._staying.frame.where(about).select(*keys, other, raw.alias(_LEAST))
        there = joined_by(there, groups, names) if names else there
        summed = there.groupBy(*names, _OTHER).agg(
            F.min(_LEAST).alias(_LEAST), F.max(_LEAST).alias(_MOST), F.count("*").alias(_SIZE)
        )
        spots = asked.select(*names, _OTHER).distinct()
        nothing = [F.lit(None).cast(summed.schema[name].dataType).alias(name) for name in (_LEAST, _MOST)]
        entries = summed.unionByName(spots.select("*", *nothing, F.lit(0).cast("bigint").alias(_SIZE)))
        entries = entries.groupBy(*names, _OTHER).agg(
            F.min(_LEAST).alias(_LEAST), F.max(_MOST).alias(_MOST), F.sum(_SIZE).alias(_SIZE)
        )
        last = -1 if self._shape.form.order[1 - column].is_strict else 0
        group = Window.partitionBy(*names)
        up, down = (
            group.orderBy(by).rowsBetween(Window.unboundedPreceding, last)
            for by in (F.col(_OTHER).asc(), F.col(_OTHER).desc())
        )
        before, after = (up, down) if self._rising else (down, up)
        bounded = entries.withColumns(
            {_BELOW: F.max(_MOST).over(before), _ABOVE: F.min(_LEAST).over(after), _SIZE: F.sum(_SIZE).over(group)}
        )
        below, above = (F.col(name).getField("rank") for name in (_BELOW, _ABOVE))
        closed = below > above if self._shape.form.order[column].is_strict else below >= above
        fits = ~F.coalesce(closed, F.lit(False))
        bounded = bounded.select(
            *names,
            _OTHER,
            F.when(fits, F.col(_BELOW).getField("value")).alias("low"),
            F.when(fits, F.col(_ABOVE).getField("value")).alias("high"),
            F.when(fits, F.col(_SIZE)).otherwise(F.lit(0)).cast("bigint").alias("size"),
        )
        found = joined_by(bounded, asked, [*names, _OTHER]).select(_NUMBER, "low", "high", "size").toArrow()
        return found.sort_by(_NUMBER)

    def _operand(self, at: int) -> SparkColumn:
        sides = self._pairing.operands(self._orders[at])
        assert sides is not None
        return sides[0]
