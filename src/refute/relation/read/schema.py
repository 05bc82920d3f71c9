"""A schema that a user gives for files: columns, their types, and whether a file begins with their names.

CSV and JSON carry text. Every reader holds the text of a cell against the pattern of its type before it casts it, so
that a schema means the same whoever reads the file, and a cell is never taken for a value it does not spell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from refute.errors import DataError, OptionError, did_you_mean
from refute.relation.read.csv.header import listed
from refute.relation.read.csv.types import DAY, FEW, TIME, CsvType

ODD = pa.binary()  # the type of a column that cannot be read and need not be: no rule can use it
_INTEGER = r"\A[+-]?[0-9]+\z"
_FLOAT = r"\A(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|NaN|[+-]?Infinity)\z"
_MOMENT = rf"\A{DAY}(?:[ T]{TIME})?\z"
_INSTANT = rf"\A{DAY}[ T]{TIME}(?:Z|[+-](?:0[0-9]|1[0-7]):[0-5][0-9])\z"

_FIELD = re.compile(r"(?:`(?:[^`]|``)*`|\([^()]*\)|<.*>|[^,`(<])+")
_NAME_AND_TYPE = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s`:]+))\s*[\s:]\s*(.*?)\s*", re.DOTALL)
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?:\(\s*([0-9]+)\s*(?:,\s*([0-9]+)\s*)?\))?")
_LIKE = 'Write it like "id bigint, name string".'


@dataclass(frozen=True, slots=True)
class CellType:
    """A type of Spark, by its name there, with the Arrow type of the same values and the pattern of its cells."""

    name: str
    arrow: pa.DataType
    pattern: str | None = None  # None: any text

    @classmethod
    def of(cls, text: str, column: str) -> CellType:
        """The type that a text names; raises OptionError where there is none."""
        word = text.strip().lower()
        decimal = _DECIMAL.fullmatch(word)
        if decimal is not None:
            return _decimal(int(decimal.group(1) or 10), int(decimal.group(2) or 0), text, column)
        found = _BY_NAME.get(_OTHER_NAMES.get(word, word))
        if found is None:
            known = [*_BY_NAME, "decimal(p,s)"]
            raise OptionError(
                f"{text.strip()!r} is not a type for the column {column!r}. Types are {', '.join(known)}."
                f"{did_you_mean(word, [*known, *_OTHER_NAMES])}",
                option="schema",
                column=column,
                type=text.strip(),
                known=tuple(known),
            )
        return found

    def values(self, cells: pa.ChunkedArray, column: str, where: str) -> pa.ChunkedArray:
        """Text cells as values, null where empty unless they are text; raises DataError where one does not fit."""
        if self.pattern is None:
            return cells
        if len(cells) <= FEW:
            return self._few_values(cells, column, where)
        filled = pc.if_else(pc.equal(cells, ""), None, cells)
        wrong = filled.filter(pc.invert(pc.match_substring_regex(filled, self.pattern)))
        if len(wrong):
            raise self.misfit(wrong[0].as_py(), column, where)
        unsigned = pc.replace_substring_regex(filled, r"\A\+", "")  # a sign that Arrow does not know
        try:
            return unsigned.cast(self.arrow)
        except pa.ArrowInvalid:
            raise self.misfit(next(filter(self._is_none, unsigned.to_pylist())), column, where) from None

    def _few_values(self, cells: pa.ChunkedArray, column: str, where: str) -> pa.ChunkedArray:
        """The same with few calls of Arrow, which cost more than a few cells do."""
        assert self.pattern is not None
        matches = _compiled(self.pattern).match
        filled = [cell or None for cell in cells.to_pylist()]
        for cell in filled:
            if cell is not None and not matches(cell):
                raise self.misfit(cell, column, where)
        unsigned = [None if cell is None else cell.removeprefix("+") for cell in filled]
        try:
            return pa.chunked_array([pa.array(unsigned, pa.string()).cast(self.arrow)])
        except pa.ArrowInvalid:
            wrong = next(cell for cell in unsigned if cell is not None and self._is_none(cell))
            raise self.misfit(wrong, column, where) from None

    def _is_none(self, cell: str | None) -> bool:
        """Whether a cell of the right shape is not a value after all, as 2021-02-30 is not a date."""
        try:
            pa.scalar(cell, pa.string()).cast(self.arrow)
        except pa.ArrowInvalid:
            return True
        return False

    def misfit(self, cell: str, column: str, where: str) -> DataError:
        """The error for a cell that is not a value of the type."""
        shown = cell if len(cell) <= 80 else cell[:80] + "..."
        hint = " One without an offset such as +01:00 is a timestamp_ntz." if self.name == "timestamp" else ""
        return DataError(
            f"Column {column!r} of {where!r} has a cell {shown!r}, which is not a valid {self.name}.{hint}",
            column=column,
            path=where,
            value=cell,
            type=self.name,
            quoted=((column, repr(shown)),),
        )


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns to read, by name and in order, and whether CSV files have a header; without one, theirs is this."""

    types: Mapping[str, CellType]
    header: bool = True

    @classmethod
    def of(cls, given: Any, *, header: bool = True) -> Schema | None:
        """The schema of a text such as `id bigint, name string`, of a mapping, or of a StructType; None of None."""
        if given is None:
            if not header:
                raise OptionError(
                    f"A file without a header needs a schema that names its columns. {_LIKE}", option="schema"
                )
            return None
        if isinstance(given, Schema):
            return given
        types: dict[str, CellType] = {}
        for name, kind in _fields(given):
            if name in types:
                raise OptionError(f"The schema has more than one column {name!r}.", option="schema", column=name)
            types[name] = CellType.of(kind, name)
        if not types:
            raise OptionError(f"The schema has no columns. {_LIKE}", option="schema")
        return cls(types, header)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in order."""
        return tuple(self.types)

    def require(self, known: Iterable[str], where: str, needed: Collection[str] | None = None) -> None:
        """Raises DataError where the data lacks a column, one of those that are `needed` if these are given."""
        names = dict.fromkeys(known)
        for name in self.types:
            if name not in names and (needed is None or name in needed):
                there = f"Its columns are {listed(list(names))}." if names else "It has no columns."
                raise DataError(
                    f"The schema has a column {name!r}, which {where!r} lacks. {there}{did_you_mean(name, names)}",
                    column=name,
                    known=tuple(names),
                    path=where,
                )

    def table(
        self, cells: Mapping[str, pa.ChunkedArray], where: str, needed: Collection[str] | None = None
    ) -> pa.Table:
        """Columns of text as a table of this schema; raises DataError where they do not fit.

        Columns that are not `needed`, if these are given, may be missing, and are `ODD` where they do not fit.
        """
        columns = {}
        for name, kind in self.types.items():
            if name in cells or needed is None or name in needed:
                try:
                    columns[name] = kind.values(cells[name], name, where)
                except DataError:
                    if needed is None or name in needed:
                        raise
                    columns[name] = pa.chunked_array([pa.nulls(len(cells[name]), ODD)])
        return pa.table(columns)


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(r"\z", r"\Z"))


def schema_like(wanted: pa.Schema) -> Schema | None:
    """The schema under which files give columns of these types; None where one of them has no name here."""
    by_type = {kind.arrow: kind for kind in _BY_NAME.values()}
    found: dict[str, CellType] = {}
    for field in wanted:
        kind = field.type
        if pa.types.is_decimal(kind):
            found[field.name] = CellType.of(f"decimal({kind.precision},{kind.scale})", field.name)
        elif kind in by_type:
            found[field.name] = by_type[kind]
        else:
            return None
    return Schema(found)


def types_of_their_own(format_name: str, path: str) -> OptionError:
    """The error for a schema beside files that have one."""
    return OptionError(
        f"{path!r} is {format_name}, which has its own schema. Leave out schema= and header= (--schema, --no-header).",
        path=path,
        type=format_name,
    )


def without_header(path: str) -> OptionError:
    """The error for the option of a format that has no header."""
    return OptionError(
        f"{path!r} is not CSV: header=False (--no-header) applies to CSV files only.", path=path, option="header"
    )


def _fields(given: Any) -> Sequence[tuple[str, str]]:
    """The names and the texts of the types."""
    if isinstance(given, str):
        return [_field(part) for part in _parts(given)]
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif any(cls.__name__ == "StructType" for cls in type(given).__mro__):
        pairs = [(field.name, field.dataType.simpleString()) for field in given.fields]
    else:
        raise OptionError(
            f"A schema must be a text, a mapping or a StructType, not {type(given).__name__}. {_LIKE}",
            option="schema",
            type=type(given).__name__,
        )
    for name, kind in pairs:
        if not isinstance(name, str) or not isinstance(kind, str):
            raise OptionError(
                f"A schema maps column names to type names, not {name!r} to {kind!r}.", option="schema", column=name
            )
    return pairs


def _parts(text: str) -> list[str]:
    """What stands between the commas of a schema's text."""
    parts, start = [], 0
    while start <= len(text) and text.strip():
        found = _FIELD.match(text, start)
        end = found.end() if found else start
        if end < len(text) and text[end] != ",":
            raise OptionError(
                f"Cannot read the schema from {text[end:]!r} on. {_LIKE}", option="schema", text=text[end:]
            )
        parts.append(text[start:end])
        start = end + 1
    return parts


def _field(part: str) -> tuple[str, str]:
    found = _NAME_AND_TYPE.fullmatch(part)
    if found is None or not found.group(3):
        raise OptionError(
            f"{part.strip()!r} in the schema is not a column with its type. {_LIKE}", option="schema", text=part.strip()
        )
    quoted, plain, kind = found.groups()
    return quoted.replace("``", "`") if quoted else plain, kind


def _decimal(precision: int, scale: int, text: str, column: str) -> CellType:
    if not 1 <= precision <= 38 or scale > precision:
        raise OptionError(
            f"{text.strip()!r} is not a type for the column {column!r}: a decimal has 1 to 38 digits, and no more "
            "after the point than in all.",
            option="schema",
            column=column,
            type=text.strip(),
        )
    before = f"[0-9]{{1,{precision - scale}}}" if precision > scale else "0"
    after = rf"(?:\.[0-9]{{0,{scale}}}0*)?"
    pattern = rf"\A[+-]?0*{before}{after}\z"
    return CellType(f"decimal({precision},{scale})", pa.decimal128(precision, scale), pattern)


_BY_NAME = {
    kind.name: kind
    for kind in (
        CellType("boolean", pa.bool_(), CsvType.BOOLEAN.value),
        CellType("tinyint", pa.int8(), _INTEGER),
        CellType("smallint", pa.int16(), _INTEGER),
        CellType("int", pa.int32(), _INTEGER),
        CellType("bigint", pa.int64(), _INTEGER),
        CellType("float", pa.float32(), _FLOAT),
        CellType("double", pa.float64(), _FLOAT),
        CellType("string", pa.string()),
        CellType("date", pa.date32(), CsvType.DATE.value),
        CellType("timestamp_ntz", pa.timestamp("us"), _MOMENT),
        CellType("timestamp", pa.timestamp("us", tz="UTC"), _INSTANT),
    )
}
_OTHER_NAMES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
}
