"""Suspects as users see them: how many, who, why, and what their cells should say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.blame.flat import by_cell
from refute.detect.engine import SuspectListing
from refute.display.plurals import plural
from refute.errors import OptionError
from refute.faults import needing
from refute.language.rulebook import Severity
from refute.relation.arrays import row_numbers
from refute.relation.shown import shown_values
from refute.report.discretion import HIDDEN, OPEN, Discretion

if TYPE_CHECKING:
    import pandas
    import polars


class SuspectCell(NamedTuple):
    """A cell in question: what it says, what it should say where that is known, and what speaks for it."""

    column: str
    value: str | None
    suggestion: str | None
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

    `count` rows go; no fewer than `lower_bound` will do, which is proven. `shares` says what part of all rows each rule
    blames: a rule that is wrong itself blames many. `notes` say how they were found, or what counts for them.
    """

    def __init__(
        self,
        listing: SuspectListing,
        discretion: Discretion = OPEN,
        read: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """What `discretion` hides is not shown, nor what supports a value where it might name a hidden one: `read` are
        the columns of all rules that blame."""
        self._listing = listing
        self._discretion = discretion
        self._unsupported = discretion.everything or (bool(discretion) and (read is None or discretion.hides(*read)))
        self.count = listing.n_suspects
        self.lower_bound = listing.bound
        self.notes = (*listing.notes, *notes)

    @cached_property
    def rows(self) -> list[Any]:
        """The ids of the rows that go, each once, in the order of the table."""
        lines = self._listing.table()
        ids = shown_values(lines.filter(lines.column("removed")).column("row"))
        return [row for place, row in enumerate(ids) if place == 0 or row != ids[place - 1]]

    @property
    def exact(self) -> bool:
        """Whether it is known that no smaller set of rows would do."""
        return self.count == self.lower_bound

    @property
    def shares(self) -> dict[str, float]:
        """The share of all rows that each rule blames, by its name; rules of severity `error` come first."""
        rows = max(self._listing.n_rows, 1)
        return {name: blamed / rows for name, blamed in self._listing.blamed.items()}

    @property
    def summary(self) -> str:
        """How many they are, and how few they could be: `17 rows; no fewer than 15 will do`."""
        if self.count == 0:
            return "no rows"
        if self.exact:
            return f"{plural(self.count, 'row')}; no fewer will do"
        return f"{plural(self.count, 'row')}; no fewer than {self.lower_bound:,} will do"

    def split(self) -> tuple[Any, Any]:
        """The rows that stay, and the suspects, which have one more column `refute`: a list of why each is one."""
        return self._listing.split()

    def to_arrow(self) -> pa.Table:
        """One line for each row, rule and cell in question, by row: the row (its key columns where there is a key), the
        rule, the violations, how many it clears, and the column, its value, a suggestion and what supports it."""
        return self._flat

    def to_pandas(self) -> pandas.DataFrame:
        """What `to_arrow` gives, as a pandas DataFrame."""
        with needing("to_pandas()"):
            return self._flat.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """What `to_arrow` gives, as a polars DataFrame."""
        with needing("to_polars()"):
            import polars
        frame = polars.from_arrow(self._flat)
        assert isinstance(frame, polars.DataFrame)
        return frame

    @cached_property
    def _lines(self) -> pa.Table:
        lines = self._listing.table()
        return self._discreet(lines) if self._discretion else lines

    @cached_property
    def _flat(self) -> pa.Table:
        return by_cell(self._lines, self._listing.key)

    def _discreet(self, lines: pa.Table) -> pa.Table:
        """The lines without hidden values; columns of ids that are hidden become text."""
        hide, cells = self._discretion, lines.column("cells").combine_chunks()
        shown = [
            None
            if cell is None
            else {
                **cell,
                "value": hide.value(cell["column"], cell["value"]),
                "suggestion": cell["suggestion"] and hide.value(cell["column"], cell["suggestion"]),
                "support": None if self._unsupported else cell["support"],
            }
            for cell in shown_values(cells.flatten())
        ]
        quiet = pa.ListArray.from_arrays(_offsets(cells), pa.array(shown, cells.type.value_type))
        found = lines.set_column(lines.schema.get_field_index("cells"), "cells", quiet)
        if not self._listing.key or not hide.hides(*self._listing.key):
            return found
        ids = lines.column("row").combine_chunks()
        if not pa.types.is_struct(ids.type):
            return found.set_column(0, "row", pa.array([HIDDEN] * len(ids), pa.string()))
        parts = [
            pa.array([HIDDEN] * len(ids), pa.string()) if hide.hides(field.name) else part
            for field, part in zip(ids.type, ids.flatten(), strict=True)
        ]
        return found.set_column(0, "row", pa.StructArray.from_arrays(parts, [field.name for field in ids.type]))

    def first(self, number: int | None = None) -> list[Suspect]:
        """The lines of the rows to look at first: those that a rule of severity `error` blames before those that only
        rules of severity `warn` do, then those in the most violations of all rules together; all lines of a row
        together, and `number` lines at most."""
        if number is not None and number < 0:
            raise OptionError(
                f"first() takes a number of lines from 0 on, not {number}.", option="number", value=number
            )
        places = _urgent_first(self._listing.table())[:number]
        return list(_told(self._lines.take(row_numbers(places))))

    def __iter__(self) -> Iterator[Suspect]:
        return _told(self._lines)

    def __len__(self) -> int:
        return int(self._lines.num_rows)

    def __repr__(self) -> str:
        return f"Suspects({self.summary})"

    def __str__(self) -> str:
        from refute.report.forms.suspects_as_text import render

        return render(self)

    def _repr_html_(self) -> str:
        from refute.report.page.page import render_suspects

        return render_suspects(self)


def _offsets(lists: pa.ListArray) -> pa.Array:
    """Where each list begins among all values, from 0 on, and where the last ends."""
    return pa.array(np.append(0, np.cumsum(pc.list_value_length(lists).to_numpy(zero_copy_only=False))), pa.int32())


def _told(lines: pa.Table) -> Iterator[Suspect]:
    names = lines.column_names
    columns = [shown_values(lines.column(name)) for name in names]
    for values in zip(*columns, strict=True):
        line = dict(zip(names, values, strict=True))
        yield Suspect(**{**line, "cells": tuple(SuspectCell(**cell) for cell in line["cells"])})


def _urgent_first(lines: pa.Table) -> NDArray[np.int64]:
    """The places of all lines, those of the rows to look at first before others."""
    if lines.num_rows == 0:
        return np.zeros(0, np.int64)
    begins = np.append(True, _changes(lines.column("row").combine_chunks()))
    rows, starts = np.cumsum(begins) - 1, np.flatnonzero(begins)
    warns = pc.not_equal(lines.column("severity"), Severity.ERROR.value).to_numpy().astype(np.int64)
    mild = np.minimum.reduceat(warns, starts)
    most = np.add.reduceat(lines.column("violations").to_numpy(), starts)
    return np.lexsort((np.arange(len(rows)), rows, -most[rows], mild[rows]))


def _changes(ids: pa.Array) -> NDArray[np.bool_]:
    """Where an id is not the one before."""
    if pa.types.is_struct(ids.type):
        found = np.zeros(len(ids) - 1, np.bool_)
        for field in ids.flatten():
            found |= _changes(field)
        return found
    same = pc.equal(ids.slice(1), ids.slice(0, len(ids) - 1))
    return ~np.asarray(pc.fill_null(same, False), np.bool_)
