"""A rule over a table, in rank space: two sides of points and three kinds of comparison between them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One two-row predicate: an integer per admitted row of each side, all in `[0, size)`.

    For an equality the predicate is `s[i] == t[j]`, for a difference `s[i] != t[j]`, for an order `s[i] < t[j]`
    (the other operators were mapped to `<` by negating, and by doubling and adding one). `s is t` when one array
    serves both sides. `label` identifies the arrays within their relation, so that sorts and groupings can be shared
    between rules; None when they cannot.
    """

    s: Ints
    t: Ints
    size: int
    label: Hashable | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Find pairs of admitted rows with all `equal`, `order` and `differ` comparisons true, and different row numbers.

    `s_rows[i]` is the table's row number of point i of side s; both arrays ascend strictly. None means every row
    0 .. n-1. `aligned` says that both sides admit the same rows, so that point i of s and point i of t are one row.
    `self_pairs` says that some row might satisfy all comparisons with itself; such a pair is no violation.
    """

    n_rows: int  # rows of the table
    s_rows: Rows | None
    t_rows: Rows | None
    equal: tuple[Comparison, ...]
    order: tuple[Comparison, ...]
    differ: tuple[Comparison, ...]
    self_pairs: bool

    @property
    def s_size(self) -> int:
        """The number of points on side s."""
        return self.n_rows if self.s_rows is None else len(self.s_rows)

    @property
    def t_size(self) -> int:
        """The number of points on side t."""
        return self.n_rows if self.t_rows is None else len(self.t_rows)

    @property
    def aligned(self) -> bool:
        """Whether both sides are the same rows in the same order."""
        return self.s_rows is self.t_rows
