"""A feed of changes as one change: for each key what was before it, and what is after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from refute.errors import DataError, SchemaError, did_you_mean
from refute.faults import any_of
from refute.live.arrivals import arrow_of, key_table, plain_type, refuse_keys, refuse_nulls, relation_of
from refute.live.columns import ReadRows
from refute.live.state import Change
from refute.relation.arrays import row_numbers

if TYPE_CHECKING:
    from refute.live.state import State

OPERATIONS = ("insert", "update", "delete")
INSERT, UPDATE, DELETE = range(3)


def net_changes(state: State, changes: Any, op: str) -> Change:
    """The change that a feed amounts to; raises an error where one of its steps cannot be done, in their order."""
    relation = relation_of(_whole(changes, op), state.schema)
    if relation.n_rows == 0 and state.schema is not None:
        return state.inserting(state.schema.empty_table())
    if not relation.has(op):
        hint = did_you_mean(str(op), relation.names)
        raise SchemaError(
            f"the feed has no column {op!r} with its operations; name that column with op=.{hint}",
            column=op,
            known=tuple(relation.names),
        )
    operations = _operations(relation.column(op).to_pylist())
    names = [name for name in relation.names if name != op]
    rows = pa.table([(one := relation.column(name)).cast(plain_type(one.type)) for name in names], names)
    coming = np.flatnonzero(operations != DELETE)
    schema = state.schema
    if schema is None:  # rows that go have nothing to say of types
        if len(coming) == 0 and len(operations):
            state.known_schema()
        schema = arrow_of(rows.take(row_numbers(coming)), None).schema
    elif len(coming):  # which may be the first to say what a column holds
        schema = arrow_of(rows.take(row_numbers(coming)), schema).schema
    frame = state.frame_for(schema)
    keys = key_table(rows.select([name for name in state.key if name in rows.column_names]), schema, state.key)
    lines, valid = frame.columns.key_lines(ReadRows(keys), extend=True)
    refuse_nulls(state.key, valid)
    there = frame.find(lines, state)
    order = np.lexsort([np.arange(len(operations)), *lines.T[::-1]])
    first = np.ones(len(order), np.bool_)
    first[1:] = (lines[order[1:]] != lines[order[:-1]]).any(axis=1)
    _refuse_steps(state, keys, operations, there, order, first)
    last = np.append(first[1:], True)[: len(order)]
    starts, ends = order[first], order[last]
    gone = there[starts]
    stays = operations[ends] != DELETE
    table = arrow_of(rows.take(row_numbers(ends[stays])), schema) if stays.any() else schema.empty_table()
    replaced = (gone >= 0) & stays
    links = (np.cumsum(stays) - 1)[replaced]
    order_of_gone = np.concatenate([np.flatnonzero(replaced), np.flatnonzero((gone >= 0) & ~stays)])
    frame = frame if table.schema.equals(frame.schema) else frame.widened(table.schema)
    return Change(frame, gone[order_of_gone], ReadRows(table), links)


def _whole(changes: Any, op: str) -> Any:
    """A feed of mappings with all columns in each: a row that goes needs to have its key alone."""
    if not isinstance(changes, list | tuple) or not all(isinstance(row, Mapping) for row in changes):
        return changes
    names = {name: None for row in changes for name in row}
    return [{**names, **row} if str(row.get(op)).lower() == "delete" else row for row in changes]


def _operations(words: list[object]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The operations by number; raises DataError for an unknown one."""
    known = {name: number for number, name in enumerate(OPERATIONS)}
    found = np.empty(len(words), np.int64)
    for row, word in enumerate(words):
        number = known.get(word.lower()) if isinstance(word, str) else None
        if number is None:
            hint = did_you_mean(word, OPERATIONS) if isinstance(word, str) else ""
            raise DataError(
                f"row {row:,} of the feed has the operation {word!r}, which must be {any_of(OPERATIONS)}.{hint}",
                row=row,
                value=word,
                known=OPERATIONS,
            )
        found[row] = number
    return found


def _refuse_steps(state: State, keys: pa.Table, operations: Any, there: Any, order: Any, first: Any) -> None:
    """Raises DataError for an insert of a key that is there at that step, and for what goes or changes and is not."""
    present = there[order] >= 0
    before = np.where(first, present, np.roll(operations[order] != DELETE, 1))
    asked = operations[order]
    twice, missing = np.zeros(len(order), np.bool_), np.zeros(len(order), np.bool_)
    twice[order] = (asked == INSERT) & before
    missing[order] = (asked != INSERT) & ~before
    refuse_keys(keys, state.key, twice, "the feed inserts keys that already exist")
    refuse_keys(keys, state.key, missing, "the feed updates or deletes keys that do not exist")
