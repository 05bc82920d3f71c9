"""What a batch did to rows and violations, wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refute.watching.ledger import Turn
from refute.watching.table_parts import Longs, PairMarks, lines_of

Clashes = dict[str, tuple[pa.Table, pa.Table]]  # by rule
NOTHING: Longs = np.empty(0, np.int64)


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
