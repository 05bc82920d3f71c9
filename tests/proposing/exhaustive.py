"""Proposals by definition: every candidate of every shape, blame by trying, chance by shuffling; plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from refute.proposing.scores import Limits

Cells = list[Any]
NUMBERS = (int, float)
DEALS = 60


@dataclass(frozen=True)
class Expected:
    """A candidate by definition: its rule in words, its columns that agree, and its figures."""

    text: str
    left: tuple[str, ...]
    rows: int
    blame: int
    chance: float
    score: float
    least: float  # score from which it is a candidate
    kind: str

    @property
    def error(self) -> float:
        """The share of rows to blame."""
        return self.blame / self.rows


def expected(table: pa.Table, limits: Limits, max_left: int) -> Iterator[Expected]:
    """Keys, dependencies and orders that may be candidates, by their figures; chance is a mean, so it may be off."""
    cells = {name: table[name].to_pylist() for name in table.column_names}
    rng = np.random.default_rng(0)
    n = table.num_rows
    least_rows = max(limits.chance, limits.support * n)
    varied = [name for name, column in cells.items() if len({v for v in column if v is not None}) > 1]
    useful = [name for name in varied if sum(map(len, groups([cells[name]]))) >= least_rows]
    for size in range(1, max_left + 1):
        for side in itertools.combinations(useful, size):
            if size > 1:
                yield from _key(cells, side, limits, rng)
            for right in varied:
                if right not in side:
                    yield from _dependency(cells, side, right, limits, least_rows, rng)
    yield from _orders(cells, n, limits, rng)


def groups(columns: Sequence[Cells]) -> list[list[int]]:
    """The rows that agree on all columns without a null, of groups with at least two."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(*columns, strict=True)):
        if None not in key:
            found[key].append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def score_of(blame: float, chance: float, clustering: float = 0.0) -> float:
    """The score of docs/propose.md."""
    missed = (blame + 1.64 * math.sqrt(blame + 1)) / chance if chance else math.inf
    return 1.0 - missed * min(3.0, max(1.0, clustering / 0.15))


def _majority(values: Sequence[Any]) -> int:
    return len(values) - max(Counter(values).values())


def _dependency(
    cells: dict[str, Cells], side: tuple[str, ...], right: str, limits: Limits, least_rows: float, rng: Any
) -> Iterator[Expected]:
    y = cells[right]
    valued = [[row for row in rows if y[row] is not None] for rows in groups([cells[name] for name in side])]
    valued = [rows for rows in valued if len(rows) > 1]
    total = sum(map(len, valued))
    blamed = [_majority([y[row] for row in rows]) for rows in valued]
    if total < least_rows or sum(blamed) > limits.error * total:
        return
    chance = math.inf
    for size in range(len(side)):
        for part in itertools.combinations(side, size):
            pools: dict[tuple[Any, ...], list[list[int]]] = defaultdict(list)
            for rows in valued:
                pools[tuple(cells[name][rows[0]] for name in part)].append(rows)
            chance = min(chance, sum(_dealt(pool, y, rng) for pool in pools.values()))
    share = sum(blamed) / total
    pairs = sum(b * (b - 1) / (len(rows) - 1) for b, rows in zip(blamed, valued, strict=True)) / total
    clustering = (pairs - share**2) / (share * (1 - share)) if 0 < share < 1 else 0.0
    if chance >= 0.5 * limits.chance:
        score = score_of(sum(blamed), chance, clustering)
        text = f"{', '.join(side)} -> {right}"
        yield Expected(text, side, total, sum(blamed), chance, score, limits.tendency, "dependency")


def _dealt(pool: list[list[int]], y: Cells, rng: Any) -> float:
    values = [y[row] for rows in pool for row in rows]
    bounds = [0, *itertools.accumulate(map(len, pool))]
    found = 0
    for _ in range(DEALS):
        dealt = [values[place] for place in rng.permutation(len(values))]
        found += sum(_majority(dealt[a:b]) for a, b in itertools.pairwise(bounds))
    return found / DEALS


def _key(cells: dict[str, Cells], side: tuple[str, ...], limits: Limits, rng: Any) -> Iterator[Expected]:
    rows = [row for row in zip(*(cells[name] for name in side), strict=True) if None not in row]
    repeats = len(rows) - len(set(rows))
    if len(rows) <= 0.9 * len(cells[side[0]]) or repeats > limits.key_error * len(rows):
        return
    chance = math.inf
    for place in range(len(side)):
        found = 0
        for _ in range(DEALS):
            dealt = rng.permutation(len(rows))
            made = {
                (*row[:place], rows[other][place], *row[place + 1 :]) for row, other in zip(rows, dealt, strict=True)
            }
            found += len(rows) - len(made)
        chance = min(chance, found / DEALS)
    score = score_of(repeats, chance)
    if chance <= repeats or repeats - chance + repeats * math.log(chance / max(repeats, 1)) > math.log(limits.luck):
        return
    yield Expected(f"unique({', '.join(side)})", side, len(rows), repeats, chance, score, limits.tendency, "key")


def _orders(cells: dict[str, Cells], n: int, limits: Limits, rng: Any) -> Iterator[Expected]:
    def is_key(column: Cells) -> bool:
        known = [v for v in column if v is not None]
        return len(known) > 0.9 * n and len(known) - len(set(known)) <= limits.key_error * len(known)

    numbers = [name for name, column in cells.items() if all(isinstance(v, NUMBERS) for v in column if v is not None)]
    scales = [name for name in numbers if len({v for v in cells[name] if v is not None}) >= 5]
    for by in (None, *cells):
        parts = [list(range(n))] if by is None else groups([cells[by]])
        rows_in = sum(map(len, parts))
        if by is not None and (rows_in < 0.5 * n or rows_in < 5 * len(parts)):
            continue
        for x, y in itertools.combinations(scales, 2):
            if by in (x, y) or (is_key(cells[x]) and is_key(cells[y])):
                continue
            for down in (False, True):
                yield from _order(cells, parts, by, x, y, down, n, limits, rng)


def _order(
    cells: dict[str, Cells], parts: Any, by: str | None, x: str, y: str, down: bool, n: int, limits: Limits, rng: Any
) -> Iterator[Expected]:
    sign = -1 if down else 1
    points = [
        [(cells[x][row], sign * cells[y][row]) for row in rows if None not in (cells[x][row], cells[y][row])]
        for rows in parts
        if sum(cells[x][row] is not None for row in rows) > 1
    ]
    judged = [p for p in points if len({a for a, _ in p}) > 1 and len({b for _, b in p}) > 1]
    total = sum(map(len, judged))
    blame = sum(map(out_of_order, judged))
    if total < limits.order_support * n or blame > limits.order_error * total:
        return

    def dealt(p: list[tuple[Any, Any]]) -> int:
        return out_of_order([(a, p[other][1]) for (a, _), other in zip(p, rng.permutation(len(p)), strict=True)])

    chance = sum(dealt(p) for _ in range(8) for p in judged) / 8
    inside = [point for p in points for point in p]
    everywhere = [(a, sign * b) for a, b in zip(cells[x], cells[y], strict=True) if None not in (a, b)]
    sizes = [0, *itertools.accumulate(map(len, points))]
    alone = sum(map(bool, points)) == 1  # to deal the rows of one group to itself says nothing
    pools = [] if by is None else [everywhere] if alone else [inside, everywhere]
    for every in pools:
        found = 0
        for _ in range(8):
            mixed = [every[place] for place in rng.permutation(len(every))]
            found += sum(out_of_order(mixed[a:b]) for a, b in itertools.pairwise(sizes))
        chance = min(chance, found / 8)
    if chance >= 0.5 * max(limits.chance, limits.order_chance * total):
        text = f"order({x} asc, {y} {'desc' if down else 'asc'})" + ("" if by is None else f" by {by}")
        left = () if by is None else (by,)
        yield Expected(text, left, total, blame, chance, score_of(blame, chance), limits.order_lift, "order")


def out_of_order(points: list[tuple[Any, Any]]) -> int:
    """The fewest points to remove so that none with a larger x has a smaller y, by the longest path. O(n^2)."""
    ordered = sorted(points)
    best: list[int] = []
    for place, (_, y) in enumerate(ordered):
        best.append(1 + max((best[other] for other in range(place) if ordered[other][1] <= y), default=0))
    return len(points) - max(best, default=0)
