"""What a batch did to rows and violations, wherever the rows are; and what other rules do to violations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from refute.watching.publishing.ledger import Turn
from refute.watching.publishing.table_parts import Listed, Longs, MarkSet, PairMarks, lines_of

Clashes = dict[str, tuple[pa.Table, pa.Table]]  # by rule
NOTHING: Longs = np.empty(0, np.int64)
_NONE = pa.table({}), (NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Violations that came and went, by rule and by the numbers of their rows; `clashes` and `pairs` of listed rules.

    A row that changes may have another number after it, as `moved` says.
    """

    rows: int  # that the batch had
    n_rows: int  # that there are
    counts: dict[str, int]
    deltas: dict[str, tuple[int, int]]
    clashes: Clashes
    pairs: dict[str, tuple[tuple[Longs, ...], tuple[Longs, ...]]]
    gone: Longs  # numbers of rows that went or changed: of each violation that went, one at least
    vanished: Longs  # those of them that are of no row any more, unless it moved
    moved: tuple[Longs, Longs]
    named: Callable[[str, Longs], pa.Table]  # the ids and keys of some rows of a rule, `~n` for one that has vanished

    def turn(self, batch: int, schema: pa.Schema, rules: Mapping[str, int]) -> Turn:
        """What it does to the table of violations."""
        added, resolved = [], []
        for name, (new, old) in self.pairs.items():
            if len(new[0]):
                added.append((lines_of(name, self.clashes[name][0], schema, batch), marks_of(rules[name], new)))
            resolved.append(marks_of(rules[name], old))
        dropped = [name for name in rules if name not in self.pairs]
        return Turn(batch, added, PairMarks.joined(resolved), self.gone, self.moved, dropped)


def marks_of(rule: int, pairs: tuple[Longs, ...]) -> PairMarks:
    """Violations of a rule by numbers."""
    return PairMarks(np.full(len(pairs[0]), rule, np.int64), pairs[0].astype(np.int64), pairs[-1].astype(np.int64))


def of_rules(
    n_rows: int, before: Mapping[str, int], after: Mapping[str, int], went: Listed, came: Listed, key: Sequence[str]
) -> BatchOutcome:
    """What it did that other rules are watched: so many violations before and after, and those that are listed.

    A rule that has changed, but not its name, may keep some: these neither came nor went.
    """
    clashes: Clashes = {}
    pairs: dict[str, tuple[tuple[Longs, ...], tuple[Longs, ...]]] = {}
    deltas = {}
    for name in dict.fromkeys([*before, *after]):
        more = after.get(name, 0) - before.get(name, 0)
        deltas[name] = max(more, 0), max(-more, 0)
        if name in went or name in came:
            (lines, new), (others, old) = came.get(name, _NONE), went.get(name, _NONE)
            stays, left = netted(new, old)
            clashes[name] = lines.filter(pa.array(stays)), others.filter(pa.array(left))
            pairs[name] = tuple(side[stays] for side in new), tuple(side[left] for side in old)
            if name in went and name in came:
                deltas[name] = len(pairs[name][0][0]), len(pairs[name][1][0])

    def named(rule: str, numbers: Longs) -> pa.Table:
        return named_among(numbers, clashes[rule], pairs[rule], key)

    nothing = NOTHING, NOTHING
    return BatchOutcome(0, n_rows, dict(after), deltas, clashes, pairs, NOTHING, NOTHING, nothing, named)


def netted(new: tuple[Longs, ...], old: tuple[Longs, ...]) -> tuple[Any, Any]:
    """Which violations came and which went, without those that did both."""
    came, went = marks_of(0, new), marks_of(0, old)
    if not len(new[0]) or not len(old[0]):
        return np.ones(len(new[0]), np.bool_), np.ones(len(old[0]), np.bool_)
    return ~MarkSet(went).has(came), ~MarkSet(came).has(went)


def named_among(
    numbers: Longs, clashes: tuple[pa.Table, pa.Table], pairs: tuple[tuple[Longs, ...], ...], key: Sequence[str]
) -> pa.Table:
    """The ids and keys of rows by their numbers, all of which are in some violations."""
    parts, held = [], []
    for table, sides in zip(clashes, pairs, strict=True):
        for side, own in zip("st", sides, strict=False):
            if len(own):
                parts.append(table.select([side, *(f"{side}_{name}" for name in key)]))
                held.append(own)
    whole = pa.concat_tables([part.rename_columns(["s", *(f"s_{name}" for name in key)]) for part in parts])
    rows = np.concatenate(held)
    last = np.empty(int(rows.max()) + 1, np.int64)
    last[rows] = np.arange(len(whole))
    return whole.take(pa.array(last[numbers]))
