"""Witnesses from distinct projections: a candidate rule reads few columns, and over those most rows are alike.

Tasks reduce the rows of their blocks to the distinct values of some columns, one task per set of columns puts these
together and searches them, and the rows behind a witness are looked up by their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.discovery.guided.hunting import Witnesses
from refute.discovery.space.slots import PredicateSpace
from refute.relation import Relation
from refute.spark.discovery.looking import NUMBER, answer
from refute.spark.workers.blocks import BLOCK, Batches, tables_of, unpacked

Names = tuple[str, ...]
_TIMES = "times"
_ENOUGH = 2  # equal rows that show as much as any number of them
TOO_MANY = -1  # the sign of a set with too many distinct values, in place of a box's number


@dataclass(frozen=True)
class Project:
    """The task that reduces blocks to the distinct values of each set of columns, with how often (at most twice)."""

    sets: tuple[Names, ...]
    most: int

    def __call__(self, batches: Batches) -> Batches:
        """One block for each set; an empty one where there are more distinct values than `most`."""
        held: dict[int, list[pa.Table]] = {number: [] for number in range(len(self.sets))}
        over: set[int] = set()
        for table in tables_of(batches):
            for number, names in enumerate(self.sets):
                if number in over:
                    continue
                held[number].append(_distinct(table.select(names)))
                if sum(part.num_rows for part in held[number]) > 2 * self.most:
                    held[number] = [_again(held[number])]
                    if held[number][0].num_rows > self.most:
                        over.add(number)
        for number, parts in held.items():
            if parts:
                whole = _again(parts)
                yield answer(number, whole.slice(0, 0) if number in over else whole)


@dataclass(frozen=True)
class SearchProjections:
    """The task that puts the distinct values of sets of columns together and searches them for witnesses.

    `boxes[k]` are the numbers of the boxes to be searched in set k.
    """

    sets: tuple[Names, ...]
    boxes: tuple[tuple[int, ...], ...]
    masks: NDArray[np.uint8]
    space: PredicateSpace
    most: int

    def __call__(self, batches: Batches) -> Batches:
        """For each broken box its number and the two rows' values; the empty values for a set that is too large."""
        held: dict[int, list[pa.Table]] = {}
        for batch in batches:
            for number, cell in zip(batch[NUMBER].to_pylist(), batch[BLOCK], strict=True):
                held.setdefault(number, []).append(unpacked(cell))
        for number, parts in held.items():
            whole = _again(parts)
            if any(not part.num_rows for part in parts) or whole.num_rows > self.most:
                yield from (answer(TOO_MANY - box, whole.slice(0, 0)) for box in self.boxes[number])
                continue
            yield from self._searched(number, whole)

    def _searched(self, number: int, whole: pa.Table) -> Iterator[pa.RecordBatch]:
        times = whole.column(_TIMES).to_numpy()
        rows = whole.drop_columns([_TIMES]).take(pa.array(np.repeat(np.arange(len(times)), times)))
        witnesses = Witnesses(Relation.of(rows.combine_chunks()), self.space)
        for box in self.boxes[number]:
            pair = witnesses.find(self.masks[box])
            if pair is not None:
                yield answer(box, rows.take(pa.array(pair)))


@dataclass(frozen=True)
class Lookup:
    """The task that finds rows by their values: up to two for each row of each wanted table."""

    wanted: tuple[bytes, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Blocks of rows, numbered 2k for those like the first row of wanted table k, 2k + 1 for the second."""
        tables = [pa.ipc.open_stream(cell).read_all() for cell in self.wanted]
        left = {2 * number + row: _ENOUGH for number in range(len(tables)) for row in (0, 1)}
        for table in tables_of(batches):
            for key in [key for key, missing in left.items() if missing]:
                found = np.flatnonzero(_like(table, tables[key // 2], key % 2))[: left[key]]
                if len(found):
                    left[key] -= len(found)
                    yield answer(key, table.take(pa.array(found)))


def column_sets(
    space: PredicateSpace, masks: NDArray[np.uint8]
) -> tuple[tuple[Names, ...], tuple[tuple[int, ...], ...]]:
    """The sets of columns that boxes read, none inside another, and the boxes to be searched in each."""
    used = masks != np.array([slot.kind.full for slot in space.slots], np.uint8)
    read = [frozenset(name for k in np.flatnonzero(row) for name in space.slots[k].columns) for row in used]
    largest = list(dict.fromkeys(sorted(read, key=len, reverse=True)))
    largest = [one for place, one in enumerate(largest) if not any(one < other for other in largest[:place])]
    home = [next(place for place, one in enumerate(largest) if names <= one) for names in read]
    boxes = tuple(tuple(box for box, at in enumerate(home) if at == place) for place in range(len(largest)))
    return tuple(tuple(sorted(one)) for one in largest), boxes


def _distinct(table: pa.Table) -> pa.Table:
    counted = table.group_by(table.column_names).aggregate([([], "count_all")])
    times = pc.min_element_wise(counted.column("count_all"), _ENOUGH)
    return counted.select(table.column_names).append_column(_TIMES, times.cast(pa.int64()))


def _again(parts: list[pa.Table]) -> pa.Table:
    """The distinct values of parts that are distinct each."""
    table = pa.concat_tables(parts)
    names = [name for name in table.column_names if name != _TIMES]
    counted = table.group_by(names).aggregate([(_TIMES, "sum")])
    times = pc.min_element_wise(counted.column(f"{_TIMES}_sum"), _ENOUGH)
    return counted.select(names).append_column(_TIMES, times.cast(pa.int64()))


def _like(table: pa.Table, wanted: pa.Table, row: int) -> NDArray[np.bool_]:
    """The rows that have the values of one row of another table in all of that table's columns."""
    like = np.ones(table.num_rows, np.bool_)
    for name in wanted.column_names:
        value = wanted.column(name)[row]
        column = table.column(name)
        same = column.is_null() if not value.is_valid else pc.fill_null(pc.equal(column, value), False)
        like &= np.asarray(same.to_numpy(), np.bool_)
    return like
