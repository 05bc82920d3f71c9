"""A feed of changes as one change: for each key what was before it, and what is after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refute.errors import DataError, SchemaError, did_you_mean
from refute.faults import any_of, no_operations
from refute.live.arrivals import arrow_of, key_table, plain_type, refuse_keys, refuse_nulls, relation_of
from refute.live.columns import ReadRows
from refute.live.state import Change
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.relation.shown import shown

if TYPE_CHECKING:
    from refute.live.state import State

OPERATIONS = ("insert", "update", "delete", "update_preimage", "update_postimage")
INSERT, UPDATE, DELETE, BEFORE, AFTER = range(len(OPERATIONS))  # an update may come as the row before and after it


class Turns(NamedTuple):
    """In which order the changes of a feed are made, unless it is that of its rows: by a column, if one is named."""

    column: str | None = None


def net_changes(state: State, changes: Any, op: str, turns: Turns | None = None) -> Change:
    """The change that a feed amounts to; raises an error where one of its steps cannot be done, in their order."""
    relation = relation_of(_whole(changes, op), state.schema)
    if relation.n_rows == 0 and state.schema is not None:
        return state.inserting(state.schema.empty_table())
    if not relation.has(op):
        raise no_operations(str(op), relation.names)
    operations = operations_of(relation.column(op))
    names = [name for name in relation.names if name != op]
    rows = pa.table([(one := relation.column(name)).cast(plain_type(one.type)) for name in names], names)
    coming = np.flatnonzero(_leaves_a_row(operations))
    schema = state.schema
    if schema is not None and turns is not None and turns.column not in schema.names:  # which rows do not keep
        rows = rows.select([name for name in rows.column_names if name != turns.column])
    if schema is None:  # rows that go have nothing to say of types
        if len(coming) == 0 and len(operations):
            state.known_schema()
        schema = arrow_of(rows.take(row_numbers(coming)), None).schema
    elif len(coming):  # which may be the first to say what a column holds
        schema = arrow_of(rows.take(row_numbers(coming)), schema).schema
    frame = state.frame_for(schema)
    keys = key_table(rows.select([name for name in state.key if name in rows.column_names]), schema, state.key)
    state.expect(keys)
    lines, valid = frame.columns.key_lines(ReadRows(keys), extend=True)
    refuse_nulls(state.key, valid)
    there = frame.find(lines, state)
    ranks = np.arange(len(operations)) if turns is None else _ranks(relation, operations, turns.column)
    order = np.lexsort([ranks, *lines.T[::-1]])
    first = np.ones(len(order), np.bool_)
    first[1:] = (lines[order[1:]] != lines[order[:-1]]).any(axis=1)
    if turns is not None:
        together = np.zeros(len(order), np.bool_)
        together[order[1:]] = ~first[1:] & (ranks[order[1:]] == ranks[order[:-1]])
        why = "and order= names no column that puts them in order"
        if turns.column is not None:
            why = f"and {turns.column!r}, their order, has the same value in them"
        refuse_keys(keys, state.key, together, f"Several changes of one key arrived together, {why}")
    _refuse_steps(state, keys, operations, there, order, first)
    last = np.append(first[1:], True)[: len(order)]
    starts, ends = order[first], order[last]
    gone = there[starts]
    stays = _leaves_a_row(operations[ends])
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


def operations_of(words: pa.ChunkedArray) -> Any:
    """The operations by number, whatever the case of their words; raises DataError for an unknown one."""
    words = words.cast(plain_type(words.type))
    if not len(words):
        return np.empty(0, np.int64)
    is_text = pa.types.is_string(words.type) or pa.types.is_large_string(words.type)
    found = pc.index_in(pc.utf8_lower(words), pa.array(OPERATIONS, words.type)) if is_text else None
    if found is None or found.null_count:
        row = 0 if found is None else int(np.flatnonzero(np.asarray(found.is_null()))[0])
        word = shown(words[row])
        hint = did_you_mean(word, OPERATIONS) if isinstance(word, str) else ""
        raise DataError(
            f"Row {row:,} of the feed has the operation {word!r}, which must be {any_of(OPERATIONS)}.{hint}",
            row=row,
            value=word,
            known=OPERATIONS,
        )
    return np.asarray(found).astype(np.int64)


def leaves_rows(words: pa.ChunkedArray) -> bool:
    """Whether some operation of a feed leaves a row; raises DataError for an unknown one."""
    return bool(_leaves_a_row(operations_of(words)).any())


def steps_of(words: pa.ChunkedArray) -> tuple[Any, Any]:
    """Which operations of a feed leave a row, and which may meet one with their key.

    Raises DataError for an unknown one.
    """
    operations = operations_of(words)
    return _leaves_a_row(operations), operations != INSERT


def _ranks(relation: Relation, operations: Any, column: str | None) -> Any:
    """When each change is made; those with the same number are made at once. A row before an update goes first."""
    turn = np.zeros(len(operations), np.int64)
    if column is not None:
        held = relation.column(column)
        if held.null_count:
            row = int(np.flatnonzero(np.asarray(held.is_null()))[0])
            raise DataError(f"Row {row:,} of the feed has no value in {column!r}, its order.", row=row, column=column)
        try:
            turn = np.asarray(pc.rank(held.combine_chunks(), tiebreaker="dense")).astype(np.int64)
        except pa.ArrowNotImplementedError as error:
            raise SchemaError(
                f"Changes cannot be put in order by {column!r}, which holds {held.type}.",
                column=column,
                type=str(held.type),
            ) from error
    return 2 * turn + (operations != BEFORE)


def _leaves_a_row(operations: Any) -> Any:
    return (operations != DELETE) & (operations != BEFORE)


def _refuse_steps(state: State, keys: pa.Table, operations: Any, there: Any, order: Any, first: Any) -> None:
    """Raises DataError for an insert of a key that is there at that step, and for what goes or changes and is not.

    A row after an update may have a new key, which the row before it shows, under the old one.
    """
    present = there[order] >= 0
    before = np.where(first, present, np.roll(_leaves_a_row(operations[order]), 1))
    asked = operations[order]
    twice, missing = np.zeros(len(order), np.bool_), np.zeros(len(order), np.bool_)
    twice[order] = (asked == INSERT) & before
    missing[order] = (asked != INSERT) & (asked != AFTER) & ~before
    refuse_keys(keys, state.key, twice, "The feed inserts keys that already exist")
    refuse_keys(keys, state.key, missing, "The feed updates or deletes keys that do not exist")
