"""The columns of a batch that a watch keeps: those of the first one. Others are let go, unless a rule reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.types as pt

from refute.errors import SchemaError, did_you_mean, ended
from refute.language.rulebook import Rule
from refute.live.arrivals import arrow_of, plain_type
from refute.live.feed import leaves_rows
from refute.relation.types import usable


@dataclass(frozen=True, slots=True)
class Intake:
    """How the rows of a batch are read: as changes, if it is `fed`, else all as new ones."""

    batch: int
    fed: bool
    op: str | None
    order: str | None
    read: Mapping[str, str]
    lost: Mapping[str, int]


def read_by(rules: Sequence[Rule], key: Sequence[str]) -> dict[str, str]:
    """The columns that rules and the key read, each with what reads it."""
    found = dict.fromkeys(key, "the key")
    for rule in rules:
        for name in rule.columns:
            found.setdefault(name, f"rule {rule.name!r}")
    return found


def fitted(
    table: pa.Table,
    schema: pa.Schema | None,
    read: Mapping[str, str],
    lost: Mapping[str, int],
    batch: int,
    part: str | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """A batch with the columns and types of a watch, and the columns that it no longer has, each since a batch.

    A column that nothing reads may be missing, or hold what its type cannot: it is null from then on. Of the first
    batch, one that rules cannot use is left out. Raises SchemaError for one that is read, which names the part of the
    batch that the table is, if it is one.
    """
    what = f"Batch {batch:,}" if part is None else f"{part} of batch {batch:,}"
    if schema is None:
        return arrow_of(table.select(usable(table.schema, read)), None), {}
    if table.schema.equals(schema) and not lost:
        return table, dict(lost)
    gone, known = dict(lost), {*usable(table.schema, read), *read}
    columns = []
    for field in schema:
        column = None
        can_be_kept = field.name in (read if field.name in lost else known)
        if can_be_kept and field.name in table.column_names:
            try:
                column = arrow_of(table.select([field.name]), pa.schema([field])).column(0)
            except SchemaError as error:
                if field.name in read:
                    raise SchemaError(
                        f"{what} has a different type than before in a column that {read[field.name]} reads: "
                        f"{ended(str(error))}",
                        column=field.name,
                        type=error.facts.get("type"),
                        expected=str(field.type),
                    ) from error
        elif field.name in read:
            raise SchemaError(
                f"{what} lacks the column {field.name!r}, which {read[field.name]} reads."
                f"{did_you_mean(field.name, table.column_names)}",
                column=field.name,
                known=tuple(table.column_names),
            )
        if column is None:
            gone.setdefault(field.name, batch)
            column = pa.chunked_array([pa.nulls(len(table), field.type)])
        columns.append(column)
    return pa.table(columns, [field.name for field in schema]), gone


def with_words(fit: pa.Table, feed: pa.Table, intake: Intake) -> pa.Table:
    """The fitted rows of a feed with what says what is done with them, and in which order if rows do not keep that."""
    op, order = intake.op, intake.order
    if not intake.fed or op is None:
        return fit
    if order is not None and order not in fit.column_names and len(feed):
        if order not in feed.column_names:
            raise SchemaError(
                f"Batch {intake.batch:,} lacks the column {order!r}, which the order of changes reads."
                f"{did_you_mean(order, feed.column_names)}",
                column=order,
                known=tuple(feed.column_names),
            )
        fit = fit.append_column(order, feed.column(order))
    return fit.append_column(op, feed.column(op))


def completed(table: pa.Table, intake: Intake, schema: pa.Schema, key: Sequence[str]) -> pa.Table:
    """A feed with all columns: null in those that are not read, as no row comes with it."""
    op = intake.op
    if op is None or not intake.fed:
        return table
    if op not in table.column_names and not len(table):
        return schema.empty_table().append_column(op, pa.nulls(0, pa.string()))
    if op not in table.column_names or leaves_rows(table.column(op)):
        return table
    needed = [name for name in dict.fromkeys((*key, intake.order, op)) if name in table.column_names]
    found = table.select(needed)
    for one in schema:
        if one.name not in (*key, intake.order, op):
            found = found.append_column(one, pa.nulls(len(table), one.type))
    return found


def refuse_lost(rules: Sequence[Rule], key: Sequence[str], lost: Mapping[str, int]) -> None:
    """Raises SchemaError for a rule that reads a column which rows of some batches did not have."""
    for name, reader in read_by(rules, key).items():
        if name in lost:
            raise SchemaError(
                f"The column {name!r}, which {reader} reads, is missing in the rows since batch {lost[name]:,}. Start "
                "a new state for this rule.",
                column=name,
            )


def sure_to_fit(rows: pa.Schema, schema: pa.Schema) -> list[str]:
    """The columns of rows whose types hold no value that those of a watch do not, as far as these have the columns."""
    return [name for name in schema.names if name in rows.names and _holds(schema.field(name), rows.field(name))]


def _holds(kept: pa.Field, coming: pa.Field) -> bool:
    own, kind = plain_type(coming.type), kept.type
    if own == kind or pt.is_null(own) or pt.is_null(kind):
        return True
    if pt.is_signed_integer(own) and pt.is_signed_integer(kind):
        return bool(own.bit_width <= kind.bit_width)
    return bool(pt.is_float32(own) and pt.is_float64(kind))
