"""Rows marked with the rules that they break, in a table of the kind that came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.detect.detector import PartnerCounts
from refute.language.rulebook import Rule
from refute.relation import Relation
from refute.relation.arrays import row_numbers

MARKS = "refute"  # the column that a report adds, with underscores where the table has one of this name
_MARK_TYPE = pa.list_(pa.struct([("rule", pa.string()), ("role", pa.string()), ("partners", pa.int64())]))


def marks_of(n_rows: int, rules: Sequence[Rule], counts: Sequence[PartnerCounts]) -> pa.Array:
    """A list per row of what it breaks, in the order of the rules, `s` before `t`."""
    rows, numbers, roles, partners = [], [], [], []
    for number, count in enumerate(counts):
        for role, values in enumerate((count.as_s, count.as_t)):
            broken = np.flatnonzero(values)
            rows.append(broken)
            numbers.append(np.full(len(broken), number))
            roles.append(np.full(len(broken), role, np.int8))
            partners.append(values[broken])
    row = _joined(rows)
    order = np.argsort(row, kind="stable")
    offsets = np.searchsorted(row[order], np.arange(n_rows + 1)).astype(np.int32)
    rule_names = pa.array([rule.name for rule in rules], pa.string())
    marks = pa.StructArray.from_arrays(
        [
            rule_names.take(row_numbers(_joined(numbers)[order])),
            pa.array(["s", "t"]).take(row_numbers(_joined(roles)[order])),
            row_numbers(_joined(partners)[order]),
        ],
        ["rule", "role", "partners"],
    )
    return pa.ListArray.from_arrays(row_numbers(offsets), marks).cast(_MARK_TYPE)


def with_marks(table: Any, relation: Relation, marks: pa.Array) -> Any:
    """The table that came in with one more column, the last; pandas and polars as they are, all else as Arrow."""
    name = _beside(relation)
    root = type(table).__module__.partition(".")[0]
    if root == "pandas":
        levels = table.columns.nlevels
        frame = table.copy(deep=False)
        frame[name if levels == 1 else (name, *[""] * (levels - 1))] = marks.to_pylist()
        return frame
    if root == "polars":
        import polars

        frame = table.collect() if isinstance(table, polars.LazyFrame) else table
        return frame.with_columns(polars.Series(name, polars.from_arrow(marks)))
    return relation.arrow.append_column(name, marks)


def split_by_mask(table: Any, relation: Relation, mask: NDArray[np.bool_], reasons: pa.Array) -> tuple[Any, Any]:
    """The rows that are not of a mask, and those that are with one more column, the last, which has one entry each."""
    name = _beside(relation)
    root = type(table).__module__.partition(".")[0]
    if root == "pandas":
        levels = table.columns.nlevels
        chosen = table[mask].copy(deep=False)
        chosen[name if levels == 1 else (name, *[""] * (levels - 1))] = reasons.to_pylist()
        return table[~mask], chosen
    if root == "polars":
        import polars

        frame = table.collect() if isinstance(table, polars.LazyFrame) else table
        column = polars.Series(name, polars.from_arrow(reasons))
        return frame.filter(~mask), frame.filter(mask).with_columns(column)
    flags = pa.chunked_array([pa.array(mask.tolist(), pa.bool_())])
    return _chosen(relation.arrow, pc.invert(flags)), _chosen(relation.arrow, flags).append_column(name, reasons)


def split_by_marks(marked: Any) -> tuple[Any, Any]:
    """Marked rows split into those that break no rule and those that break one, without the added column, the last."""
    root = type(marked).__module__.partition(".")[0]
    if root == "pandas":
        dirty = marked.iloc[:, -1].map(len).to_numpy() > 0
        plain = marked.iloc[:, :-1]
        return plain[~dirty], plain[dirty]
    if root == "polars":
        import polars

        added = marked.columns[-1]
        broken = polars.col(added).list.len() > 0
        return marked.filter(~broken).drop(added), marked.filter(broken).drop(added)
    last = marked.num_columns - 1
    dirty = pc.greater(pc.list_value_length(marked.column(last)), 0)
    plain = marked.remove_column(last)
    return _chosen(plain, pc.invert(dirty)), _chosen(plain, dirty)


def _beside(relation: Relation) -> str:
    """A name for the added column that no other has."""
    name = MARKS
    while relation.has(name):
        name += "_"
    return name


def _chosen(table: pa.Table, mask: pa.ChunkedArray) -> pa.Table:
    """The rows of a mask; columns of which Arrow cannot choose rows become such of which it can."""
    try:
        return table.filter(mask)
    except pa.ArrowNotImplementedError:
        columns = [_choosable(column) for column in table.columns]
        return pa.table(columns, names=table.column_names).filter(mask)


def _choosable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    return pc.run_end_decode(column) if pa.types.is_run_end_encoded(kind) else column


def _joined(parts: list[Any]) -> Any:
    return np.concatenate([np.empty(0, np.int64), *parts])
