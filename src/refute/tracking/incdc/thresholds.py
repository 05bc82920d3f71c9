"""By what the indexes of IncDC are chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The parameters of SelectIndex with the values of the paper, and what may be left out to compare.

    `equality`: the score below which an equality index is taken at once (l). `distinct`: the least share of distinct
    values in both columns of an order index in the first round (l'). `correlation`: from where on two columns are
    taken to rise or fall together (alpha). `sample`: rows by which that is estimated, drawn by `seed`. `growth`: the
    share of rows that come until indexes are chosen and built anew. `orders`: whether there are order indexes at all.
    `optimal`: whether these have the fewest chains (OptIndex), or just the runs of sorted rows. `crossing`: whether
    they serve comparisons across columns (Fetch+). No answer depends on any of these.
    """

    equality: float = 0.6
    distinct: float = 0.1
    correlation: float = 0.3
    sample: int = 10_000
    seed: int = 0
    growth: float = 0.3
    orders: bool = True
    optimal: bool = True
    crossing: bool = True
