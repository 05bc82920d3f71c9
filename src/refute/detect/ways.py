"""The ways to count the violations of a rule: each says what it does, and does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from refute.detect.methods import Method
from refute.detect.summary import Summary
from refute.detect.weighted import WeightedPartners
from refute.language.rulebook import Rule
from refute.plan.problem import Problem
from refute.plan.share import Share, announce, within
from refute.plan.step import Step, steps_within

_FIRST_PAIR = "to see whether there is a pair"


class CountingWay(Protocol):
    """A way to count, or to find that there is nothing to count."""

    def steps(self) -> Iterator[Step]:
        """What it does."""

    def count(self) -> int | None:
        """The number of violations; None where the next way has to give it."""


@dataclass(frozen=True, slots=True)
class ByMethod:
    """As the method counts; `broken` where a pair was found before."""

    method: Method
    problem: Problem
    share: Share
    broken: bool = False

    def steps(self) -> Iterator[Step]:
        """Those of the method."""
        return self.method.count_steps(self.problem, self.share, broken=self.broken)

    def count(self) -> int | None:
        """The number of violations."""
        return self.method.count(self.problem, self.share, broken=self.broken)


@dataclass(frozen=True, slots=True)
class UnlessNone:
    """A search for a first pair, which costs far less than a count and often shows that there is none."""

    method: Method
    problem: Problem
    share: Share

    def steps(self) -> Iterator[Step]:
        """Those of the search."""
        return steps_within(_FIRST_PAIR, self.method.exists_steps(self.problem, self.share))

    def count(self) -> int | None:
        """0 where there is no pair."""
        share = within(self.share, _FIRST_PAIR)
        return 0 if self.method.exists(self.problem, share) is None else None


@dataclass(frozen=True, slots=True)
class ByDistinctRows:
    """The distinct rows of the columns that the rule reads, and how often each occurs."""

    summary: Summary
    rule: Rule
    share: Share

    def steps(self) -> Iterator[Step]:
        """Weigh."""
        rows = self.summary.table.num_rows
        yield Step(f"add up the pairs of the {rows:,} distinct rows, each as often as it occurs")

    def count(self) -> int | None:
        """The number of violations."""
        return self.partners().violations

    def partners(self) -> WeightedPartners:
        """The partners of each distinct row."""
        announce(self.share, self)
        return self.summary.partners(self.rule)
