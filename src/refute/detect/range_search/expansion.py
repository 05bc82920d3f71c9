"""Differences as orders, and as what equalities leave over (Rapidash, section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import refined
from refute.plan.problem import Comparison
from refute.plan.step import term


def expanded(points: Points, *, halved: bool = False) -> Iterator[Points]:
    """The points once for each way to read their differences as `<` or `>`: 2^m disjoint problems without differences.

    `halved` leaves out the mirror images: for existence, where both sides are the same points and nothing but
    equalities and differences compares them, a pair clashes both ways round or not at all (Proposition 2).
    """
    ways: list[tuple[Comparison, ...]] = [(each, _turned(each)) for each in points.differ]
    if halved and ways and points.twin and not points.order:
        ways[-1] = ways[-1][:1]
    for chosen in product(*ways):
        yield replace(points, order=points.order + chosen, differ=())


def included(
    points: Points, sign: int = 1, ignored: tuple[Comparison, ...] = (), same: tuple[Comparison, ...] = ()
) -> Iterator[tuple[str, int, Points]]:
    """Signs and problems without differences whose signed counts add up to the count with them; words for each.

    Counting needs no expansion: pairs that differ in a column are all pairs less those that agree in it, and agreement
    is one more equality, which makes groups smaller instead of trees deeper.
    """
    if not points.differ:
        yield term(sign, ignored, same), sign, points
        return
    *rest, last = points.differ
    without = replace(points, differ=tuple(rest))
    yield from included(without, sign, (*ignored, last), same)
    agreeing = refined(without, last)
    if agreeing is not None:
        yield from included(agreeing, -sign, ignored, (*same, last))


def _turned(comparison: Comparison) -> Comparison:
    """The comparison whose `s < t` is this one's `s > t`."""
    top = comparison.s.dtype.type(comparison.size - 1)
    s = np.subtract(top, comparison.s)
    t = s if comparison.s is comparison.t else np.subtract(top, comparison.t)
    return Comparison(s, t, comparison.size, name=comparison.name)
