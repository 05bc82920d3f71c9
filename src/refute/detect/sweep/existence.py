"""Whether any pair satisfies a problem, with a witness."""

from __future__ import annotations

from collections.abc import Iterator

from refute.detect.sweep.first_pairs import Pair, choose_first_pair
from refute.detect.sweep.points import prefix
from refute.detect.sweep.reduce import reduce
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.plan.first_rows import in_first_rows, prefix_sizes
from refute.plan.problem import Problem
from refute.plan.share import Share, announce, apart, under
from refute.plan.step import UNFOUND, Nothing, Step, steps_under, steps_within


def exists(
    problem: Problem, share: Share | None = None, *, first_rows: bool = True, tuning: Tuning = DEFAULT
) -> Pair | None:
    """Row numbers of some violating pair, or None.

    A prefix is looked at first, so a badly broken rule costs next to nothing; without `first_rows` it is not.
    """
    if first_rows:
        for size in _prefixes(problem, tuning):
            found = _find(prefix(problem, size), apart(share, in_first_rows(size)), tuning)
            if found is not None:
                return found
            share = under(share, UNFOUND)
    return _find(problem, share, tuning)


def exists_steps(
    problem: Problem, share: Share | None = None, *, first_rows: bool = True, tuning: Tuning = DEFAULT
) -> Iterator[Step]:
    """The steps of `exists`, none of them run."""
    sizes = _prefixes(problem, tuning) if first_rows else []
    for size in sizes:
        yield from steps_within(in_first_rows(size), _steps(prefix(problem, size), None, tuning))
    steps = _steps(problem, share, tuning)
    yield from steps_under(UNFOUND, steps) if sizes else steps


def _prefixes(problem: Problem, tuning: Tuning) -> list[int]:
    """How many points are looked at first: some where there are many; more would cost a rule that holds too much."""
    return prefix_sizes(max(problem.s.size, problem.t.size), first=tuning.probe)[:1]


def _steps(problem: Problem, share: Share | None, tuning: Tuning) -> Iterator[Step]:
    points = reduce(problem, share)
    return Nothing().steps() if points is None else choose_first_pair(points, share, tuning).steps()


def _find(problem: Problem, share: Share | None, tuning: Tuning) -> Pair | None:
    """Row numbers of some pair, or None."""
    points = reduce(problem, share)
    if points is None:
        announce(share, Nothing())
        return None
    found = choose_first_pair(points, share, tuning).find(share)
    if found is None:
        return None
    s, t = found
    return (
        s if points.s_rows is None else int(points.s_rows[s]),
        t if points.t_rows is None else int(points.t_rows[t]),
    )
