"""Rows on their way to where they meet: what each task is sent of a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.language.predicate import Row
from refute.spark.grid.division import DividedSide, Division
from refute.spark.grid.shape import AS_S, AS_T, BUCKET, SELF, step_names
from refute.spark.workers.worker import HASHED_ID, ROW_COLUMN

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sending:
    """Sends the rows of tables where a division wants them; `named` says that their ids go along."""

    division: Division
    named: bool

    @property
    def kinds(self) -> int:
        """How many ways of meeting there are: one for each axis, and that of small groups, the last."""
        return len(self.division.cuts) + 1

    def pieces(
        self, table: pa.Table, sides: tuple[DividedSide, DividedSide], turn: int
    ) -> Iterator[tuple[int, int, pa.Table]]:
        """What goes to each task: its number, how the rows meet there, and the rows. `turn` numbers the first row.

        Rows that have ids are cut into parts by hashes of these: a task that Spark runs again may get its rows in
        another order, and must not send one to another part than before.
        """
        hashed = HASHED_ID in table.column_names
        numbers = np.asarray(table.column(HASHED_ID)) if hashed else np.arange(table.num_rows) + turn
        for kind in range(self.kinds):
            for role in tuple(Row) if self.division.apart else (None,):
                rows, places = self._met(sides, kind, role, numbers)
                if len(rows):
                    yield from self._cut(table, sides, kind, role, rows, places, turn)

    def _met(
        self, sides: tuple[DividedSide, DividedSide], kind: int, role: Row | None, numbers: Ints
    ) -> tuple[Ints, Ints]:
        """The rows of one role, or of both, and the places that they go to."""
        s_side, t_side = sides
        side = t_side if role is Row.T else s_side
        admitted = s_side.admitted | t_side.admitted if role is None else side.admitted
        chosen, buckets = self.division.sent(side, kind, admitted)
        repeated, places = self.division.places.meetings(buckets, numbers[chosen], of_t=role is Row.T)
        return chosen[repeated], places

    def _cut(
        self,
        table: pa.Table,
        sides: tuple[DividedSide, DividedSide],
        kind: int,
        role: Row | None,
        rows: Ints,
        places: Ints,
        turn: int,
    ) -> Iterator[tuple[int, int, pa.Table]]:
        tasks = self.division.places.task[places]
        order = np.argsort(tasks, kind="stable")
        rows, places, tasks = rows[order], places[order], tasks[order]
        sent = self._columns(table, sides, kind, role, rows, turn).append_column(BUCKET, pa.array(places))
        starts = np.flatnonzero(np.concatenate([[True], tasks[1:] != tasks[:-1]]))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(tasks)], strict=True):
            yield int(tasks[start]), kind, sent.slice(start, stop - start)

    def _columns(
        self,
        table: pa.Table,
        sides: tuple[DividedSide, DividedSide],
        kind: int,
        role: Row | None,
        rows: Ints,
        turn: int,
    ) -> pa.Table:
        """What tasks read of these rows."""
        shape, cuts = self.division.shape, self.division.cuts
        small = kind == len(cuts)
        found: dict[str, pa.Array | pa.ChunkedArray] = {}
        places = pa.array(rows)
        for name, roles in shape.columns(0 if small else kind, with_keys=small).items():
            column = table.column(name)
            unread = role is not None and role not in roles
            found[name] = pa.nulls(len(rows), column.type) if unread else column.take(places)
        for i in range(0 if small else kind):
            axis = cuts[i].axis
            s_name, t_name = step_names(i, axis, apart=role is not None)
            for name, side, of_t in ((s_name, sides[0], False), (t_name, sides[1], True)):
                if role is None or (role is Row.T) == of_t:
                    found[name] = pa.array(axis.steps(side.tiles[i][rows], of_t=of_t))
        if role is not None:
            found |= {AS_S: _all(role is Row.S, len(rows)), AS_T: _all(role is Row.T, len(rows))}
            if shape.form.self_pairs:
                found[SELF] = pa.array(rows + turn)
        elif not shape.form.aligned:
            found |= {AS_S: pa.array(sides[0].admitted[rows]), AS_T: pa.array(sides[1].admitted[rows])}
        if self.named:
            found[ROW_COLUMN] = table.column(ROW_COLUMN).take(places)
        return pa.table(found)


def _all(value: bool, size: int) -> pa.Array:
    return pa.array(np.full(size, value))
