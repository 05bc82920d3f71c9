"""The ways to answer a rule on Spark, and which one is taken."""

from __future__ import annotations

from enum import Enum

from refute.language.rulebook import Rule
from refute.plan.plan import RulePlan
from refute.spark.aggregates import MOST_DIFFERENCES
from refute.spark.pairing import Pairing


class Strategy(Enum):
    """The ways to answer a rule, with what each does."""

    FILTER = "filter"
    GATHER = "gather"
    AGGREGATE = "aggregate"
    SUMMARISE = "summarise"
    DISTRIBUTE = "distribute"


_STEPS = {
    Strategy.FILTER: ("filter the rows",),
    Strategy.GATHER: ("bring the columns to the driver's process", "answer them with the in-process kernels"),
    Strategy.AGGREGATE: ("group the rows by the compared columns", "compare the sizes of the groups"),
    Strategy.SUMMARISE: ("count the rows of each distinct combination of values", "answer from these counts alone"),
    Strategy.DISTRIBUTE: (
        "pack the columns into blocks, kept on the executors; a sample of them tells how to cut the work",
        "send small groups to tasks whole, and large ones tile by tile",
        "answer each task's rows with the in-process kernels; add what the tiles alone settle",
    ),
}
_WORST = {
    Strategy.FILTER: "one scan",
    Strategy.GATHER: "one scan, then as in process",
    Strategy.AGGREGATE: "one scan and two shuffles of group counts, no Python worker",
    Strategy.SUMMARISE: "one scan and one shuffle of counts, no Python worker",
    Strategy.DISTRIBUTE: "one scan, one shuffle of a copy for each order, no task with much more than its share",
}


def choose(pairing: Pairing | None, *, small: bool, repetitive: bool, fetched: bool) -> Strategy:
    """The way to answer a rule: `pairing` is None for a rule about one row.

    `small` says that its rows can be gathered, `repetitive` that they have few distinct values, and `fetched` that they
    are rather gathered than distributed.
    """
    if small:
        return Strategy.GATHER
    if pairing is None:
        return Strategy.FILTER
    if is_native(pairing):
        return Strategy.AGGREGATE
    if repetitive:
        return Strategy.SUMMARISE
    return Strategy.GATHER if fetched else Strategy.DISTRIBUTE


def is_native(pairing: Pairing | None) -> bool:
    """Whether the sizes of groups alone answer a rule, which Spark's own aggregates tell."""
    return pairing is not None and not pairing.order and pairing.exact and len(pairing.differ) <= MOST_DIFFERENCES


def plan_of(rule: Rule, strategy: Strategy, rows: int) -> RulePlan:
    """The plan of one rule."""
    method = f"{strategy.value} on Spark"
    return RulePlan.of(rule, rows=rows, method=method, steps=_STEPS[strategy], worst=_WORST[strategy])


def note_on(driver_bytes: int) -> str:
    """What the budget of bytes means for a plan."""
    if not driver_bytes:
        return "No rows come to this process but a sample to cut the work by (driver_bytes = 0)."
    return f"At most {driver_bytes / 2**20:,.0f} MB of rows come to this process (driver_bytes)."
