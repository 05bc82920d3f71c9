"""Problems in rank space for tests: a strategy, a random generator, and the all-pairs answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from refute.plan.problem import Comparison, Ints, Problem, ProblemSide, Rows

Pair = tuple[int, int]


def within(
    rows: int,
    equal: tuple[Comparison, ...],
    order: tuple[Comparison, ...],
    differ: tuple[Comparison, ...],
    self_pairs: bool,
) -> Problem:
    """The problem of a table of so many rows with itself."""
    return Problem(ProblemSide(rows), ProblemSide(rows), equal, order, differ, self_pairs)


def naive_matches(problem: Problem) -> NDArray[np.bool_]:
    """The matrix of which points (of s, of t) pair up."""
    s_rows, t_rows = problem.s.row_numbers(), problem.t.row_numbers()
    held: NDArray[np.bool_] = s_rows[:, None] != t_rows[None, :]
    for comparison in problem.equal:
        held &= comparison.s[:, None] == comparison.t[None, :]
    for comparison in problem.order:
        held &= comparison.s[:, None] < comparison.t[None, :]
    for comparison in problem.differ:
        held &= comparison.s[:, None] != comparison.t[None, :]
    return held


def naive_pairs(problem: Problem) -> list[Pair]:
    """All violating pairs of row numbers, sorted."""
    s, t = np.nonzero(naive_matches(problem))
    s = s if problem.s.rows is None else problem.s.rows[s]
    t = t if problem.t.rows is None else problem.t.rows[t]
    return sorted(zip(s.tolist(), t.tolist(), strict=True))


def listed(chunks: Iterable[tuple[Rows, Rows]]) -> list[Pair]:
    """The pairs of all chunks, sorted."""
    return sorted(pair for s, t in chunks for pair in zip(s.tolist(), t.tolist(), strict=True))


def random_problem(
    seed: int,
    *,
    rows: int,
    equal: int,
    order: int,
    differ: int,
    sizes: tuple[int, ...] = (2, 3, 10, 1000),
    twin: bool | None = None,
    subset: bool | None = None,
    antichain: bool = False,
) -> Problem:
    """A problem over random columns. `antichain` makes the last order fall where the others rise."""
    random = np.random.default_rng(seed)
    subset = bool(random.integers(3) == 0) if subset is None else subset
    s_rows = t_rows = None
    if subset:
        s_rows = np.flatnonzero(random.random(rows) < random.choice((0.2, 0.7, 1.0)))
        t_rows = s_rows if random.integers(2) else np.flatnonzero(random.random(rows) < random.choice((0.2, 0.7, 1.0)))

    def compared(kind: str) -> Comparison:
        size = int(random.choice(sizes))
        wide = np.int32 if size <= 2**31 and random.integers(4) else np.int64
        shared = bool(random.integers(2)) if twin is None else twin
        span = min(size, 2**20) if random.integers(2) else size
        values: Ints = random.integers(size - span, size, rows).astype(wide)
        others: Ints = values if shared else random.integers(size - span, size, rows).astype(wide)
        turned, lag = False, 0
        if kind == "order":
            turned, lag = bool(random.integers(2)), int(random.integers(2) and size < 2**31)
        s = values if s_rows is None else values[s_rows]
        t = s if shared and s_rows is t_rows else others if t_rows is None else others[t_rows]
        return Comparison(s, t, size + lag, turned=turned, lag=lag)

    orders = [compared("order") for _ in range(order)]
    if antichain and order > 1:
        size = 4 * max(comparison.size for comparison in orders) * order
        total_s = np.sum([comparison.s.astype(np.int64) for comparison in orders[:-1]], axis=0)
        total_t = np.sum([comparison.t.astype(np.int64) for comparison in orders[:-1]], axis=0)
        same = all(comparison.s is comparison.t for comparison in orders[:-1])
        falling: Ints = size - 1 - total_s
        orders[-1] = Comparison(falling, falling if same else size - 1 - total_t, size)
    return Problem(
        s=ProblemSide.of(s_rows, rows),
        t=ProblemSide.of(t_rows, rows),
        equal=tuple(compared("equal") for _ in range(equal)),
        order=tuple(orders),
        differ=tuple(compared("differ") for _ in range(differ)),
        self_pairs=True,
    )


@st.composite
def problems(draw: st.DrawFn, *, max_rows: int = 12, max_order: int = 5, max_differ: int = 4) -> Problem:
    """Small problems of every shape: shared and separate arrays, subsets of rows, two tables, ties, all sizes."""
    rows = draw(st.integers(0, max_rows))
    shapes = st.sampled_from([(2, 1), (3, 1), (3, 2**20), (2, 2**30), (4, 2**40), (2, 2**62 // 2), (1, 1), (20, 1)])
    s_rows, t_rows = None, None
    t_count = rows
    if draw(st.booleans()):
        s_rows = np.array(sorted(draw(st.sets(st.integers(0, rows - 1)))) if rows else [], np.int64)
        t_rows = s_rows
        if draw(st.booleans()):
            t_rows = np.array(sorted(draw(st.sets(st.integers(0, rows - 1)))) if rows else [], np.int64)
    tables = draw(st.integers(0, 2)) == 0
    if tables:
        t_count = draw(st.integers(0, max_rows))
        t_rows = None

    def compared(ordered: bool) -> Comparison:
        distinct, step = draw(shapes)
        size = distinct * step
        wide = np.int32 if size <= 2**31 and draw(st.booleans()) else np.int64

        def column(n: int) -> Ints:
            return np.array(draw(st.lists(st.integers(0, distinct - 1), min_size=n, max_size=n)), np.int64) * step

        values = column(rows)
        shared = not tables and draw(st.booleans())
        others = values if shared else column(t_count)
        s: Ints = (values if s_rows is None else values[s_rows]).astype(wide)
        t: Ints = s if shared and s_rows is t_rows else (others if t_rows is None else others[t_rows]).astype(wide)
        turned = ordered and draw(st.booleans())
        lag = int(ordered and size < 2**31 and draw(st.booleans()))
        return Comparison(s, t, size + lag, turned=turned, lag=lag)

    def several(most: int, ordered: bool = False) -> tuple[Comparison, ...]:
        return tuple(compared(ordered) for _ in range(draw(st.integers(0, most))))

    equal, order, differ = several(3), several(max_order, ordered=True), several(max_differ)
    t_side = ProblemSide.beyond(rows, t_count) if tables else ProblemSide.of(t_rows, rows)
    problem = Problem(ProblemSide.of(s_rows, rows), t_side, equal, order, differ, True)
    return problem if _has_self_pair(problem) or draw(st.booleans()) else _without_self_pairs(problem)


def _has_self_pair(problem: Problem) -> bool:
    s_rows, t_rows = problem.s.row_numbers(), problem.t.row_numbers()
    same = s_rows[:, None] == t_rows[None, :]
    kinds = ((np.equal, problem.equal), (np.less, problem.order), (np.not_equal, problem.differ))
    for holds, comparisons in kinds:
        for comparison in comparisons:
            same &= holds(comparison.s[:, None], comparison.t[None, :])
    return bool(same.any())


def _without_self_pairs(problem: Problem) -> Problem:
    return replace(problem, self_pairs=False)
