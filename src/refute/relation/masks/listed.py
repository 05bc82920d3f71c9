"""Rows whose values another table has: what a foreign key asks, exact across types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.errors import RefuteError, SchemaError
from refute.faults import in_references, unknown_column
from refute.language.conditions import InTable
from refute.relation.keys.composite import composite
from refute.relation.keys.encoding import Encoding
from refute.relation.read.files import read_local
from refute.relation.types import ColumnType, Family, clash

if TYPE_CHECKING:
    from refute.relation.relation import Relation

Mask = NDArray[np.bool_]
Longs = NDArray[np.int64]


def listed_mask(relation: Relation, listed: InTable) -> Mask:
    """The rows whose values the other table has, or has not; neither where one of them is null."""
    try:
        other = read_local(listed.path)
    except RefuteError as error:
        raise in_references(error, listed.names) from error
    check_listed(listed, relation.schema, {name: other.schema.field(name).type for name in other.column_names})
    known = np.ones(relation.n_rows, np.bool_)
    theirs = np.ones(other.num_rows, np.bool_)
    own_lines, their_lines = [], []
    for name, column in zip(listed.names, listed.columns, strict=True):
        mine, given = relation.column(name), other.column(column)
        if pt.is_null(mine.type):
            return np.zeros(relation.n_rows, np.bool_)
        if pt.is_null(given.type):
            given = pa.chunked_array([pa.nulls(len(given), mine.type)])
        encoding = Encoding((mine.type, given.type))
        them = encoding.codes(given, extend=True)
        us = encoding.codes(mine)
        known &= us.valid.view(np.bool_) if len(us.valid) else True
        theirs &= them.valid.view(np.bool_) if len(them.valid) else True
        own_lines.append(us.values)
        their_lines.append(them.values)
    mine_numbered, given_numbered = _numbered(own_lines, their_lines)
    there = np.isin(mine_numbered, given_numbered[theirs])
    return known & (~there if listed.negated else there)


def check_listed(listed: InTable, own: dict[str, ColumnType], others: dict[str, pa.DataType]) -> None:
    """Raises SchemaError unless the other table has its columns and they compare with those of this one."""
    for name, column in zip(listed.names, listed.columns, strict=True):
        if column not in others:
            raise unknown_column(column, list(others), where=f" of {listed.path}")
        mine, given = own[name], ColumnType.of(column, others[column])
        hint = clash(mine.family, given.family)
        if given.family is Family.UNSUPPORTED:
            hint = "Values of that type cannot be compared."
        if hint is not None:
            raise SchemaError(
                f"Cannot compare {mine} with {given} of {listed.path}. {hint}",
                columns=(name, column),
                path=listed.path,
            )


def _numbered(own: list[Longs], others: list[Longs]) -> tuple[Longs, Longs]:
    """One number for each row of both tables, equal where all columns are."""
    if len(own) == 1:
        return own[0], others[0]
    columns = (np.unique(np.concatenate(pair), return_inverse=True)[1] for pair in zip(own, others, strict=True))
    sized = ((codes, int(codes.max(initial=0)) + 1) for codes in columns)
    numbers, _ = composite(sized, len(own[0]) + len(others[0]))
    return numbers[: len(own[0])], numbers[len(own[0]) :]
