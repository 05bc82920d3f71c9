"""The change that makes the rows of a state those of a table: what came, what went, and what has other values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.live.arrivals import refuse_keys, refuse_nulls, repeated
from refute.live.columns import ReadRows
from refute.live.state import Change, State
from refute.relation.arrays import row_numbers
from refute.tracking.codes import Longs
from refute.tracking.meeting.groups import KeyNumbers

Mask = NDArray[np.bool_]
_BITS = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}  # of floats by their width


def to_become(state: State, table: pa.Table) -> Change:
    """The change to these rows, which have the columns and types of the state.

    Raises DataError for a key that is null or comes twice. Without a key, rows that are the same in all columns are
    one as good as the other: as many of them go or come as there are too many or too few.
    """
    return _by_key(state, table) if state.key else _by_all(state, table)


def _by_key(state: State, table: pa.Table) -> Change:
    frame = state.frame_for(table.schema)
    keys, valid = frame.columns.key_lines(ReadRows(table), extend=True)
    refuse_nulls(state.key, valid)
    refuse_keys(table, state.key, repeated(keys), "The table has these keys more than once")
    slots = frame.find(keys, state)
    there = np.flatnonzero(slots >= 0)
    before = state.rows.take(slots[there])
    before = before if before.schema.equals(table.schema) else before.cast(table.schema)
    other = there[_differ(before, table.take(row_numbers(there)))]
    new = np.sort(np.concatenate([other, np.flatnonzero(slots < 0)]))  # as they come in the table
    living = np.flatnonzero(state.alive[: state.next_slot])
    missing = np.setdiff1d(living, slots[there], assume_unique=True)
    links = np.searchsorted(new, other)
    return Change(frame, np.concatenate([slots[other], missing]), ReadRows(table.take(row_numbers(new))), links)


def _by_all(state: State, table: pa.Table) -> Change:
    frame = state.frame_for(table.schema)
    slots, before = state.living()
    before = before if before.schema.equals(table.schema) else before.cast(table.schema)
    lines = KeyNumbers(table.num_columns).of(_codes(pa.concat_tables([before, table])))
    old, new = lines[: len(slots)], lines[len(slots) :]
    size = int(lines.max(initial=-1)) + 1
    gone = slots[_times(old) >= np.bincount(new, minlength=size)[old]]
    came = np.flatnonzero(_times(new) >= np.bincount(old, minlength=size)[new])
    return Change(frame, gone, ReadRows(table.take(row_numbers(came))))


def _times(lines: Longs) -> Longs:
    """How often each line has come before."""
    order = np.argsort(lines, kind="stable")
    ordered = lines[order]
    first = np.searchsorted(ordered, ordered, side="left")
    found = np.empty(len(lines), np.int64)
    found[order] = np.arange(len(lines)) - first
    return found


def _differ(before: pa.Table, after: pa.Table) -> Mask:
    """Which rows of two tables with the same columns and as many rows differ in some column."""
    found = np.zeros(before.num_rows, np.bool_)
    for name in before.column_names:
        old, new = (_plain(side.column(name)) for side in (before, after))
        unlike = pc.fill_null(pc.not_equal(old, new), False)
        found |= pc.or_(unlike, pc.not_equal(pc.is_null(old), pc.is_null(new))).to_numpy()
    return found


def _codes(table: pa.Table) -> NDArray[np.int32]:
    """Numbers for the values of each column (rows, columns): the same ones for the same values, null being one."""
    codes = np.empty((table.num_rows, table.num_columns), np.int32)
    for place, column in enumerate(table.columns):
        coded = pc.dictionary_encode(_plain(column), null_encoding="encode").combine_chunks()
        whole = coded if isinstance(coded, pa.Array) else coded.chunk(0) if coded.num_chunks else None
        codes[:, place] = 0 if whole is None else whole.indices.to_numpy()
    return codes


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column such that the same values compare as equal, NaN too, and no others do: floats as their bits."""
    kind = column.type
    if pt.is_floating(kind):
        return pa.chunked_array([chunk.view(_BITS[kind.bit_width]) for chunk in column.chunks], _BITS[kind.bit_width])
    if pt.is_nested(kind):  # which Arrow does not compare: by what they are when written
        return pa.chunked_array([[None if cell is None else repr(cell) for cell in column.to_pylist()]], pa.string())
    return column
