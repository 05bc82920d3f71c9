"""Whether suggested values would break a rule, asked of the rows of a Spark table that stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from refute.blame.cells.repairs import Rival, moved_cells
from refute.blame.contest import Flags, Longs
from refute.language.constraint import DenialConstraint
from refute.language.form import Form, operands
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.rulebook import Rule
from refute.plan.compile import admitted_rows
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.spark.blame.cells.staying import StayingRows
from refute.spark.source.frames import frame_of
from refute.spark.source.renaming import renamed
from refute.spark.source.source import SparkSource
from refute.spark.workers.worker import ROW_COLUMN

_ID, _NEW, _OLD = "id", "new", "old"  # beside columns c0, c1 and so on


@dataclass(frozen=True, eq=False)
class SparkRival(Rival):
    """A rule about two rows; `blamed` are those that break it now, against rows that stay."""

    own: Rule
    staying: StayingRows
    relation: Relation  # rows by number, and behind them those that values are taken from
    blamed: Longs

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.own

    def harmed(self, rows: Longs, sources: Mapping[str, Longs]) -> Flags:
        """By partners of rows with their new values among those that stay, in each role."""
        form = Form.of(self.own)
        read = self.own.constraint.columns
        moved = moved_cells(rows, sources, read)
        asked = np.flatnonzero(moved & ~np.isin(rows, self.blamed))
        found = np.zeros(len(rows), np.bool_)
        if len(asked) == 0:
            return found
        taken = {name: sources.get(name, rows)[asked] for name in read}
        columns = [self.relation.column(name).take(row_numbers(taken[name])) for name in read]
        changed = pa.table(columns, names=[self.staying.engine.names[name] for name in read])
        clashes = np.zeros(len(asked), np.bool_)
        for role in (Row.S, Row.T):
            admitted = admitted_rows(self.relation, form, role)
            stands = admitted[rows[asked]]
            names = [operands(predicate)[role is Row.T] for predicate in form.predicates]
            sure = ~reduce_or([~admitted[taken[name]] for name in names], len(asked))
            clashes |= stands & ~sure
            standing = np.flatnonzero(stands & sure & ~clashes)
            clashes[standing[self._meets(changed.take(row_numbers(standing)), role)]] = True
        found[asked] = clashes
        return found

    def _meets(self, changed: pa.Table, role: Row) -> Longs:
        """Which changed rows, that stand in a role, have a partner that stays."""
        if changed.num_rows == 0:
            return np.zeros(0, np.int64)
        other = Row.T if role is Row.S else Row.S
        plain = renamed(self.own, self.staying.engine.names)
        flag = self.staying.about(plain, other)
        hashed = F.shiftrightunsigned(F.xxhash64(ROW_COLUMN), 1)
        kept = self.staying.frame.select(
            *changed.column_names, (-hashed - 1).alias(_ID), F.lit(False).alias(_NEW), F.col(flag).alias(_OLD)
        )
        new = frame_of(changed.append_column(_ID, row_numbers(np.arange(changed.num_rows))), kept.sparkSession)
        typed = [F.col(name).cast(kept.schema[name].dataType).alias(name) for name in changed.column_names]
        both = kept.where(_OLD).unionByName(new.select(*typed, _ID, F.lit(True).alias(_NEW), F.lit(False).alias(_OLD)))
        sides = [
            Predicate.of(Column(row, name), Operator.EQ, Constant(True)) for row, name in ((role, _NEW), (other, _OLD))
        ]
        compared = [one for one in plain.constraint.predicates if one.is_two_row]
        asked = replace(plain, constraint=DenialConstraint((*compared, *sides)), where=None)
        engine = self.staying.engine.over(SparkSource(both, self.staying.engine.source.name, (_ID,)))
        count = "as_s" if role is Row.S else "as_t"
        ids = engine.prepared(asked).partners().where((F.col(count) > 0) & (F.col(ROW_COLUMN) >= 0))
        found: Longs = ids.select(ROW_COLUMN).distinct().toArrow().column(0).to_numpy().astype(np.int64)
        return found


def reduce_or(flags: list[Flags], n: int) -> Flags:
    """True where some of the flags is."""
    found = np.zeros(n, np.bool_)
    for one in flags:
        found |= one
    return found
