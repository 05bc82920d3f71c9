"""Tuples of codes: which group has the values of a given row, and which rows have those that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refute.blame.contest import Ids, Longs
from refute.kernels.sort.distinct import numbered
from refute.relation.keys.composite import WIDEST, composite


@dataclass(frozen=True, slots=True, eq=False)
class TupleIndex:
    """Distinct tuples, each with a number, found by bisection: one search for each few columns that fit 62 bits."""

    steps: tuple[tuple[tuple[int, ...], Longs], ...]  # the sizes of some columns, and the sorted keys of these
    numbers: Longs  # of each sorted key of the last step

    @classmethod
    def of(cls, columns: Sequence[Ids], sizes: Sequence[int], *, largest: int = WIDEST) -> TupleIndex:
        """The index of distinct tuples, numbered as they come; each column has integers in `[0, size)`.

        One step takes as many columns as have at most `largest` tuples in all.
        """
        n = len(columns[0])
        steps = []
        keys, found, taken = np.zeros(n, np.int64), 1, []
        for at, (column, size) in enumerate(zip(columns, sizes, strict=True)):
            keys = keys * size + column
            found *= size
            taken.append(size)
            is_last = at + 1 == len(columns)
            if is_last or found * sizes[at + 1] > largest:
                distinct, keys = np.unique(keys, return_inverse=True)
                steps.append((tuple(taken), distinct))
                found, taken = len(distinct) + 1, []
        numbers = np.empty(n, np.int64)
        numbers[keys] = np.arange(n)
        return cls(tuple(steps), numbers)

    def look_up(self, columns: Sequence[Longs]) -> Longs:
        """The number of each tuple, or -1 for one that does not exist; integers below 0 are of no tuple."""
        found = np.zeros(len(columns[0]), np.int64)
        missing = np.zeros(len(found), np.bool_)
        rest = iter(columns)
        for sizes, distinct in self.steps:
            for size in sizes:
                column = next(rest)
                missing |= (column < 0) | (column >= size)
                found = found * size + column
            at = np.minimum(np.searchsorted(distinct, found), len(distinct) - 1)
            missing |= distinct[at] != found
            found = at
        return np.where(missing, -1, self.numbers[found])


def tallied(numbers: Longs | Ids, times: Longs | None = None, least: int = 0) -> Longs:
    """How often each number comes, for numbers below `least` at any rate, each so many times as is said."""
    if times is None:
        return np.bincount(numbers, minlength=least).astype(np.int64)
    found = np.zeros(max(int(numbers.max(initial=-1)) + 1, least), np.int64)
    np.add.at(found, numbers, times)
    return found


def distinct(keys: Longs) -> tuple[Longs, Longs]:
    """A number for each key, in order of appearance, and where each number appears first."""
    found = numbered(keys, len(keys))
    assert found is not None
    return found[0].astype(np.int64), found[1]


def matching(rows: Longs, columns: Sequence[Ids], asked: Sequence[Longs]) -> tuple[Longs, Longs, Longs]:
    """The rows whose values in all columns are those of one that is asked for, a number for each of these rows by its
    values, and the same for each that is asked for; equal numbers are equal values.

    Column by column, rows whose value nobody asks for are left out, so little is left to be numbered. Integers that are
    asked for are not below 0.
    """
    for column, wanted in zip(columns, asked, strict=True):
        flags = np.zeros(max(int(wanted.max(initial=0)), int(column.max(initial=0))) + 1, np.bool_)
        flags[wanted] = True
        rows = rows[flags[column[rows]]]
    count = len(asked[0]) if len(asked) else 0
    values = (np.concatenate([column[rows], wanted]) for column, wanted in zip(columns, asked, strict=True))
    keys, _ = composite(((one, int(one.max(initial=0)) + 1) for one in values), len(rows) + count)
    keys, firsts = distinct(keys)
    flags = np.zeros(len(firsts), np.bool_)
    flags[keys[len(rows) :]] = True
    there = flags[keys[: len(rows)]]
    return rows[there], keys[: len(rows)][there], keys[len(rows) :]
