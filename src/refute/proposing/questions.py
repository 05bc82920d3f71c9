"""One candidate at a time: what some columns of all rows say about it, wherever these columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, read_columns
from refute.proposing.dependencies import DependencySearch
from refute.proposing.orders import OrderSearch
from refute.proposing.scores import Limits
from refute.proposing.spans import SpanSearch
from refute.proposing.within_rows import WithinRows
from refute.relation import Relation


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Whether a rule of this shape over these columns is good enough: those that agree first, then those it is about.

    `form` is the direction of an order, and `key` for what a column may hold that is a key.
    """

    shape: RuleShape
    columns: tuple[str, ...]
    form: str = ""

    def answered(self, relation: Relation, limits: Limits, seed: int) -> list[Candidate]:
        """The candidates that are good enough, from all rows of these columns."""
        return self.judged(relation, read_columns(relation, self.columns, 1), limits, seed)

    def judged(self, relation: Relation, columns: Sequence[CodedColumn], limits: Limits, seed: int) -> list[Candidate]:
        """The candidates that are good enough, from its columns of all rows."""
        n_rows = relation.n_rows
        last = len(columns) - 1
        match self.shape:
            case RuleShape.COMPARISON:
                return WithinRows(relation, columns, n_rows, limits).compared(*columns)
            case RuleShape.DOMAIN | RuleShape.NOT_NULL:
                return WithinRows(relation, columns, n_rows, limits).held(columns[0], is_key=self.form == "key")
        known = DependencySearch(columns, n_rows, limits, seed)
        group = 0 if last == 2 else None
        match self.shape:
            case RuleShape.KEY:
                side = tuple(range(len(columns)))
                return known.judged_key(side, known.grouping(side))
            case RuleShape.DEPENDENCY:
                return known.judged(tuple(range(last)), last)
            case RuleShape.ORDER:
                orders = OrderSearch(columns, known.singles, frozenset(), n_rows, limits, seed)
                return orders.judged(group, last - 1, last, self.form)
            case _:
                spans = SpanSearch(relation, columns, known.singles, n_rows, limits, seed)
                return spans.judged(group, self.columns[-2], self.columns[-1])
