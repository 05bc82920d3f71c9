"""What an index of a monitor answers: which pairs appear and vanish when rows come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from refute.language.operators import Operator

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]
Pairs = tuple[Longs, Longs]  # the slots of s and of t


class Compared(NamedTuple):
    """One two-row predicate over columns of keys: `s.keys[s] op t.keys[t]`."""

    op: Operator
    s: int
    t: int

    @property
    def is_cross_column(self) -> bool:
        """Whether a row is read by another column as `s` than as `t`."""
        return self.s != self.t


@dataclass(frozen=True, slots=True)
class Watched:
    """A two-row rule over columns of keys. `filters` stand for the rows that it admits as `s`, and as `t`."""

    name: str
    compared: tuple[Compared, ...]
    filters: tuple[object, object] = ((), ())


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that come or go, as integers.

    A slot is the number of a row, ascending and never used again. `keys` are columns of integers that compare as the
    values do; those of a slot never change. `admitted` says for each rule which rows may stand as `s` and as `t`, None
    being all; when both are one array, both sides admit the same.
    """

    slots: Longs
    keys: tuple[Longs, ...]
    admitted: tuple[tuple[Mask | None, Mask | None], ...]

    def __len__(self) -> int:
        return len(self.slots)


@dataclass(frozen=True, slots=True)
class Found:
    """Ordered pairs of one rule: how many, and which, unless they were more than was asked for."""

    count: int
    pairs: Pairs | None


class Index(Protocol):
    """Rows by what rules compare. Pairs are ordered, of two different slots, and come in any order, each once."""

    def load(self, batch: Batch) -> None:
        """Adds rows without a look at pairs."""

    def insert(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Adds rows; for each rule the pairs that appear. A rule lists no pair if there are more than its limit."""

    def delete(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Takes rows away that were inserted as they are given; for each rule the pairs that vanish.

        A rule with a limit below zero is left out.
        """

    def probe(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """For each rule the pairs of the batch's rows with those that are kept, as if these came; changes nothing."""

    @property
    def nbytes(self) -> int:
        """The memory of what is kept."""
