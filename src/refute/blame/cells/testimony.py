"""What a table says about the cells of suspects: dependencies, and what the rows that stay say for given values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.blame.contest import Flags, Ids, Longs

SILENT, SATISFIED, VIOLATED = 0, 1, 2  # what a rule says of a row: nothing where no row stays with its left-hand side
UNKNOWN = -1  # the code of a cell that is wrong, without a value to put there; rules that read it are silent


@dataclass(frozen=True, slots=True)
class Dependency:
    """A dependency between columns, which are given by their places."""

    number: int  # among all rules that are asked
    left: tuple[int, ...]
    right: int
    nulls_equal: bool  # null is a value like any other

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that it reads."""
        return (*self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class GroupSayings:
    """What the group of each of some rows says under a dependency; `value` is UNKNOWN where none of it stays."""

    value: Longs
    support: Longs  # how many rows that stay say so
    donors: Longs  # the first of them
    agreeing: Longs  # rows of the group, suspects too, that say the same
    members: Longs  # rows of the group, suspects too
    doubt: NDArray[np.float64]  # the share of rows of all other groups that say something else than theirs do


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """For each of some rows, what most rows that stay and agree with it in some columns say in another one."""

    there: Flags  # whether there are such rows
    value: Longs
    is_other: Flags  # fewer say what the row says
    donors: Longs
    agree: Longs
    among: Longs


class Testimony(ABC):
    """Dependencies over a table of which some rows stay; cells are gapless codes by column, 0 for null."""

    names: tuple[str, ...]  # of the columns that dependencies read, by places
    rules: tuple[Dependency, ...]
    n_rows: int

    @abstractmethod
    def codes_of(self, place: int, rows: Longs) -> Longs:
        """The codes of some rows in a column."""

    @abstractmethod
    def admitted(self, rule: int, rows: Longs) -> Flags:
        """Which of some suspects a dependency, given by its place in `rules`, is about."""

    @abstractmethod
    def said(self, rule: int, cells: Longs, admitted: Flags) -> GroupSayings:
        """What the group of each row says, by (columns, rows) codes."""

    @abstractmethod
    def common(self, place: int, codes: Longs) -> Longs:
        """How many rows have each of some codes in a column."""

    @abstractmethod
    def staying(self, place: int, codes: Longs) -> Longs:
        """How many rows that stay have each of some codes in a column."""

    @abstractmethod
    def agreement(self, place: int, others: Sequence[int], cells: Longs, *, nulls: bool) -> Consensus:
        """What rows that stay and have the cells of each row in other columns say in one, where they say something, as
        null does with `nulls`."""

    @abstractmethod
    def rivals(self, place: int, others: Sequence[int], cells: Longs) -> Longs:
        """How many values these rows have there."""

    def cells(self, rows: Longs) -> Longs:
        """The codes of some rows: (columns, rows)."""
        if not self.names:
            return np.zeros((0, len(rows)), np.int64)
        return np.stack([self.codes_of(place, rows) for place in range(len(self.names))]).astype(np.int64)

    def judged(self, rule: int, cells: Longs, admitted: Flags) -> tuple[Ids, GroupSayings]:
        """What a dependency says of each row, and its group."""
        group = self.said(rule, cells, admitted)
        own = cells[self.rules[rule].right]
        status = np.where(group.value == own, SATISFIED, VIOLATED)
        return np.where((group.value == UNKNOWN) | (own == UNKNOWN), SILENT, status).astype(np.int32), group
