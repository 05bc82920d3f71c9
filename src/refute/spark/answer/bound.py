"""A rule bound to a Spark table, with what is known of its columns before it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from refute.language.rulebook import Rule
from refute.spark.answer.native.aggregates import MOST_DIFFERENCES
from refute.spark.answer.native.summary import DistinctRows
from refute.spark.answer.pairing import Pairing
from refute.spark.answer.referring import reads_another
from refute.spark.answer.rows import RuleRows
from refute.spark.answer.spread import Spread
from refute.spark.grid.packing import Blocks

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine


@dataclass(frozen=True, slots=True)
class Shared:
    """Work that is done once for several rules: the columns of this one counted, or in blocks, with those of others."""

    values: DistinctRows | None = None
    blocks: Blocks | None = None


class BoundRule:
    """A rule under the table's names and under plain ones, its comparisons, and the rows that it is about."""

    def __init__(self, engine: SparkEngine, rule: Rule, plain: Rule, shared: Shared) -> None:
        self.engine = engine
        self.rule = rule
        self.plain = plain
        self.shared = shared
        self.rows = RuleRows(engine, rule, plain)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule and its `where` read."""
        return self.rows.columns

    @cached_property
    def pairing(self) -> Pairing | None:
        """The rule's comparisons between two rows; None for a rule about one row."""
        return None if self.rule.constraint.is_single_row else Pairing.of(self.plain, self.engine.plain_types)

    @property
    def counts_groups(self) -> bool:
        """Whether the sizes of groups alone answer the rule, which Spark's own aggregates give."""
        found = self.pairing
        return found is not None and not found.order and found.exact and len(found.differ) <= MOST_DIFFERENCES

    @property
    def is_native(self) -> bool:
        """Whether Spark answers the rule by itself."""
        return self.pairing is None or self.counts_groups

    @property
    def most_rows(self) -> int:
        """A number of rows that the table has no more than."""
        return self.engine.gathering.most_rows(self.columns)

    def comes_here(self, rows: int, *, below: int | None = None) -> bool:
        """Whether so many rows of the rule's columns may come to this process; with `below`, and take few bytes."""
        return not reads_another(self.rule) and self.engine.gathering.fits(self.columns, rows, below)

    @cached_property
    def spread(self) -> Spread:
        """What some rows let expect of the columns that the rule reads, under their plain names."""
        sample = self.engine.gathering.glimpse(self.columns).rename_columns(list(self.rows.plain_columns))
        return Spread(self.most_rows, sample, lambda: self.engine.tasks, self.engine.budget)
