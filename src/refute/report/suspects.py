"""Suspects as users see them: how many, who, why, and what their cells should say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from refute.detect.engine import SuspectListing
from refute.relation.shown import shown_values
from refute.report.numbers import plural

if TYPE_CHECKING:
    import pandas
    import polars


class SuspectCell(NamedTuple):
    """A cell in question: what it says, what it should say where that is known, and what speaks for it."""

    column: str
    value: str | None
    suggested: str | None
    support: str | None


class Suspect(NamedTuple):
    """One row under one rule that blames it.

    `violations` are those it takes part in, `clears` those of them with rows that stay: they would come back with it.
    `either` says that nothing shows which of the rows with one key is wrong; of these one stays, with `removed` false.
    """

    row: Any
    rule: str
    severity: str
    either: bool
    removed: bool
    violations: int
    clears: int
    cells: tuple[SuspectCell, ...]


class Suspects:
    """A small set of rows whose removal leaves a table that obeys every rule: one line for each row and rule.

    `count` rows go; no fewer than `bound` can do, which is proven. `shares` says what part of all rows each rule
    blames: a rule that is wrong itself blames many.
    """

    def __init__(self, listing: SuspectListing) -> None:
        self._listing = listing
        self.count = listing.n_suspects
        self.bound = listing.bound

    @property
    def exact(self) -> bool:
        """Whether it is known that no smaller set of rows would do."""
        return self.count == self.bound

    @property
    def shares(self) -> dict[str, float]:
        """The share of all rows that each rule blames, by its name."""
        rows = max(self._listing.n_rows, 1)
        return {name: blamed / rows for name, blamed in self._listing.blamed.items()}

    @property
    def summary(self) -> str:
        """How many they are, and how few they could be: `17 rows; no fewer than 15 can do`."""
        if self.count == 0:
            return "no rows"
        if self.exact:
            return f"{plural(self.count, 'row')}; no fewer can do"
        return f"{plural(self.count, 'row')}; no fewer than {self.bound:,} can do"

    def split(self) -> tuple[Any, Any]:
        """The rows that stay, and the suspects, which have one more column `refute`: a list of why each is one."""
        return self._listing.split()

    def to_arrow(self) -> pa.Table:
        """The lines as an Arrow table, sorted by row; `cells` are lists."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """The lines as a pandas DataFrame."""
        return self._table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The lines as a polars DataFrame."""
        import polars

        frame = polars.from_arrow(self._table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    @cached_property
    def _table(self) -> pa.Table:
        return self._listing.table()

    def __iter__(self) -> Iterator[Suspect]:
        names = self._table.column_names
        columns = [shown_values(self._table.column(name)) for name in names]
        for values in zip(*columns, strict=True):
            line = dict(zip(names, values, strict=True))
            yield Suspect(**{**line, "cells": tuple(SuspectCell(**cell) for cell in line["cells"])})

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return f"Suspects({self.summary})"

    def __str__(self) -> str:
        from refute.report.suspects_as_text import render

        return render(self)

    def _repr_html_(self) -> str:
        from refute.report.as_html import render_suspects

        return render_suspects(self)
