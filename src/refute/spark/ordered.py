"""Rules that need the kernels on Spark: groups go to tasks whole where they are small, through the grid where large."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.spark.emission import TASK, TILE, Emitter
from refute.spark.expressions import column_operands, constants
from refute.spark.grid import CUTS_TO_COUNT, MOST_DIMENSIONS, Grid
from refute.spark.pairing import Pairing
from refute.spark.placement import LIGHT_BUCKETS, SAMPLE_ROWS, Placement, pack
from refute.spark.worker import Question, task

_NO_GROUP = -1


class OrderedRule:
    """One rule over one frame. Its pairs fall into classes, each found once: by tasks, or by cells alone."""

    def __init__(
        self,
        pairing: Pairing,
        frame: DataFrame,
        *,
        rows: int,
        tasks: int,
        method: MethodName,
        cuts: dict[int, int] = CUTS_TO_COUNT,
    ) -> None:
        self.pairing = pairing
        self.emitter = Emitter(pairing, frame).numbered()
        self._rows = rows
        self._tasks = tasks
        self._method = method
        self._cuts = cuts
        self._cells: dict[Row, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def ask(
        self, question: Question, schema: str | StructType, extra: list[str], limit: int | None = None
    ) -> list[DataFrame]:
        """The answers of the tasks to a question, one frame per class of pairs."""
        return [
            shipped.mapInArrow(task(question, rule, self._method, limit), schema)
            for rule, shipped in self.classes(extra)
        ]

    def classes(self, extra: list[str]) -> Iterator[tuple[Rule, DataFrame]]:
        """For each class of pairs: the rule that its tasks check, and the rows placed in their tasks."""
        if not self.placement.heavy:
            yield self.grid.light_rule(), self._light(extra)
        elif not self.grid.dimensions:
            yield self.grid.light_rule(), self._light(extra, without_heavy=True)
        else:
            for j in range(len(self.grid.dimensions)):
                if j and not self._has_open_tiles(j):
                    continue
                yield self.grid.class_rule(j), self._class(j, extra)

    @cached_property
    def placement(self) -> Placement:
        """Which groups are large, and where the others go."""
        found = Placement.of_sample(self._sample, len(self.pairing.equal), self._tasks)
        if len(self.pairing.order) > MOST_DIMENSIONS or not self.emitter.exact_keys:
            return found.light_only(self._sample)
        return found

    @cached_property
    def grid(self) -> Grid:
        """The cuts of the order predicates."""
        return Grid.of_sample(self.pairing, self.emitter.merged, self._sample, self._cuts)

    @cached_property
    def _sample(self) -> pa.Table:
        return self.emitter.sample(SAMPLE_ROWS, self._rows)

    @cached_property
    def _sample_groups(self) -> NDArray[np.int64]:
        """The large group of each sampled row, -1 for others."""
        if not self.pairing.equal:
            return np.zeros(self._sample.num_rows, dtype=np.int64)
        numbers = {key: number for number, key in enumerate(self.placement.heavy)}
        keys = zip(*(self._sample.column(f"k{i}").to_pylist() for i in range(len(self.pairing.equal))), strict=True)
        return np.fromiter((numbers.get(key, _NO_GROUP) for key in keys), np.int64, self._sample.num_rows)

    def _light(self, extra: list[str], without_heavy: bool = False) -> DataFrame:
        """All rows, or those of small groups, with whole groups in one task."""
        tasks = constants(pack(np.asarray(self.placement.buckets), self._tasks), "int")
        parts = []
        for row in self.emitter.roles:
            rows = self.emitter.rows(row)
            if without_heavy:
                rows = rows.where(self.emitter.group(self.placement, row) == _NO_GROUP)
            columns = self.emitter.columns(row, self._names(0))
            parts.append(rows.select(*columns, *extra, F.get(tasks, self.emitter.bucket(row)).alias(TASK)))
        return self._placed(parts)

    def _class(self, j: int, extra: list[str]) -> DataFrame:
        """The rows of large groups with equal open tiles in dimension j; class 0 brings the small groups along."""
        dimension = self.grid.dimensions[j]
        size = dimension.tiles.size
        tiles = dimension.tiles.numbers(self._sample.column(f"v{j}"))
        heavy = self._sample_groups >= 0
        weights = np.bincount(
            (self._sample_groups * size + tiles)[heavy], minlength=max(len(self.placement.heavy), 1) * size
        ).astype(np.float64)
        if dimension.tiles.single:
            weights.reshape(-1, size)[:, 1::2] = 0  # closed tiles ship no rows
        light = np.asarray(self.placement.buckets if j == 0 else (0.0,) * LIGHT_BUCKETS)
        tasks = constants(pack(np.concatenate([weights, light]), self._tasks), "int")
        parts = []
        for row in self.emitter.roles:
            group, tile = self.emitter.group(self.placement, row), dimension.tile(row)
            rows = self.emitter.rows(row).withColumn("__group", group).withColumn(TILE, tile)
            in_group = F.col("__group") >= 0
            kept = in_group & dimension.tiles.is_open(F.col(TILE))
            rows = rows.where(kept | ~in_group if j == 0 else kept)
            place = F.when(in_group, F.col("__group") * size + F.col(TILE)).otherwise(
                F.lit(len(weights)) + self.emitter.bucket(row)
            )
            steps = [step for i in range(j) for step in self.grid.step_columns(i, row)]
            columns = self.emitter.columns(row, self._names(j))
            tile_or_none = F.when(in_group, F.col(TILE)).otherwise(F.lit(_NO_GROUP)).alias(TILE)
            parts.append(rows.select(*columns, tile_or_none, *steps, *extra, F.get(tasks, place).alias(TASK)))
        return self._placed(parts)

    def _placed(self, parts: list[DataFrame]) -> DataFrame:
        both = reduce(DataFrame.unionByName, parts)
        return both.repartitionById(self._tasks, F.col(TASK)).drop(TASK)

    def _names(self, j: int) -> list[str]:
        """The columns that the kernels read in class j: values of the order predicates from j on."""
        read = self.pairing.equal + self.pairing.order[j:] + self.pairing.differ
        return list(dict.fromkeys(name for predicate in read for name in column_operands(predicate)))

    def cell(self, row: Row) -> SparkColumn:
        """The cell of a row in this role; null for rows of small groups."""
        group = self.emitter.group(self.placement, row)
        return F.when(group >= 0, self.grid.cell(group, row))

    def _has_open_tiles(self, j: int) -> bool:
        """Whether any row of a large group is in a tile of dimension j that leaves the predicate open."""
        if not self.grid.dimensions[j].tiles.single:
            return True
        sides = [self.grid.tiles_of(self.cells(row)[0])[j] for row in Row]
        return bool(np.intersect1d(*(tiles[tiles % 2 == 0] for tiles in sides)).size)

    def cells(self, row: Row) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The occupied cells of one side, and how many rows each holds: one native aggregate, run once."""
        side = Row.S if self.pairing.aligned else row
        if side not in self._cells:
            self._cells[side] = self._counted_cells(side)
        return self._cells[side]

    def _counted_cells(self, row: Row) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keyed = self.emitter.admitted(row).select(self.cell(row).alias("cell")).where("cell is not null")
        found = keyed.groupBy("cell").count().toArrow()
        cells, counts = (found.column(name).to_numpy().astype(np.int64) for name in ("cell", "count"))
        return cells, counts

    def own_settled(self) -> SparkColumn:
        """Whether the cells alone would pair a row with itself, which is no violation."""
        if not self.pairing.self_pairs:
            return F.lit(False)
        s_group, t_group = (self.emitter.group(self.placement, row) for row in Row)
        return (s_group >= 0) & (s_group == t_group) & self.grid.settles_itself() & self.emitter.admits_both()
