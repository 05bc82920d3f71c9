"""The columns of a monitor and the indexes over them: what answers a change of rows, and keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from refute.index.key_table import KeyTable
from refute.index.run import Run
from refute.kernels.runs.rows import Lines
from refute.language.arithmetic import refuse_formulas
from refute.language.rulebook import Rule
from refute.live.columns import Columns, ReadRows
from refute.live.indexes.index import Index, Longs
from refute.live.indexes.methods import index_of
from refute.live.indexes.runs import RunsIndex
from refute.live.rows import Alive, Rows
from refute.relation import Relation
from refute.relation.binding import check_rules
from refute.relation.keys.encoding import Encoding
from refute.relation.keys.state import EncodingState

if TYPE_CHECKING:
    from refute.live.state import State


@dataclass(frozen=True, slots=True)
class FrameParts:
    """What of a frame is saved."""

    nullable: frozenset[str]
    encodings: dict[tuple[str, ...], tuple[Encoding, EncodingState]]  # which one, and what it knows at this moment
    runs: tuple[tuple[Run, ...], ...] | None  # None where an index is made from the rows


class Frame:
    """Columns as integers, and rows by what rules compare and by key. Indexes that are lost are made from the rows."""

    def __init__(self, schema: pa.Schema, columns: Columns, method: str) -> None:
        self.schema = schema
        self.columns = columns
        self._method = method
        self._index: Index | None = index_of(method, columns.watched())
        self._keys = KeyTable(len(columns.key))
        self._generations = columns.generations

    @classmethod
    def of(cls, schema: pa.Schema, rules: Sequence[Rule], key: Sequence[str], method: str) -> Frame:
        """The frame for rows of these columns; raises SchemaError where rules or the key do not fit them."""
        refuse_formulas(schema.names)
        check_rules(Relation.of(schema.empty_table()), rules, key)
        types = {field.name: field.type for field in schema}
        return cls(schema, Columns(types, rules, key), method)

    @classmethod
    def restored(
        cls,
        schema: pa.Schema,
        columns: Columns,
        method: str,
        runs: Sequence[Sequence[Run]] | None,
        rows: Rows,
        alive: Alive,
    ) -> Frame:
        """The frame of columns and runs that were saved. Keys are read from the rows, which alone says them all."""
        found = cls(schema, columns, method)
        found._index = None
        if runs is not None:
            index = RunsIndex(columns.watched())
            index.restore(runs, alive)
            found._index = index
            if columns.key:
                slots, table = rows.living(alive, columns.key)
                found.keep_keys(ReadRows(table), slots)
        found._generations = columns.generations
        return found

    def parts(self) -> FrameParts:
        """What is saved of this moment."""
        index = self._index
        usable = isinstance(index, RunsIndex) and self._generations == self.columns.generations
        return FrameParts(
            frozenset(self.columns.nullable),
            {names: (one, one.state()) for names, one in self.columns.encodings.items()},
            tuple(map(tuple, index.runs())) if usable and isinstance(index, RunsIndex) else None,
        )

    def widened(self, schema: pa.Schema) -> Frame:
        """A frame with types for columns that have held nothing but null. Types decide on integers: all are new."""
        found = Frame.of(schema, self.columns.rules, self.columns.key, self._method)
        found.lose()
        return found

    @cached_property
    def no_rows(self) -> pa.Table:
        """A table of these columns without rows, which Arrow takes longer to make than an index to lose a row."""
        return self.schema.empty_table()

    @property
    def nbytes(self) -> int:
        """The memory of indexes and of the values that are remembered."""
        remembered = sum(encoding.nbytes for encoding in self.columns.encodings.values())
        return remembered + self._keys.nbytes + (0 if self._index is None else self._index.nbytes)

    def note(self, nulls: set[str]) -> None:
        """Hears in which columns nulls have come: rules that shared rows until then may have to part."""
        if not nulls <= self.columns.nullable:
            before = _partition(self.columns)
            self.columns.nullable |= nulls
            if _partition(self.columns) != before:
                self._index = None

    def lose(self) -> None:
        """Gives indexes up that are not to be trusted, that of keys too."""
        self._index = None

    def ready(self, state: State) -> Index:
        """The index of all rows, which is rebuilt where it was lost, or where integers have been replaced."""
        if self._index is None or self._generations != self.columns.generations:
            slots, table = state.living()
            rows = ReadRows(table.cast(self.schema) if len(slots) else self.no_rows)
            batch, nulls = self.columns.batch(rows, slots, extend=True)
            self.columns.nullable |= nulls
            index = index_of(self._method, self.columns.watched())
            index.load(batch)
            self._keys = KeyTable(len(self.columns.key))
            self.keep_keys(rows, slots)
            self._index, self._generations = index, self.columns.generations
        return self._index

    def find(self, keys: Lines, state: State) -> Longs:
        """The slot of each key, -1 where there is none."""
        if self._index is None:  # keys were lost with it
            self.ready(state)
        return self._keys.find(keys)

    def keep_keys(self, rows: ReadRows, slots: Longs) -> None:
        """Takes the keys of rows in."""
        if self.columns.key:
            self._keys.put(self.columns.key_lines(rows, extend=True)[0], slots)

    def forget_keys(self, rows: ReadRows) -> None:
        """Lets the keys of rows go."""
        if self.columns.key:
            self._keys.remove(self.columns.key_lines(rows, extend=False)[0])


def _partition(columns: Columns) -> list[int]:
    """Which sides of rules admit the same rows: equal numbers."""
    known: dict[object, int] = {}
    return [
        known.setdefault(one.filter(side, columns.nullable), len(known)) for one in columns.followed for side in (0, 1)
    ]
