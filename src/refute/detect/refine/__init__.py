"""Refinement of cluster pairs, after FACET (Pena, de Almeida and Naumann, PVLDB 15(4), 2022).

A cluster pair is two sets of points whose pairs all satisfy the predicates so far. Each predicate is an operator that
turns cluster pairs into smaller ones; what the last operator leaves are the violations. Operators work on whole
batches of cluster pairs, and batches are run depth first in bounded parts, so a rule that most pairs violate
needs no more memory than one that holds. Each rule is refined by itself: the paper's tries of many rules (section 4)
count them in two thirds of the time, but a report needs the partners of each row and a witness as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from refute.detect.refine.collect import Partners, Total
from refute.detect.refine.dtypes import prepared
from refute.detect.refine.execution import Collection, stream
from refute.detect.refine.order import plan
from refute.detect.refine.stages import Purpose
from refute.detect.refine.tuning import DEFAULT, Tuning
from refute.kernels.refinement.id_sets import fill_pairs, first_distinct
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share
from refute.plan.step import Step

__all__ = ["Tuning", "count", "count_steps", "exists", "exists_steps", "pairs", "partners", "partners_steps"]


def exists(
    problem: Problem, share: Share | None = None, *, first_rows: bool = True, tuning: Tuning = DEFAULT
) -> tuple[int, int] | None:
    """Some violating pair of row numbers, or None; stops at the first. Parts that grow stand for first rows."""
    problem = prepared(problem)
    for batch in stream(problem, tuning, share):
        found = first_distinct(batch.a, batch.b, problem.s.rows, problem.t.rows)
        if found is not None:
            return int(_rows(problem.s.rows, found[0])), int(_rows(problem.t.rows, found[1]))
    return None


def exists_steps(
    problem: Problem, share: Share | None = None, *, first_rows: bool = True, tuning: Tuning = DEFAULT
) -> Iterator[Step]:
    """The steps of `exists`, none of them run."""
    return plan(prepared(problem), Purpose.LIST, tuning, share).steps()


def count_steps(
    problem: Problem, share: Share | None = None, *, broken: bool = False, tuning: Tuning = DEFAULT
) -> Iterator[Step]:
    """The steps of `count`, none of them run."""
    return Collection(prepared(problem), tuning, share).steps()


def count(problem: Problem, share: Share | None = None, *, broken: bool = False, tuning: Tuning = DEFAULT) -> int:
    """The number of violating ordered pairs; that there is one, which `broken` says, saves nothing here."""
    problem = prepared(problem)
    total = Total(problem.s.size, problem.t.size)
    Collection(problem, tuning, share).into(total)
    return total.total


def partners(
    problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each point of side s, and of side t, its number of partners."""
    problem = prepared(problem)
    found = Partners(problem.s.size, problem.t.size)
    Collection(problem, tuning, share, partners=True).into(found)
    return found.s, found.t


def partners_steps(problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT) -> Iterator[Step]:
    """The steps of `partners`, none of them run."""
    return Collection(prepared(problem), tuning, share, partners=True).steps()


def pairs(
    problem: Problem, share: Share | None = None, limit: int | None = None, *, tuning: Tuning = DEFAULT
) -> Iterator[tuple[Rows, Rows]]:
    """The violating pairs in bounded chunks of row numbers, at most `limit`."""
    problem = prepared(problem)
    left = problem.s.size * problem.t.size if limit is None else limit
    if left <= 0:
        return
    for batch in stream(problem, tuning, share):
        sizes = (batch.a.ends - batch.a.starts) * (batch.b.ends - batch.b.starts)
        reach = np.cumsum(sizes)
        for done in range(0, int(reach[-1]), tuning.chunk):
            pair = int(np.searchsorted(reach, done, side="right"))
            first = pair, done - int(reach[pair] - sizes[pair])
            points = fill_pairs(batch.a, batch.b, first, min(tuning.chunk, int(reach[-1]) - done))
            s, t = _rows(problem.s.rows, points[0]), _rows(problem.t.rows, points[1])
            if problem.self_pairs:
                s, t = s[s != t], t[s != t]
            if len(s):
                yield s[:left], t[:left]
                left -= len(s)
                if left <= 0:
                    return


def _rows(rows: Rows | None, points: NDArray[np.int64] | int) -> Rows:
    return points if rows is None else rows[points]  # type: ignore[return-value]
