"""What a picture of a broken rule shows: the values in its groups with their numbers, or a clash among other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.language.form import Form
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.compile import admitted_rows
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.relation.keys.composite import composite
from refute.relation.shown import shown_values

MOST_VALUES = 8  # of a group that are named; their number is known all the same
Longs = NDArray[np.int64]


class TalliedValue(NamedTuple):
    """A value in a group: what its rows say on the right of a dependency, how many say so, and the id of the first.

    Of rows that stay on Spark there is the id of the last too: with a key, the first and the last clash.
    """

    values: tuple[Any, ...]  # none for a key
    rows: int
    first: Any
    last: Any = None


class TalliedGroup(NamedTuple):
    """Rows that agree on the left of a dependency, or on a key: its values, those of the most rows first."""

    key: tuple[Any, ...]
    values: tuple[TalliedValue, ...]
    distinct: int  # how many values there are, of which the first are named
    rows: int


@dataclass(frozen=True, slots=True)
class ValueTally:
    """Groups that break a dependency or a key, those with the most violations first, of `n_groups` in all.

    It is None where there may be more than these, and nobody asked how many.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    groups: tuple[TalliedGroup, ...]
    n_groups: int | None


@dataclass(frozen=True, slots=True)
class Scene:
    """A clashing pair, and other rows that agree with it on what the rule asks to be equal: values by column."""

    pair: tuple[dict[str, Any], ...]
    others: tuple[dict[str, Any], ...]
    group: tuple[str, ...]  # the columns on which all of them agree


def tallied_columns(form: Form) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The columns on the left and on the right, where a rule is a dependency or a key; None for all other rules."""
    if form.rule.constraint.is_single_row or not form.possible or form.order or len(form.differ) > 1:
        return None
    if not form.aligned or form.rule.constraint.computes:
        return None
    return tuple(one.left.name for one in form.equal), tuple(one.left.name for one in form.differ)


def tally_of(relation: Relation, rule: Rule, limit: int, identify: Callable[[int], Any]) -> ValueTally | None:
    """The tally of a table in memory; `identify` gives the id of a row by its number."""
    form = Form.of(rule)
    columns = tallied_columns(form)
    if columns is None:
        return None
    left, right = columns
    rows = np.flatnonzero(admitted_rows(relation, form, Row.S))
    groups = composite((_codes(relation, name, rows) for name in left), len(rows))
    codes, size = _codes(relation, right[0], rows) if right else (np.zeros(len(rows), np.int64), 1)
    pairs, _ = composite([groups, (codes, size)], len(rows))
    found, first, counts = np.unique(pairs, return_index=True, return_counts=True)
    starts = np.flatnonzero(np.append(True, np.diff(found // size) != 0)) if len(found) else np.zeros(0, np.int64)
    ends = np.append(starts[1:], len(found))
    sizes = np.add.reduceat(counts, starts) if len(starts) else np.zeros(0, np.int64)
    same = np.add.reduceat(counts * counts, starts) if right and len(starts) else sizes
    violations = sizes * sizes - same
    order = np.lexsort((first[starts], -violations))
    broken = order[violations[order] > 0]

    def group(at: int) -> TalliedGroup:
        own = np.arange(starts[at], ends[at])
        own = own[np.lexsort((first[own], -counts[own]))]
        named = own[:MOST_VALUES]
        numbers = rows[first[named]]
        values = zip(*(_shown(relation, name, numbers) for name in right), strict=True) if right else [()]
        told = (
            TalliedValue(tuple(value), int(counts[place]), identify(int(number)))
            for value, place, number in zip(values, named, numbers, strict=True)
        )
        key = tuple(_shown(relation, name, rows[first[own[:1]]])[0] for name in left)
        return TalliedGroup(key, tuple(told), len(own), int(sizes[at]))

    return ValueTally(left, right, tuple(group(int(at)) for at in broken[:limit]), len(broken))


def scene_of(relation: Relation, rule: Rule, pair: Sequence[int], limit: int, names: Sequence[str]) -> Scene:
    """The scene of a clash of a table in memory; where its group is large, rows of it that are drawn at random."""
    form = Form.of(rule)
    group = tuple(one.left.name for one in form.equal if not one.is_cross_column)
    inside = admitted_rows(relation, form, Row.S) | admitted_rows(relation, form, Row.T)
    for name in group:
        codes = relation.encode(name, ordered=False).values
        inside &= codes == codes[pair[0]]
    inside[list(pair)] = False
    others = np.flatnonzero(inside)
    if len(others) > limit:
        others = np.sort(np.random.default_rng(0).choice(others, limit, replace=False))
    numbers = np.array([*pair, *others.tolist()], np.int64)
    columns = [_shown(relation, name, numbers) for name in names]
    found = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return Scene(tuple(found[: len(pair)]), tuple(found[len(pair) :]), group)


def _codes(relation: Relation, name: str, rows: Longs) -> tuple[Longs, int]:
    """The integers of a column, where null is one of them, and how many there are."""
    encoded = relation.encode(name, ordered=False, dense=True)
    return encoded.values[rows].astype(np.int64) + 1, encoded.size + 1


def _shown(relation: Relation, name: str, numbers: Longs) -> list[Any]:
    return shown_values(relation.column(name).take(row_numbers(numbers)))
