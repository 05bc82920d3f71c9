"""Which values a report keeps to itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from refute.errors import RefuteError
from refute.faults import unknown_column

HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Discretion:
    """Columns whose values are not shown, or with `everything` no values at all. Positions of rows are no values; a key
    is hidden like any other column."""

    columns: frozenset[str] = frozenset()
    everything: bool = False

    @classmethod
    def of(cls, columns: Iterable[str], known: Sequence[str], *, everything: bool = False) -> Discretion:
        """The discretion for a table with these columns; raises SchemaError for others."""
        names = frozenset(columns)
        for name in sorted(names):
            if name not in known:
                raise unknown_column(name, known)
        return cls(names, everything)

    def __bool__(self) -> bool:
        return self.everything or bool(self.columns)

    def hides(self, *names: str) -> bool:
        """Whether the values of one of these columns are hidden."""
        return self.everything or not self.columns.isdisjoint(names)

    def value(self, name: str, value: Any) -> Any:
        """The value of a column, or what stands in its place. That a cell is null is hidden too."""
        return HIDDEN if self.hides(name) else value

    def values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a row by column."""
        return {name: self.value(name, value) for name, value in row.items()}

    def row_id(self, row_id: Any, key: Sequence[str]) -> Any:
        """The id of a row: its position, the value of its key, or a mapping."""
        if isinstance(row_id, dict):
            return self.values(row_id)
        return self.value(key[0], row_id) if len(key) == 1 else row_id

    @contextmanager
    def errors(self) -> Iterator[None]:
        """An error raised meanwhile does not show hidden values either; cells of unknown columns count as hidden."""
        try:
            yield
        except RefuteError as error:
            shown = error.hiding(lambda name: bool(self) if name is None else self.hides(name), HIDDEN)
            if shown is error:
                raise
            raise shown from None


OPEN = Discretion()
"""Nothing is hidden."""
