"""Rows of files that arrive together: each file is read as it would be if it came alone, in the order of names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.types as pt

from refute.errors import SchemaError, ended
from refute.faults import no_operations
from refute.live.feed import leaves_rows
from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.file_parts import FilePart, read_parts
from refute.relation.read.files import read_files
from refute.relation.read.formats import FileFormat
from refute.relation.read.like import retyped
from refute.relation.read.schema import Schema
from refute.watching.intake import Intake, completed, fitted, with_words

_UNTYPED = (FileFormat.CSV, FileFormat.TSV, FileFormat.JSON)


@dataclass(frozen=True, slots=True)
class FileBatch:
    """The files of a batch below a folder or glob, how they are read, and how the batch is taken."""

    files: Sequence[Path]
    path: str
    intake: Intake
    key: tuple[str, ...]
    schema: Schema | None = None
    csv: CsvOptions = USUAL

    def table(self, known: pa.Schema | None) -> pa.Table:
        """The rows of all files; with the columns and types that are known, where the files have not all the same.

        A column that nothing reads is left out where a file lacks it, or holds what its type cannot. Raises SchemaError
        where that is one that is read.
        """
        parts = read_parts(self.files, self.path, self.schema, self.csv, self._needed)
        if len(parts) == 1:
            (part,) = parts
            return self._untyped(part, part.table) if known is None else self._retyped(part, known)
        known = self._first_schema(parts) if known is None else known
        tables, lost = [], set[str]()
        for part in parts:
            table, gone = self._fitted(part, known)
            known = pa.schema([table.schema.field(name) for name in known.names])  # null until a value has come
            tables.append(table)
            lost |= gone
        try:
            whole = pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:  # of the order of changes alone, as all else has the known types
            raise SchemaError(
                f"Files of batch {self.intake.batch:,} have different types in {self.intake.order!r}, the order of "
                f"changes: {ended(str(error))}",
                column=self.intake.order,
                reason=str(error),
            ) from error
        return whole.drop_columns(sorted(lost))

    def _retyped(self, part: FilePart, known: pa.Schema) -> pa.Table:
        if self.schema is not None:
            return part.table
        one, needed = self.intake, self._needed
        spare = [name for name in known.names if name not in needed]
        table = retyped(
            part.table, part.files, self.path, known, one.op, order=one.order, needed=needed, spare=spare, csv=self.csv
        )
        return self._untyped(part, table)

    def _untyped(self, part: FilePart, table: pa.Table) -> pa.Table:
        """The table, whose columns without any value have no type where files do not say one: later values do."""
        if self.schema is not None or part.kind not in _UNTYPED:
            return table
        for place, field in enumerate(table.schema):
            is_empty = pt.is_string(field.type) and table.column(place).null_count == len(table)
            if is_empty and field.name not in (self.intake.op, self.intake.order):
                table = table.set_column(place, field.name, pa.nulls(len(table)))
        return table

    @property
    def _needed(self) -> set[str]:
        """The columns that something reads. Others may hold anything, and be in a file or not."""
        one = self.intake
        return {*one.read, *self.key} | {name for name in (one.op, one.order) if name is not None}

    def _fitted(self, part: FilePart, known: pa.Schema) -> tuple[pa.Table, set[str]]:
        """The rows of some files as those of a batch of their own, and the columns that are lost with them."""
        one, name = self.intake, _named(part)
        table = self._retyped(part, known)
        if one.fed and one.op not in table.column_names:
            raise no_operations(str(one.op), table.column_names, name)
        table = completed(table, one, known, self.key)
        rows = table if one.op is None or one.op not in table.column_names else table.drop_columns([one.op])
        fit, lost = fitted(rows, known, one.read, {}, one.batch, name)
        return with_words(fit, table, one), set(lost)

    def _first_schema(self, parts: Sequence[FilePart]) -> pa.Schema:
        """The columns and types that the first files define: those of one format which have all that is read.

        Cells of CSV have no type of their own, so those of all these files say it; else it is the first file where
        types do not go together.
        """
        one = self.intake
        coming = [part for part in parts if not one.fed or _leaves_rows(part.table, one.op)] or parts
        whole = [part for part in coming if {*one.read} <= {*part.table.column_names}] or coming
        alike = [part for part in whole if part.kind is whole[0].kind]
        table = alike[0].table
        if len(alike) > 1 and alike[0].kind in (FileFormat.CSV, FileFormat.TSV):
            files = [file for part in alike for file in part.files]
            table = read_files(files, self.path, self.schema, self.csv, shared=True, needed=self._needed)
        elif len(alike) > 1:
            with suppress(pa.ArrowException):
                table = pa.concat_tables([part.table for part in alike], promote_options="permissive")
        rows = self._untyped(alike[0], table)
        rows = rows.drop_columns([name for name in (one.op,) if name in table.column_names])
        return fitted(rows, None, one.read, {}, one.batch)[0].schema


def _leaves_rows(table: pa.Table, op: str | None) -> bool:
    return op not in table.column_names or leaves_rows(table.column(op))


def _named(part: FilePart) -> str:
    """The files of a part, in a message."""
    more = len(part.files) - 1
    return part.files[0].name + (f" and {more:,} more" if more else "")
