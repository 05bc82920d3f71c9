"""The columns that rules read, in blocks: one pass over a table, for all questions that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType

from refute.language.form import Form
from refute.relation import Relation
from refute.spark.answer.fetching.narrowing import narrowed
from refute.spark.expressions import column, operand
from refute.spark.grid.groups import EqualityKey
from refute.spark.grid.tasks import Pack
from refute.spark.workers.blocks import PACKED
from refute.spark.workers.worker import HASHED_ID, ROW_COLUMN

BLOCK_ROWS = 1 << 17


class Blocks:
    """Rows of some columns of a plain frame as blocks; their ids are its `__row`, or numbers where it has none.

    Numbers hold for one evaluation of the frame, so blocks with numbers must be kept while they are asked.
    """

    def __init__(self, frame: DataFrame, types: Relation, forms: Sequence[Form], names: Iterable[str], *, named: bool):
        self.types = types
        self.names = tuple(names)
        identified = ROW_COLUMN in frame.columns
        exact = {name: types.type_of(name).arrow_type for name in self.names}
        columns: list[SparkColumn | str] = [F.expr(narrowed(name, kind)) for name, kind in exact.items()]
        columns += [value.alias(name) for name, value in _hashes(forms, types).items()]
        if named and identified:
            columns += [ROW_COLUMN, F.xxhash64(ROW_COLUMN).alias(HASHED_ID)]
        self.numbered = named and not identified
        pack = Pack(exact, self.numbered, BLOCK_ROWS)
        self.named = named
        self.identified = named and identified
        self.row_type: DataType = frame.schema[ROW_COLUMN].dataType if identified else LongType()
        self.frame = frame.select(*columns).mapInArrow(pack, PACKED)

    def held(self, keep: Callable[[DataFrame], DataFrame]) -> Blocks:
        """The same blocks, by a frame that keeps those of this one."""
        found = copy(self)
        found.frame = keep(self.frame)
        return found


def _hashes(forms: Sequence[Form], types: Relation) -> dict[str, SparkColumn]:
    """The hashes of values that tasks cannot number themselves, by the name of the column to put them in."""
    found: dict[str, SparkColumn] = {}
    for form in forms:
        for predicate in form.equal + form.differ:
            key = EqualityKey.of(predicate, types, form.rule.nulls)
            if key.hashed is not None:
                found |= {name: F.xxhash64(value) for name, value in zip(key.hashed, _comparable(key), strict=True)}
    return found


def _comparable(key: EqualityKey) -> tuple[SparkColumn, SparkColumn]:
    """Both sides in a type in which equal values are the same: of numbers that no type holds all of, a double."""
    s_kind, t_kind = key.axis.s_kind, key.axis.t_kind
    first, second = operand(s_kind, t_kind), operand(t_kind, s_kind)
    if first is None or second is None:
        return column(s_kind).cast("double") + F.lit(0.0), column(t_kind).cast("double") + F.lit(0.0)
    return first, second
