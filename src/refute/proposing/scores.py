"""What makes a rule worth proposing: far fewer rows to blame than chance would blame, scattered as dirt is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from refute.kernels.proposing.groups import UNIT


@dataclass(frozen=True, slots=True)
class Limits:
    """Where rules and tendencies begin, and what is too little to tell. Shares are of all rows.

    `rule` and `tendency` are scores; `luck` is how likely chance may give a key of several columns, of which very many
    are tried; `support` and `chance` are the fewest rows that meet the premise and that chance
    must blame, `order_chance` the share of rows that chance must blame under an order or a comparison; `error` is the
    largest share of rows to blame, `key_error` that of a key, `order_error` and `order_lift` those of an order.
    """

    rule: float = 0.8
    tendency: float = 0.45
    support: float = 0.02
    chance: float = 10.0
    error: float = 0.5
    key_error: float = 0.01
    luck: float = 1e-7
    order_error: float = 0.1
    order_lift: float = 0.7
    order_support: float = 0.3
    order_chance: float = 0.05
    row_error: float = 0.05

    def can_tell(self, rows: int) -> bool:
        """Whether so many rows can speak for a rule: chance blames at most all of them, and fewer are too few."""
        return rows >= self.chance


STANDARD = Limits()


@dataclass(frozen=True, slots=True)
class Figures:
    """What was counted for a candidate: rows that meet its premise, rows to blame, and rows that chance would blame
    (None where there is no chance to compare with). `clustering` is 0 where the rows to blame lie anywhere, as dirt
    does, and nears 1 where some groups have a second truth. Where `distinct`, rows that repeat others counted once."""

    rows: int
    groups: int
    blame: int
    chance: float | None
    clustering: float = 0.0
    distinct: bool = False

    @property
    def error(self) -> float:
        """The share of rows to blame."""
        return self.blame / self.rows if self.rows else 0.0

    @property
    def lift(self) -> float:
        """How much of what chance would blame is not to blame: 1 where nothing is, 0 where chance would do as well."""
        if self.chance is None:
            return 1.0 - self.error
        return max(0.0, 1.0 - self.blame / self.chance) if self.chance else 0.0

    @property
    def score(self) -> float:
        """A lower bound of the lift (one-sided, 95 %), lowered further the more the rows to blame cluster."""
        if self.chance is None:
            return 1.0 - self.error
        if not self.chance:
            return 0.0
        missed = float(probable_blame(self.blame)) / self.chance
        return max(0.0, 1.0 - missed * min(3.0, max(1.0, self.clustering / 0.15)))

    @property
    def luck(self) -> float:
        """How likely it is at most that chance blames so few, each row by itself (Chernoff's bound)."""
        if self.chance is None or self.blame >= self.chance:
            return 1.0
        shared = self.blame * math.log(self.chance / self.blame) if self.blame else 0.0
        return math.exp(self.blame - self.chance + shared)


def probable_blame(blame: Any) -> Any:
    """The rows to blame, or for an array those of each, that one would have to expect in other rows of the kind: an
    upper bound (one-sided, 95 %)."""
    return blame + 1.64 * np.sqrt(blame + 1)


def clustered(parts: int, rows: int, blame: int) -> float:
    """The correlation of "this row is to blame" inside groups, from the sum that `kernels` give."""
    share = blame / rows if rows else 0.0
    if not 0.0 < share < 1.0:
        return 0.0
    return max(0.0, (parts / UNIT / rows - share * share) / (share * (1.0 - share)))
