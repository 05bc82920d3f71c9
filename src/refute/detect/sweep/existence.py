"""Whether any pair satisfies a problem, with a witness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from refute.detect.sweep.first_pairs import FirstPair, Pair, choose_first_pair
from refute.detect.sweep.points import Points, prefix
from refute.detect.sweep.reduce import reduce
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.plan.first_rows import in_first_rows, prefix_sizes
from refute.plan.problem import Problem
from refute.plan.share import Share, apart, tell, under
from refute.plan.step import UNFOUND, Nothing, Step, steps_under, steps_within


def exists(
    problem: Problem, share: Share | None = None, *, first_rows: bool = True, tuning: Tuning = DEFAULT
) -> Pair | None:
    """Row numbers of some violating pair, or None.

    A prefix is looked at first, so that a badly broken rule costs next to nothing; without `first_rows` it is not.
    """
    for size in _prefixes(problem, first_rows, tuning):
        own = apart(share, in_first_rows(size))
        found = _Search.of(prefix(problem, size), own, tuning).find(own)
        if found is not None:
            return found
        share = under(share, UNFOUND)
    return _Search.of(problem, share, tuning).find(share)


def exists_steps(
    problem: Problem, share: Share | None = None, *, first_rows: bool = True, tuning: Tuning = DEFAULT
) -> Iterator[Step]:
    """The steps of `exists`, none of them run."""
    sizes = _prefixes(problem, first_rows, tuning)
    for size in sizes:
        yield from steps_within(in_first_rows(size), _Search.of(prefix(problem, size), None, tuning).steps())
    steps = _Search.of(problem, share, tuning).steps()
    yield from steps_under(UNFOUND, steps) if sizes else steps


def _prefixes(problem: Problem, first_rows: bool, tuning: Tuning) -> list[int]:
    """How many points are looked at first: some where there are many; more would cost a rule that holds too much."""
    sizes = prefix_sizes(max(problem.s_size, problem.t_size), first=tuning.probe)
    return sizes[:1] if first_rows else []


@dataclass(frozen=True, slots=True)
class _Search:
    """The way to answer one problem; None where no pair can satisfy it."""

    points: Points | None
    way: FirstPair | None

    @classmethod
    def of(cls, problem: Problem, share: Share | None, tuning: Tuning) -> _Search:
        points = reduce(problem, share)
        return cls(points, None if points is None else choose_first_pair(points, share, tuning))

    def steps(self) -> Iterator[Step]:
        """What is done."""
        if self.way is None:
            yield from Nothing().steps()
        else:
            yield from self.way.steps()

    def find(self, share: Share | None) -> Pair | None:
        """Row numbers of some pair, or None."""
        if self.points is None or self.way is None:
            tell(share, self)
            return None
        found = self.way.find(share)
        if found is None:
            return None
        s, t = found
        points = self.points
        return (
            s if points.s_rows is None else int(points.s_rows[s]),
            t if points.t_rows is None else int(points.t_rows[t]),
        )
