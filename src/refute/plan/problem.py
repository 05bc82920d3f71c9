"""A rule over a table, in rank space: two sides of points and three kinds of comparison between them."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger]
Rows = NDArray[np.int64]
Positions = Ints | slice
Reading = tuple[Ints, bool, int]  # codes, whether they are turned, and what they are added to or taken from


class Comparison:
    """One two-row predicate: an integer per admitted row of each side, all in `[0, size)`.

    For an equality the predicate is `s[i] == t[j]`, for a difference `s[i] != t[j]`, for an order `s[i] < t[j]`.
    `s is t` when one array serves both sides. `label` identifies the arrays within their relation, so sorts and
    groupings can be shared between rules; None when they cannot.

    Orders of another direction keep the arrays they are made of: `codes` are those of the columns, `turned` says that
    they are read from the greatest down, and `lag`, 0 or 1, is added on the side of t, so `<` there reads `<=`.
    `s` and `t` are made when first asked for; `s_at`, `t_at`, `head` and `picked` do without.

    `name` says in plans what is compared; nothing else reads it.
    """

    __slots__ = ("_lock", "_sides", "codes", "label", "lag", "name", "size", "turned")

    def __init__(
        self,
        s: Ints,
        t: Ints,
        size: int,
        label: Hashable | None = None,
        *,
        turned: bool = False,
        lag: int = 0,
        name: str = "",
    ) -> None:
        self.codes = (s, t)
        self.size = size
        self.label = label
        self.turned = turned
        self.lag = lag
        self.name = name
        self._lock = threading.Lock()
        self._sides: tuple[Ints, Ints] | None = None if turned or lag else (s, t)

    @property
    def s(self) -> Ints:
        """The integer of each point of side s."""
        return self._made()[0]

    @property
    def t(self) -> Ints:
        """The integer of each point of side t."""
        return self._made()[1]

    @property
    def twin(self) -> bool:
        """Whether `s is t`."""
        return self.lag == 0 and self.same_codes

    @property
    def same_codes(self) -> bool:
        """Whether one array of codes serves both sides."""
        return self.codes[0] is self.codes[1]

    def s_at(self, positions: Positions) -> Ints:
        """`s[positions]`."""
        return self._read(self.codes[0][positions], 0)

    def t_at(self, positions: Positions) -> Ints:
        """`t[positions]`."""
        return self._read(self.codes[1][positions], self.lag)

    def reading(self, side: int) -> Reading:
        """How the integers of side s (0) or t (1) are read: `offset + code`, or `offset - code` if turned."""
        lag = self.lag if side else 0
        return self.codes[side], self.turned, self.size - 1 - self.lag + lag if self.turned else lag

    def head(self, n: int) -> Comparison:
        """The comparison over the first n points of each side, without a copy."""
        return self.picked(slice(n), slice(n), together=True)

    def picked(
        self, s: Positions | None, t: Positions | None, *, together: bool, label: Hashable | None = None
    ) -> Comparison:
        """The comparison over these points of each side, None being all; `together` says that they are the same."""
        s_codes = self.codes[0] if s is None else self.codes[0][s]
        t_codes = s_codes if together and self.same_codes else self.codes[1] if t is None else self.codes[1][t]
        return self.over(s_codes, t_codes, self.size, label)

    def over(self, s: Ints, t: Ints, size: int, label: Hashable | None = None) -> Comparison:
        """The same kind of comparison over other codes; `size` bounds what is read from them."""
        return Comparison(s, t, size, label, turned=self.turned, lag=self.lag, name=self.name)

    def mirrored(self) -> Comparison:
        """The order with its sides exchanged: `s < t` as `-t < -s`."""
        s, t = self.codes
        return Comparison(t, s, self.size, turned=not self.turned, lag=self.lag, name=self.name)

    def _made(self) -> tuple[Ints, Ints]:
        if self._sides is None:
            with self._lock:
                if self._sides is None:
                    s = self._read(self.codes[0], 0)
                    self._sides = s, s if self.twin else self._read(self.codes[1], self.lag)
        return self._sides

    def _read(self, codes: Ints, lag: int) -> Ints:
        number = codes.dtype.type
        if self.turned:
            return number(self.size - 1 - self.lag + lag) - codes
        return codes + number(lag) if lag else codes


@dataclass(frozen=True, slots=True, eq=False)
class ProblemSide:
    """The points of one side of a problem, each with the number of its row.

    `rows[i]` is the row number of point i; they ascend strictly. None means that these are 0 .. size-1. One number is
    one row on whichever side it stands: rows of two tables are given different numbers, as `beyond` does.
    """

    size: int
    rows: Rows | None = None

    @classmethod
    def of(cls, rows: Rows | None, n: int) -> ProblemSide:
        """Some rows of a table of n rows; None are all of them."""
        return cls(n) if rows is None else cls(len(rows), rows)

    @classmethod
    def beyond(cls, n: int, size: int) -> ProblemSide:
        """All rows of a table whose rows are numbered from n on, after those of another table."""
        return cls(size, np.arange(n, n + size, dtype=np.int64))

    def head(self, n: int) -> ProblemSide:
        """The first n points."""
        return ProblemSide(min(n, self.size), None if self.rows is None else self.rows[:n])

    def row_numbers(self) -> Rows:
        """The row number of each point."""
        return np.arange(self.size, dtype=np.int64) if self.rows is None else self.rows


@dataclass(frozen=True, slots=True)
class Problem:
    """Find pairs of points, one of each side, of different rows and with all comparisons true.

    The sides may be the same rows, some rows of one table each, or rows of two tables, as those that come to a table
    and those that were there; the arrays of a comparison have the sizes of their sides. `self_pairs` says that some row
    might stand on both sides and satisfy all comparisons with itself; such a pair is not a violation.
    """

    s: ProblemSide
    t: ProblemSide
    equal: tuple[Comparison, ...]
    order: tuple[Comparison, ...]
    differ: tuple[Comparison, ...]
    self_pairs: bool

    @property
    def aligned(self) -> bool:
        """Whether both sides are the same rows in the same order: point i of s and point i of t are one row."""
        return self.s is self.t or (self.s.rows is self.t.rows and self.s.size == self.t.size)
