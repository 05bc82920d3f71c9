"""Tables with known errors: real pairs of a dirty and a clean table, and errors put into clean ones; how well they
are found.

A row is *dirty* if it differs from its clean twin in a column that a rule reads, and *findable* if it then violates a
rule that reads one of its wrong cells: no method can see the others.
"""

from __future__ import annotations

import heapq
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

import refute as rf

Flags = NDArray[np.bool_]
FOLDER = "REFUTE_DIRTY_TABLES"  # the variable that names a folder with these tables and their rules
_PREDICATE = re.compile(r"(EQ|IQ)\(t1\.([\w-]+),t2\.([\w-]+)\)")
KINDS = ("typo", "swap", "systematic")


@dataclass(frozen=True, slots=True)
class Dependency:
    """Rows that agree on the left agree on the right."""

    left: tuple[str, ...]
    right: str

    @property
    def text(self) -> str:
        """The rule as Refute reads it."""
        same = [f"s.{name} = t.{name}" for name in self.left]
        return f"not ({' and '.join([*same, f's.{self.right} != t.{self.right}'])})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return (*self.left, self.right)


@dataclass
class DirtyTable:
    """A dirty table, its clean twin with rows in the same order, and dependencies."""

    dirty: pa.Table
    clean: pa.Table
    rules: Sequence[Dependency]

    @cached_property
    def columns(self) -> list[str]:
        """The columns that rules read."""
        return sorted({name for rule in self.rules for name in rule.columns})

    @cached_property
    def values(self) -> dict[str, list[str | None]]:
        """The cells of the dirty table."""
        return {name: self.dirty.column(name).to_pylist() for name in self.columns}

    @cached_property
    def true_values(self) -> dict[str, list[str | None]]:
        """The cells of the clean table."""
        return {name: self.clean.column(name).to_pylist() for name in self.columns}

    @cached_property
    def wrong(self) -> dict[str, Flags]:
        """Which cells are wrong."""
        return {
            name: np.array([a != b for a, b in zip(self.values[name], self.true_values[name], strict=True)])
            for name in self.columns
        }

    @cached_property
    def groups(self) -> list[list[tuple[tuple[str, ...], str] | None]]:
        """For each rule and row, what it says on the left and on the right; None where a value is missing."""
        found: list[list[tuple[tuple[str, ...], str] | None]] = []
        for rule in self.rules:
            told = zip(*(self.values[name] for name in rule.columns), strict=True)
            found.append([None if None in row else (row[:-1], row[-1]) for row in told])
        return found

    def in_violation(self, number: int) -> Flags:
        """Which rows take part in a violation of a rule."""
        said = self.groups[number]
        pairs = set(filter(None, said))
        values = Counter(left for left, _ in pairs)
        return np.array([one is not None and values[one[0]] > 1 for one in said])

    @cached_property
    def dirty_rows(self) -> Flags:
        """All rows that are wrong somewhere."""
        found: Flags = np.any(list(self.wrong.values()), axis=0)
        return found

    @cached_property
    def findable(self) -> Flags:
        """Rows that violate a rule which reads one of their wrong cells."""
        found = np.zeros(self.dirty.num_rows, np.bool_)
        for number, rule in enumerate(self.rules):
            found |= self.in_violation(number) & np.any([self.wrong[name] for name in rule.columns], axis=0)
        return found


def real(name: str, rules: str, dirty: str, clean: str) -> DirtyTable | None:
    """A real pair of tables with the rules of a file; None where there is no folder of such tables."""
    folder = dirty_folder()
    if folder is None:
        return None
    return DirtyTable(_read(folder / dirty), _read(folder / clean), dependencies(folder / "constraints" / rules))


def dependencies(file: Path) -> list[Dependency]:
    """The dependencies of a file in HoloClean's format; rules of another shape are left out."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        parts = _PREDICATE.findall(line)
        right = [left for op, left, _ in parts if op == "IQ"]
        if len(right) == 1 and all(left == other for _, left, other in parts):
            found.append(Dependency(tuple(left for op, left, _ in parts if op == "EQ"), right[0]))
    return found


def clean_tables() -> Iterator[tuple[str, pa.Table, list[Dependency]]]:
    """Clean tables with dependencies that hold, for errors to be put into."""
    folder = dirty_folder()
    if folder is None:
        return
    yield (
        "tax",
        _read(folder / "tax_50k_clean.csv").slice(0, 20_000),
        dependencies(folder / "constraints/uniclean_tax.txt"),
    )
    provider = ("ZIPCode", "PhoneNumber", "HospitalName", "City", "State", "HospitalOwner")
    hospital = [Dependency(("ProviderNumber",), name) for name in provider]
    hospital += [Dependency(("PhoneNumber",), "ZIPCode"), Dependency(("ZIPCode",), "State")]
    hospital += [Dependency(("MeasureCode",), "MeasureName"), Dependency(("MeasureCode",), "Condition")]
    yield "hospital", _read(folder / "hospital_10k_original.csv"), hospital
    pairs = "OriginAirportID OriginState, Origin OriginCityName, OriginState OriginStateName, OriginState OriginWac"
    pairs += ", AirlineID Carrier, TailNum Carrier, OriginCityName OriginCityMarketID, OriginAirportID Origin"
    flights = [Dependency((left,), right) for left, right in (pair.split() for pair in pairs.split(", "))]
    yield "flights", _read(folder / "flights_bts_10k_clean.csv"), flights


def with_errors(clean: pa.Table, rules: Sequence[Dependency], kind: str, share: float, seed: int) -> DirtyTable:
    """One wrong cell in a share of the rows: a typo, the value of another row, or the column's most common one."""
    random = np.random.default_rng(seed)
    names = sorted({name for rule in rules for name in rule.columns})
    rows = random.choice(clean.num_rows, round(clean.num_rows * share), replace=False)
    columns = {name: clean.column(name).to_pylist() for name in names}
    common = {name: Counter(filter(None, values)).most_common(1)[0][0] for name, values in columns.items()}
    changed = {name: list(values) for name, values in columns.items()}
    for row, at in zip(rows.tolist(), random.integers(0, len(names), len(rows)).tolist(), strict=True):
        old = columns[names[at]][row]
        if old is not None:
            changed[names[at]][row] = _error(old, columns[names[at]], common[names[at]], kind, random)
    dirty = clean
    for name, values in changed.items():
        dirty = dirty.set_column(dirty.column_names.index(name), name, pa.array(values, pa.string()))
    return DirtyTable(dirty, clean, rules)


def _error(old: str, column: Sequence[str | None], common: str, kind: str, random: np.random.Generator) -> str:
    if kind == "typo":
        at = int(random.integers(0, len(old)))
        return old[:at] + "x" + old[at + int(random.random() < 0.5) :]
    if kind == "systematic":
        return common
    others = (column[int(random.integers(0, len(column)))] for _ in range(20))
    return next((other for other in others if other not in (None, old)), old)


@dataclass(frozen=True, slots=True)
class Blamed:
    """What a method says: which rows are wrong, and of which cells it says what they should be."""

    rows: Flags
    cells: dict[tuple[int, str], str | None]


def by_refute(table: DirtyTable) -> Blamed:
    """The suspects of Refute."""
    rows, cells = np.zeros(table.dirty.num_rows, np.bool_), {}
    for line in rf.suspects(table.dirty, [rule.text for rule in table.rules]):
        rows[line.row] |= line.removed
        cells.update({(line.row, cell.column): cell.suggestion for cell in line.cells if line.removed})
    return Blamed(rows, cells)


def by_all_rows(table: DirtyTable) -> Blamed:
    """Every row that takes part in a violation."""
    return Blamed(np.any([table.in_violation(number) for number in range(len(table.rules))], axis=0), {})


def by_majority(table: DirtyTable) -> Blamed:
    """Every row that does not say what most rows of its group say; of values said equally often the first stays."""
    rows = np.zeros(table.dirty.num_rows, np.bool_)
    for said in table.groups:
        best: dict[tuple[str, ...], tuple[int, str]] = {}
        for (left, value), number in Counter(filter(None, said)).items():
            if number > best.get(left, (0, ""))[0]:
                best[left] = number, value
        rows |= np.array([one is not None and best[one[0]][1] != one[1] for one in said])
    return Blamed(rows, {})


def by_greed(table: DirtyTable) -> Blamed:
    """The row with the most violations, and again, until none is left."""
    pairs = [Counter(filter(None, said)) for said in table.groups]
    lefts = [Counter(one[0] for one in said if one is not None) for said in table.groups]

    def violations(row: int) -> int:
        own = ((number, said[row]) for number, said in enumerate(table.groups))
        return sum(lefts[number][one[0]] - pairs[number][one] for number, one in own if one is not None)

    rows = np.zeros(table.dirty.num_rows, np.bool_)
    waiting = [(-count, row) for row in range(len(rows)) if (count := violations(row))]
    heapq.heapify(waiting)
    while waiting:
        told, row = heapq.heappop(waiting)
        now = violations(row)
        if 0 < now < -told:
            heapq.heappush(waiting, (-now, row))
        elif now > 0:
            rows[row] = True
            for number, said in enumerate(table.groups):
                one = said[row]
                if one is not None:
                    pairs[number][one] -= 1
                    lefts[number][one[0]] -= 1
    return Blamed(rows, {})


METHODS: dict[str, Callable[[DirtyTable], Blamed]] = {
    "refute": by_refute,
    "all rows": by_all_rows,
    "majority": by_majority,
    "greedy": by_greed,
}


def scores(table: DirtyTable, blamed: Blamed) -> dict[str, float]:
    """Precision, recall and F1 of rows, against findable and against all dirty rows; cells named, values right."""
    found: dict[str, float] = {}
    for name, truth in (("", table.findable), (" of all", table.dirty_rows)):
        hits = int((blamed.rows & truth).sum())
        precision, recall = hits / max(int(blamed.rows.sum()), 1), hits / max(int(truth.sum()), 1)
        found |= {f"precision{name}": precision, f"recall{name}": recall}
        found[f"F1{name}"] = 2 * precision * recall / max(precision + recall, 1e-9)
    if blamed.cells:
        named = [table.wrong[column][row] for row, column in blamed.cells]
        given = [(place, value) for place, value in blamed.cells.items() if value is not None]
        right = sum(table.true_values[column][row] == value for (row, column), value in given)
        present = sum(int((table.wrong[name] & blamed.rows & _present(table, name)).sum()) for name in table.columns)
        found |= {"cells": len(named), "cell precision": sum(named) / len(named)}
        found |= {"cell recall": sum(named) / max(present, 1), "values": len(given)}
        found["values right"] = right / max(len(given), 1)
    return {name: round(float(value), 4) for name, value in found.items()}


def _present(table: DirtyTable, name: str) -> Flags:
    return np.array([value is not None for value in table.values[name]])


def dirty_folder() -> Path | None:
    given = os.environ.get(FOLDER)
    return Path(given) if given else None


def _read(file: Path) -> pa.Table:
    """All cells as text, empty ones as nulls; names with dashes have underscores."""
    with file.open(encoding="utf-8") as stream:
        names = next(iter(stream)).rstrip("\n").split(",")
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
    )
    table = pa.csv.read_csv(file, convert_options=convert)
    return table.rename_columns([name.replace("-", "_") for name in table.column_names])
