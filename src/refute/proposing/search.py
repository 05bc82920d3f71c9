"""The search for proposals: all candidates of readable shapes that are good enough, then a short list of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from refute.discovery.options import DONE, Options
from refute.discovery.work import Budget, Crew
from refute.display import in_one_line
from refute.faults import unknown_column
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, distinct_rows, read_columns, whole_row_columns
from refute.proposing.dependencies import DependencySearch, keys_among, single_keys
from refute.proposing.following import Head
from refute.proposing.orders import OrderSearch
from refute.proposing.repeats import AllRows
from refute.proposing.scores import STANDARD, Limits
from refute.proposing.short_list import listed
from refute.proposing.spans import SpanSearch
from refute.proposing.within_rows import WithinRows
from refute.relation import Family, Relation
from refute.runtime.arrays import give_back
from refute.runtime.compiling import Stopwatch

Task = Callable[[], list[Candidate]]
_SHOWN = 5  # names in a note
_READING = 0.5  # of a time limit, which columns may be read for
_HELD = {RuleShape.DOMAIN, RuleShape.NOT_NULL}
FOLLOWING = {RuleShape.KEY, RuleShape.DEPENDENCY, RuleShape.ORDER, RuleShape.NO_OVERLAP}  # grouped by dependencies


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
    watch = Stopwatch()
    budget = Budget(options)
    names = list(dict.fromkeys(relation.names if options.columns is None else options.columns))
    for name in names:
        if not relation.has(name):
            raise unknown_column(name, relation.names)
    search = ProposalSearch(relation, [], budget, max_left, frozenset(shapes), limits, options.seed)
    notes = unread_note(relation, names)
    try:
        budget.report("reading columns")
        notes += search.read(names)
        search.candidates()
    except KeyboardInterrupt:  # where no kernel runs
        search.complete = False
    n_rows, complete = search.relation.n_rows, search.complete
    listing = partial(heads_of, search.found, n_rows, search.shapes, limits, notes, watch, complete=complete)
    heads = budget.finished(listing)
    budget.report(DONE)
    return heads


def unread_note(relation: Relation, names: Iterable[str]) -> list[str]:
    """What is said of columns that hold something that rules cannot read."""
    unread = [name for name in names if relation.type_of(name).family in (Family.UNSUPPORTED, Family.DURATION)]
    shown = ", ".join(map(in_one_line, unread[:_SHOWN])) + (" and others" if len(unread) > _SHOWN else "")
    return [f"Rules cannot read every type, so these columns were left out: {shown}."] if unread else []


def repeated_note(differ: int, n_rows: int) -> str:
    """What is said where rows that repeat others count once."""
    return f"Only {differ:,} of {n_rows:,} rows are distinct. Rows that repeat another were counted once."


def few_note(n_rows: int, limits: Limits) -> str:
    """What is said where rows are too few for any rule."""
    return (
        f"There are too few rows to tell a rule from chance: {n_rows:,}, where at least {limits.chance:g} are needed."
    )


def heads_of(
    found: Sequence[Candidate],
    n_rows: int,
    shapes: Collection[RuleShape],
    limits: Limits,
    notes: Sequence[str],
    watch: Stopwatch,
    *,
    complete: bool,
) -> Heads:
    """The list of what a search found since its watch was started."""
    is_counted = complete or n_rows > 0  # of a search that was stopped, the rows may not be known
    few = (few_note(n_rows, limits),) if is_counted and not limits.can_tell(n_rows) else ()
    stopped = () if complete else ("The search was stopped. There may be more rules in what it had not examined.",)
    compares = RuleShape.COMPARISON in shapes  # else nothing stands under what is not shown
    heads = listed([one for one in found if compares or one.shape is not RuleShape.COMPARISON], n_rows)
    heads = [head for head in heads if head.candidate.shape in shapes]
    for head in heads:
        head.members = [one for one in head.members if one.shape in shapes]
    rules = tuple(head for head in heads if _is_rule(head, limits))
    tendencies = tuple(head for head in heads if not _is_rule(head, limits))
    return Heads(rules, tendencies, complete, (*notes, *few, *stopped), watch.seconds, n_rows)


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
    all_rows: AllRows | None = None  # where those that repeat others are left out
    repeats: bool = False  # whether rows may repeat others and are not left out, so only values and keys can be judged
    tried: int = 0
    found: list[Candidate] = field(default_factory=list)

    def read(self, names: Sequence[str]) -> list[str]:
        """Read the columns; gives what is to be said where rows that repeat others are left out.

        Where time is short, some of them are read, and the rest of the time is for rules about these.
        """
        with self.budget.within(_READING):
            self.columns = read_columns(self.relation, names, self.budget.threads, self.budget)
            self.complete = not self.budget.expired
            few = distinct_rows(self.relation, self.columns)  # where all columns are known, more rows may differ
            self.repeats = few is not None and not self.complete
            if few is None or not self.complete:
                return []
            note = repeated_note(len(few), self.relation.n_rows)
            apart = frozenset(one.name for one in whole_row_columns(self.columns, self.relation.n_rows)[1])
            self.all_rows = AllRows(self.relation, self.columns, apart, self.limits, self.seed)
            chosen = np.zeros(self.relation.n_rows, np.bool_)
            chosen[few] = True
            self.relation = self.relation.filter(chosen)
            self.columns = read_columns(self.relation, names, self.budget.threads, self.budget)
            self.complete = not self.budget.expired
            return [note]

    def candidates(self) -> list[Candidate]:
        """All candidates that are good enough; those found so far where the search was stopped."""
        n_rows, limits, seed, halt = self.relation.n_rows, self.limits, self.seed, self.budget.halt
        self.found += self._single_keys()
        keyed = keys_among(self.columns, n_rows, limits)
        rows = WithinRows(self.relation, self.columns, n_rows, limits)
        if _HELD & self.shapes:
            self._done("values", rows.domains(keyed))
        if self.repeats or self.budget.expired:
            self.complete = self.complete and self.shapes <= _HELD
            return self.found
        keys = frozenset(place for place, column in enumerate(self.columns) if column.name in keyed)
        known = DependencySearch(self.columns, n_rows, limits, seed, self.pruned, halt)
        self._dependencies(known, 1)
        compared: list[Candidate] = []
        if {RuleShape.COMPARISON, RuleShape.NO_OVERLAP} & self.shapes:
            compared = self._done("comparisons", rows.comparisons())
        if RuleShape.NO_OVERLAP in self.shapes:
            spans = SpanSearch(self.relation, self.columns, known.singles, n_rows, limits, seed, self.pruned)
            self._done("spans", spans.tasks(compared))
        if RuleShape.ORDER in self.shapes:
            orders = OrderSearch(self.columns, known.singles, keys, n_rows, limits, seed, self.pruned, halt)
            self._done("orders", orders.tasks())
        for size in range(2, self.max_left + 1):
            self._dependencies(known, size)
        return self.found

    def _single_keys(self) -> Iterator[Candidate]:
        """Columns that are a key of all rows: what only rows that differ have once is none."""
        rows = self if self.all_rows is None else self.all_rows
        return single_keys(rows.columns, rows.relation.n_rows, self.limits)

    def _dependencies(self, known: DependencySearch, size: int) -> None:
        """Find the keys and dependencies with so many columns on the left."""
        if FOLLOWING & self.shapes:
            self._done("dependencies", (partial(known.searched, side) for side in known.sides(size)))

    def _done(self, phase: str, tasks: Iterable[Task]) -> list[Candidate]:
        """What tasks find, on all cores; the progress names what was found last."""
        give_back(self.relation.n_rows)

        def counted() -> Iterator[Task]:
            for task in tasks:
                self.tried += 1
                yield task

        def work(found: list[Candidate], task: Task) -> list[Candidate]:
            new = task() if self.all_rows is None else self.all_rows.settled(task())
            found += new
            last = max(new, key=lambda one: one.figures.score, default=None)
            self.budget.report(phase if last is None else f"{phase}, {last}", candidates=self.tried)
            return found

        states, done = Crew(self.budget, list[Candidate], work).run(counted())
        self.complete = self.complete and done
        found = [one for state in states for one in state]
        self.found += found
        return found
