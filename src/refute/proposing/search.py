"""The search for proposals: all candidates of readable shapes that are good enough, then a short list of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from refute.discovery.options import Options
from refute.discovery.work import Budget, Crew
from refute.errors import OptionError
from refute.faults import unknown_column
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, distinct_rows, read_columns
from refute.proposing.dependencies import DependencySearch
from refute.proposing.listing import Head, listed
from refute.proposing.orders import OrderSearch
from refute.proposing.scores import STANDARD, Limits
from refute.proposing.spans import SpanSearch
from refute.proposing.within_rows import WithinRows
from refute.relation import Relation
from refute.runtime.compiling import Stopwatch

Task = Callable[[], list[Candidate]]
_WIDEST = 3
_FOLLOWING = {RuleShape.KEY, RuleShape.DEPENDENCY, RuleShape.ORDER, RuleShape.NO_OVERLAP}  # grouped by dependencies


@dataclass(frozen=True, slots=True)
class Heads:
    """What a search found: heads of both tiers, best first, and whether it was complete."""

    rules: tuple[Head, ...]
    tendencies: tuple[Head, ...]
    complete: bool
    notes: tuple[str, ...]
    seconds: float
    n_rows: int


def search_heads(
    relation: Relation,
    options: Options,
    *,
    max_left: int = 2,
    shapes: Collection[RuleShape] = tuple(RuleShape),
    limits: Limits = STANDARD,
) -> Heads:
    """The proposals for a table; `max_left` columns at most on the left of a dependency and in a key."""
    if not 1 <= max_left <= _WIDEST:
        raise OptionError(f"max_left must be 1, 2 or 3, not {max_left!r}", option="max_left", value=max_left)
    watch = Stopwatch()
    budget = Budget(options)
    names = list(relation.names if options.columns is None else options.columns)
    for name in names:
        if not relation.has(name):
            raise unknown_column(name, relation.names)
    budget.report("reading columns")
    columns = read_columns(relation, names, budget.threads)
    notes = []
    few = distinct_rows(columns, relation.n_rows)
    if few is not None:
        notes.append(
            f"only {len(few):,} of {relation.n_rows:,} rows differ; rows that repeat another were counted once"
        )
        chosen = np.zeros(relation.n_rows, np.bool_)
        chosen[few] = True
        relation = relation.filter(chosen)
        columns = read_columns(relation, names, budget.threads)
    search = ProposalSearch(relation, columns, budget, max_left, frozenset(shapes), limits, options.seed)
    found = search.candidates()
    if not search.complete:
        notes.append("the search was stopped; what it had not looked at yet may hold further rules")
    heads = [head for head in listed(found, relation.n_rows) if head.candidate.shape in search.shapes]
    rules = tuple(head for head in heads if _is_rule(head, limits))
    tendencies = tuple(head for head in heads if not _is_rule(head, limits))
    return Heads(rules, tendencies, search.complete, tuple(notes), watch.seconds, relation.n_rows)


def _is_rule(head: Head, limits: Limits) -> bool:
    strict = head.candidate.shape in (RuleShape.ORDER, RuleShape.NO_OVERLAP)  # whose limits are higher
    return strict or head.candidate.figures.score >= limits.rule


@dataclass(slots=True, eq=False)
class ProposalSearch:
    """One search: shape after shape, the cheapest and most telling first, until all are done or time is up.

    Without `pruned`, nothing is left out that its figures would not leave out: for tests.
    """

    relation: Relation
    columns: list[CodedColumn]
    budget: Budget
    max_left: int = 2
    shapes: frozenset[RuleShape] = frozenset(RuleShape)
    limits: Limits = STANDARD
    seed: int = 0
    pruned: bool = True
    complete: bool = True
    tried: int = 0

    def candidates(self) -> list[Candidate]:
        """All candidates that are good enough; those found so far where the search was stopped."""
        n_rows, limits, seed = self.relation.n_rows, self.limits, self.seed
        known = DependencySearch(self.columns, n_rows, limits, seed, self.pruned)
        found = list(known.single_keys())
        keyed = {one.left[0] for one in found}
        keys = frozenset(place for place, column in enumerate(self.columns) if column.name in keyed)
        if _FOLLOWING & self.shapes:
            for size in range(1, self.max_left + 1):
                sides = known.sides(size)
                found += self._done("dependencies", (partial(known.searched, side) for side in sides))
        rows = WithinRows(self.relation, self.columns, n_rows, limits)
        compared: list[Candidate] = []
        if {RuleShape.COMPARISON, RuleShape.NO_OVERLAP} & self.shapes:
            compared = self._done("comparisons", rows.comparisons())
            found += compared
        if {RuleShape.DOMAIN, RuleShape.NOT_NULL} & self.shapes:
            found += self._done("values", rows.domains(keyed))
        if RuleShape.NO_OVERLAP in self.shapes:
            spans = SpanSearch(self.relation, self.columns, known.singles, n_rows, limits, seed, self.pruned)
            found += self._done("spans", spans.tasks(compared))
        if RuleShape.ORDER in self.shapes:
            orders = OrderSearch(self.columns, known.singles, keys, n_rows, limits, seed, self.pruned)
            found += self._done("orders", orders.tasks())
        return found

    def _done(self, phase: str, tasks: Iterable[Task]) -> list[Candidate]:
        """What tasks find, on all cores; the progress names what was found last."""

        def counted() -> Iterator[Task]:
            for task in tasks:
                self.tried += 1
                yield task

        def work(found: list[Candidate], task: Task) -> list[Candidate]:
            new = task()
            found += new
            last = max(new, key=lambda one: one.figures.score, default=None)
            self.budget.report(phase if last is None else f"{phase}, {last}", candidates=self.tried)
            return found

        states, done = Crew(self.budget, list[Candidate], work).run(counted())
        self.complete = self.complete and done
        return [one for state in states for one in state]
