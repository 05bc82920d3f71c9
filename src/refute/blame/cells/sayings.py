"""What is said for each cell in question: in words, with the values of the rows that say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from refute.blame.cells.cells import NamedCells
from refute.blame.cells.fitting import Fitting
from refute.blame.contest import Flags, Longs
from refute.language.form import Form, operands
from refute.language.rulebook import Rule
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.relation.shown import shown_values

CELL = pa.struct(
    [("column", pa.string()), ("value", pa.string()), ("suggestion", pa.string()), ("support", pa.string())]
)
Texts = list[str | None]


@dataclass(slots=True)
class CellParts:
    """Cells of lines, put together part by part."""

    lines: list[Longs] = field(default_factory=list)
    texts: list[list[tuple[str, str | None, str | None, str | None]]] = field(default_factory=list)

    def add(self, lines: Longs, column: str, values: Texts, suggested: Texts, support: Texts) -> None:
        self.lines.append(lines)
        self.texts.append([(column, *text) for text in zip(values, suggested, support, strict=True)])

    def arrow(self, n_lines: int) -> pa.ListArray:
        lines = np.concatenate([np.zeros(0, np.int64), *self.lines])
        order = np.argsort(lines, kind="stable")
        texts = [text for part in self.texts for text in part]
        sorted_texts = [texts[at] for at in order.tolist()]
        columns = [pa.array([text[place] for text in sorted_texts], pa.string()) for place in range(4)]
        offsets = np.searchsorted(lines[order], np.arange(n_lines + 1)).astype(np.int32)
        return pa.ListArray.from_arrays(row_numbers(offsets), pa.StructArray.from_arrays(columns, fields=list(CELL)))


@dataclass(frozen=True, slots=True)
class OwnCells:
    """What a rule says of cells by itself: the columns that it names, none of a rule of any shape; or, of two orders,
    the intervals that fit some rows that it blames, in each column."""

    rule: Rule
    columns: tuple[str, ...]
    fits: Callable[[Longs], tuple[Fitting, ...]] | None = None


class CellSayings:
    """The cells of lines, each a row under a rule that blames it.

    Cells that dependencies name stand under every rule that reads them. Where they name none that a rule reads, it
    names its own: the columns of a key or of a rule about one row, both columns of an order with what would fit.
    """

    def __init__(
        self, relation: Relation, names: tuple[str, ...], named: NamedCells, own: Mapping[str, OwnCells]
    ) -> None:
        """`names` are the columns of the dependencies by their places; what rules say by themselves is by their
        names."""
        self._relation = relation
        self._names = names
        self._named = named
        self._own = own

    def cells(self, rows: Longs, numbers: Longs, rules: Sequence[Rule]) -> pa.ListArray:
        """A list of cells for each line, given by row number and number of its rule, sorted by row."""
        parts = CellParts()
        covered = np.zeros(len(rows), np.bool_)
        for number, rule in enumerate(rules):
            lines = np.flatnonzero(numbers == number)
            for at, name in enumerate(self._names):
                if name in rule.constraint.columns:
                    covered[self._add_named(parts, at, name, lines, rows[lines])] = True
        for number, rule in enumerate(rules):
            lines = np.flatnonzero((numbers == number) & ~covered)
            if len(lines):
                self._add_own(parts, self._own[rule.name], lines, rows[lines])
        return parts.arrow(len(rows))

    def _add_named(self, parts: CellParts, at: int, name: str, lines: Longs, rows: Longs) -> Longs:
        """Add the cells of one column that dependencies name; the lines that have one."""
        own = np.flatnonzero(self._named.columns == at)
        cell_rows = self._named.rows[own]  # ascending, and a row names a column once
        place = np.minimum(np.searchsorted(cell_rows, rows), max(len(own) - 1, 0))
        there = cell_rows[place] == rows if len(own) else np.zeros(len(rows), np.bool_)
        cells = own[place[there]]
        if len(cells):
            values = self._texts(name, self._named.rows[cells])
            suggested = self._texts(name, self._named.donors[cells])
            parts.add(lines[there], name, values, suggested, self._support(name, cells, suggested))
        found: Longs = lines[there]
        return found

    def _support(self, name: str, cells: Longs, suggested: list[str | None]) -> list[str | None]:
        """ "31 of 32 rows with zip 80836 say Fairdale" for each cell that has a value to put there."""
        said: list[str | None] = [None] * len(cells)
        given: dict[tuple[int, ...], list[int]] = {}
        for place, cell in enumerate(cells.tolist()):
            if suggested[place] is not None or self._named.donors[cell] >= 0:
                given.setdefault(self._named.given[cell], []).append(place)
        for columns, places in given.items():
            chosen = cells[places]
            donors = self._named.donors[chosen]
            context = self._with([self._names[at] for at in columns], donors)
            for place, cell, words in zip(places, chosen.tolist(), context, strict=True):
                agree, among = int(self._named.agree[cell]), int(self._named.among[cell])
                value = _said(suggested[place])
                if among == 1:  # on the left: groups on the right have the row that is in question as well
                    said[place] = f"the 1 row{words} that stays says {value}"
                    continue
                stay = "" if self._named.on_right[cell] else " that stay"
                said[place] = f"{agree:,} of {among:,} rows{words}{stay} say {value}"
        return said

    def _add_own(self, parts: CellParts, own: OwnCells, lines: Longs, rows: Longs) -> None:
        nothing: list[str | None] = [None] * len(lines)
        if own.fits is not None:
            equal = [operands(one)[0] for one in Form.of(own.rule).equal]
            for found in own.fits(rows):
                values = self._texts(found.column, rows)
                parts.add(lines, found.column, values, nothing, self._intervals(found, self._with(equal, rows)))
        for name in own.columns:
            parts.add(lines, name, self._texts(name, rows), nothing, nothing)

    def _intervals(self, found: Fitting, context: list[str]) -> list[str | None]:
        """ "3.5 to 4 fits all 812 rows with state CA that stay" for each row for which some value does."""
        lows, highs = self._texts(found.column, found.low), self._texts(found.column, found.high)
        said: list[str | None] = []
        for at, (low, high, words) in enumerate(zip(lows, highs, context, strict=True)):
            if found.group[at] == 0:
                said.append(None)
                continue
            size = int(found.group[at])
            fits = f"fits all {size:,} rows{words} that stay" if size > 1 else f"fits the 1 row{words} that stays"
            if low is not None and high is not None:
                bounds = _between(low, high, inclusive=found.inclusive)
            elif low is not None:
                bounds = f"{low} or more" if found.inclusive else f"more than {low}"
            elif high is not None:
                bounds = f"{high} or less" if found.inclusive else f"less than {high}"
            else:
                bounds = "any value"
            said.append(f"{bounds} {fits}")
        return said

    def _with(self, names: list[str], rows: Longs) -> list[str]:
        """ " with zip 80836 and state CO" for each row; nothing without names."""
        columns = [self._texts(name, rows) for name in names]
        texts = [
            " and ".join(f"{name} {_said(values[at])}" for name, values in zip(names, columns, strict=True))
            for at in range(len(rows))
        ]
        return [f" with {words}" if words else "" for words in texts]

    def _texts(self, name: str, rows: Longs) -> list[str | None]:
        """The values of some rows as text; None for null, and for rows below 0."""
        there: Flags = rows >= 0
        values = iter(shown_values(self._relation.column(name).take(row_numbers(rows[there]))))
        texts = (next(values) if present else None for present in there.tolist())
        return [None if value is None else str(value) for value in texts]


def _between(low: str, high: str, *, inclusive: bool) -> str:
    if not inclusive:
        return f"more than {low} and less than {high}"
    return f"only {low}" if low == high else f"{low} to {high}"


def _said(text: str | None) -> str:
    return "null" if text is None else text
