"""One rule over one Spark table: verified, counted and listed by the way that suits it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import DataFrame

from refute.detect.results import Finding, Verdict
from refute.language.rulebook import Rule
from refute.plan.plan import RulePlan
from refute.spark.answer.bound import BoundRule, Shared
from refute.spark.answer.choice import expected_way, extremes_of, way_of
from refute.spark.answer.fetching.gather import Gather, TooMuchError
from refute.spark.answer.native import summary
from refute.spark.answer.native.extremes import Extremes
from refute.spark.answer.native.ways import Aggregate
from refute.spark.answer.referring import reads_another
from refute.spark.answer.way import Distribute, Extent, Way
from refute.spark.answer.witness import Clash
from refute.spark.grid.packing import Blocks

if TYPE_CHECKING:
    from refute.spark.answer.native.summary import DistinctRows
    from refute.spark.engine import SparkEngine

FIRST_ROWS = "look for a violation among the first rows; continue if there is none"

Answer = TypeVar("Answer")
Values = dict[str, dict[str, Any] | None]  # of the rows of a clash, by role


class SparkRule:
    """A bound rule. Ids are the table's own where it has any; else a row is named by the values that the rule reads."""

    def __init__(self, engine: SparkEngine, rule: Rule, plain: Rule, shared: Shared | None = None) -> None:
        self.rule = rule
        self.bound = BoundRule(engine, rule, plain, shared or Shared())
        self._way: Way | None = None

    def sharing(self, *, values: DistinctRows | None = None, blocks: Blocks | None = None) -> SparkRule:
        """The rule with work that is done for others too."""
        bound = self.bound
        shared = Shared(values or bound.shared.values, blocks or bound.shared.blocks)
        return SparkRule(bound.engine, self.rule, bound.plain, shared)

    @property
    def way(self) -> Way:
        """How the rule is answered."""
        if self._way is None:
            self._way = way_of(self.bound)
        return self._way

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule and its `where` read."""
        return self.bound.columns

    @property
    def comes_here(self) -> bool:
        """Whether the rows will probably come to this process for this rule."""
        return isinstance(expected_way(self.bound, self.bound.most_rows), Gather)

    @property
    def may_share_values(self) -> bool:
        """Whether counts of distinct values, also of columns that other rules read, would answer the rule."""
        return summary.suits(self.bound.pairing) and not self.comes_here

    @property
    def may_share_blocks(self) -> bool:
        """Whether tasks will probably answer the rule from blocks of rows."""
        return type(expected_way(self.bound, self.bound.most_rows)) is Distribute

    @property
    def reads_often(self) -> bool:
        """Whether Spark would evaluate the table more than twice for an answer of its own."""
        found = self.bound.pairing
        if found is None or not found.possible or not (self.bound.is_native or self._extremes is not None):
            return False
        return not found.aligned or len(found.differ) > 2

    def plan(self, rows: int) -> RulePlan:
        """How the rule would be answered over so many rows. To verify it, less may do than to count its violations."""
        way = expected_way(self.bound, rows)
        verify = [FIRST_ROWS] if self._looks_first(lambda: way) else []
        verify += way.steps if (found := self._extremes_before(way)) is None else found.steps
        alike = tuple(verify) == way.steps
        return RulePlan.of(
            self.bound.rule,
            rows=rows,
            method=f"{way.name} on Spark",
            steps=way.steps if alike else (),
            worst=way.worst,
            verify=() if alike else tuple(verify),
            count=() if alike else way.steps,
        )

    def verify(self) -> Verdict:
        """Whether the rule holds; badly broken rules show in the first rows alone."""
        clash = self._clash(counted=False)
        return Verdict(True) if clash is None else Verdict(False, clash.witness)

    def count(self) -> int:
        """The exact number of violations."""
        return self._asked(lambda way: way.count())

    def measure(self, counts: bool) -> tuple[Finding, Values | None]:
        """The verdict, with `counts` the exact numbers, and the values of the witness rows."""
        if counts or self.way.is_quick:
            extent = self._asked(lambda way: way.extent(counts=counts))
            return self._finding(extent, self.way.name)
        clash = self._clash(counted=True)
        number = 0 if clash is None else None
        name = self.way.name if self._extremes_before(self.way) is None else Aggregate.name
        return self._finding(Extent(number, number, self.bound.rows.skipped(), clash), name)

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        return self._asked(lambda way: way.partners())

    def pairs(self, limit: int | None) -> DataFrame:
        """The violations by row id, in columns `s` and `t`; only `s` for a rule about one row."""
        return self._asked(lambda way: way.pairs(limit))

    def task_rows(self) -> list[int]:
        """How many rows each task gets where the rule is answered by tasks: how even they are."""
        return Distribute(self.bound).task_rows()

    def _asked(self, ask: Callable[[Way], Answer]) -> Answer:
        """What the rule's way answers; where rows turn out to be too many to come here, what another answers."""
        try:
            return ask(self.way)
        except TooMuchError:
            self._way = None
            return ask(self.way)

    def _clash(self, *, counted: bool) -> Clash | None:
        """The rows of some violation, or None where the rule holds; with `counted` rows that are looked up are counted
        by the same pass."""
        bound = self.bound
        if self._looks_first(lambda: self.way):
            early = bound.rows.found_here(bound.engine.gathering.first(bound.columns, identified=True))
            if early is not None:
                return early
        found = self._extremes_before(self.way)
        if found is not None:
            return bound.rows.looked_up(found.conditions(), counted=counted)
        return self._asked(lambda way: way.clash(counted=counted))

    def _looks_first(self, way: Callable[[], Way]) -> bool:
        """Whether a verdict looks at the first rows. Where only a pass shows how many there are, that saves it too, so
        the way is not asked for then."""
        if reads_another(self.rule):  # which Spark joins, whatever rows are here
            return False
        return not (self.bound.engine.source.is_sizable() and way().is_quick)

    def _extremes_before(self, way: Way) -> Extremes | None:
        """The extremes of groups, where they verify the rule with less than its way takes. Bringing the rows once takes
        less than reading them often."""
        dear = way.is_quick or (isinstance(way, Gather) and self.reads_often)
        return None if dear else self._extremes

    @cached_property
    def _extremes(self) -> Extremes | None:
        """The extremes of groups, where they verify the rule."""
        return extremes_of(self.bound)

    def _finding(self, extent: Extent, method: str) -> tuple[Finding, Values | None]:
        clash = extent.clash
        witness = None if clash is None else clash.witness
        found = Finding(clash is None, extent.violations, extent.rows, extent.skipped, witness, method)
        return found, None if clash is None else clash.values
