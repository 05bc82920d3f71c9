"""Stages: the operators of a refinement pipeline, as data."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from enum import Enum

from refute.plan.problem import Comparison
from refute.plan.step import Step, named


class Kind(Enum):
    """The class of a predicate (FACET, section 5)."""

    EQUAL = "="
    DIFFER = "!="
    ORDER = "<"


class Algorithm(Enum):
    """How a stage refines."""

    HASH = "hash"
    HSM = "HSM"
    BHSM = "BHSM"
    IEJOIN = "IEJoin"


class Purpose(Enum):
    """What the cluster pairs are for: to be counted, where they may carry signs, or to be listed."""

    COUNT = "count"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Stage:
    """One refinement: a predicate (two inequalities for IEJoin) and the algorithm that evaluates it."""

    kind: Kind
    algorithm: Algorithm
    comparisons: tuple[Comparison, ...]
    cardinality: float  # estimated distinct values, the larger of both sides and of all comparisons
    build_s: bool = True  # hash joins: whether side s has the fewer distinct values and is built

    @property
    def single_column(self) -> bool:
        """Whether one array serves both sides, so reflexive pairs need one scan (section 5.1)."""
        return all(comparison.s is comparison.t for comparison in self.comparisons)

    @property
    def key(self) -> Hashable:
        """What identifies the predicate among the rules of one table."""
        labels = tuple((id(c.s), id(c.t)) if c.label is None else c.label for c in self.comparisons)
        return (self.kind, labels)

    def step(self) -> Step:
        """What the refinement does."""
        names = named(self.comparisons)
        if self.algorithm is Algorithm.IEJOIN:
            return Step(f"keep the pairs that satisfy the order of {names}, by IEJoin: two sorts and a bit array")
        if self.kind is Kind.ORDER:
            binned = " in bins of equal size" if self.algorithm is Algorithm.BHSM else ""
            return Step(f"keep the pairs that satisfy the order of {names}, by {self.algorithm.value}: a merge{binned}")
        asked = "agree on" if self.kind is Kind.EQUAL else "differ in"
        return Step(f"keep the pairs that {asked} {names}, by a hash table")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The stages in order. The first `reflexive` of them keep A and B equal and drop sets of one id."""

    stages: tuple[Stage, ...]
    reflexive: int

    def steps(self) -> Iterator[Step]:
        """What the stages do; the last ones may be left to a loop where that is quicker."""
        yield Step("start with one pair of clusters: all rows on each side")
        yield from (stage.step() for stage in self.stages)
        if sum(len(stage.comparisons) for stage in self.stages) > 1:
            yield Step("compare what is left pair by pair", when="where two clusters have few pairs")


def leading_reflexive(stages: tuple[Stage, ...], aligned: bool) -> int:
    """How many leading stages are single-column equalities on reflexive pairs."""
    count = 0
    while aligned and count < len(stages) and stages[count].kind is Kind.EQUAL and stages[count].single_column:
        count += 1
    return count
