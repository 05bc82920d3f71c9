"""Differences as orders, and as what equalities leave over (Rapidash, section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import refined
from refute.language.logic.differences import signed, split
from refute.plan.problem import Comparison
from refute.plan.step import term


def expanded(points: Points, *, halved: bool = False) -> Iterator[Points]:
    """The points once for each way to read their differences as `<` or `>`: 2^m disjoint problems without differences.

    `halved` leaves out the mirror images: for existence, where both sides are the same points and nothing but
    equalities and differences compares them, a pair clashes both ways round or not at all (Proposition 2).
    """
    halved = halved and points.twin and not points.order
    for chosen in split(points.differ, lambda each: each, _turned, halved=halved):
        yield replace(points, order=points.order + chosen, differ=())


def included(points: Points) -> Iterator[tuple[str, int, Points]]:
    """Signs and problems without differences whose signed counts add up to the count with them; words for each.

    Counting needs no expansion: pairs that differ in a column are all pairs less those that agree in it, and agreement
    is one more equality, which makes groups smaller instead of trees deeper.
    """
    for sign, part, ignored, same in signed(points, _last, refined):
        yield term(sign, ignored, same), sign, part


def _last(points: Points) -> tuple[Comparison, Points] | None:
    """The last difference of the points, and the points without it."""
    if not points.differ:
        return None
    *rest, last = points.differ
    return last, replace(points, differ=tuple(rest))


def _turned(comparison: Comparison) -> Comparison:
    """The comparison whose `s < t` is this one's `s > t`."""
    top = comparison.s.dtype.type(comparison.size - 1)
    s = np.subtract(top, comparison.s)
    t = s if comparison.s is comparison.t else np.subtract(top, comparison.t)
    return Comparison(s, t, comparison.size, name=comparison.name)
