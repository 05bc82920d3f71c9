"""The in-process detector: one table, any number of rules, encodings and sorts shared between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.detect.methods import Method, method_of, sweep
from refute.detect.results import Finding, Verdict, Witness
from refute.detect.summary import SUMMARIES, Summary, SummaryTuning
from refute.detect.ways import ByDistinctRows, ByMethod, CountingWay, UnlessNone
from refute.detect.weighted import can_weigh
from refute.language.form import Form
from refute.language.rulebook import Rule
from refute.plan.compile import Compiled, compile_rule
from refute.plan.first_rows import in_first_rows, prefix_sizes
from refute.plan.method import MethodName
from refute.plan.problem import Problem, Rows
from refute.plan.share import Listener, Share, apart
from refute.plan.step import Step, steps_within
from refute.relation import Relation
from refute.relation.arrays import exact_sum
from refute.runtime.once import Once


@dataclass(frozen=True, slots=True)
class PartnerCounts:
    """For every row of the table, its number of partners as `s` and as `t`."""

    as_s: NDArray[np.int64]
    as_t: NDArray[np.int64]

    @property
    def violations(self) -> int:
        """The number of ordered pairs."""
        return exact_sum(self.as_s)

    @property
    def in_violation(self) -> NDArray[np.bool_]:
        """Which rows take part in some violation."""
        return (self.as_s > 0) | (self.as_t > 0)


class Detector:
    """Answers questions about one table. Row ids are row numbers; thread-safe.

    `listener` hears of each step of `verify` and `count` as it is taken; `summaries` say where distinct rows are looked
    for.
    """

    def __init__(
        self,
        relation: Relation,
        *,
        method: MethodName = MethodName.AUTO,
        threads: int = 1,
        listener: Listener | None = None,
        summaries: SummaryTuning = SUMMARIES,
    ) -> None:
        self.relation = relation
        self._method = method
        self._summaries = summaries
        self.share = Share(threads=threads, listener=listener)
        self._compiled = Once()

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds. Growing prefixes are looked at first, so a broken rule costs little."""
        for _, part in self._parts(rule):
            verdict = part.verify_all(rule, first_rows=False)
            if not verdict.holds:
                break
        return verdict

    def verify_steps(self, rule: Rule) -> Iterator[Step]:
        """The steps of `verify` for a two-row rule: all is prepared as for it, and nothing searched."""
        for scope, part in self._parts(rule):
            yield from steps_within(scope, part._own_steps(rule))

    def _parts(self, rule: Rule) -> Iterator[tuple[str, Detector]]:
        """The detectors of growing prefixes and that of all rows, with the words for each; prefixes are made lazily."""
        if Form.of(rule).possible:
            for size in prefix_sizes(self.relation.n_rows):
                yield in_first_rows(size), self._prefix(size)
        yield "", self

    def _own_steps(self, rule: Rule) -> Iterator[Step]:
        """The steps of `verify_all` without first rows."""
        problem = self.compiled(rule).problem
        return iter(()) if problem is None else self._run().exists_steps(problem, self.share, first_rows=False)

    def verify_all(self, rule: Rule, *, first_rows: bool = True) -> Verdict:
        """The same without a look at the first rows of the table; at those that the rule admits, with `first_rows`."""
        compiled = self.compiled(rule)
        if compiled.rows is not None:
            found = compiled.rows
            return Verdict(True) if len(found) == 0 else Verdict(False, Witness(int(found[0])))
        if compiled.problem is None:
            return Verdict(True)
        pair = self._run().exists(compiled.problem, self.share, first_rows=first_rows)
        return Verdict(True) if pair is None else Verdict(False, Witness(*pair))

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""
        compiled = self.compiled(rule)
        if compiled.rows is not None:
            return len(compiled.rows)
        if compiled.problem is None:
            return 0
        return next(found for way in self._ways_to_count(rule, compiled.problem) if (found := way.count()) is not None)

    def count_steps(self, rule: Rule) -> Iterator[Step]:
        """The steps of `count` for a two-row rule: all is prepared as for it, and nothing searched."""
        problem = self.compiled(rule).problem
        assert problem is not None
        for way in self._ways_to_count(rule, problem):
            yield from way.steps()

    def _ways_to_count(self, rule: Rule, problem: Problem) -> Iterator[CountingWay]:
        """The ways to count, in turn until one gives the number; each is prepared when its turn comes."""
        method, share = self._run(), self.share
        simple, broken = _counts_as_it_verifies(problem), False
        if not _takes_one_pass(problem) and not (simple and self.relation.n_rows < self._summaries.simple_rows):
            summary = self._summary(rule, self._summaries.many_repeats)
            if summary is None and not simple:
                yield UnlessNone(method, problem, share)
                broken = True
            summary = summary or self._summary(rule, self._summaries.few_repeats)
            if summary is not None:
                yield ByDistinctRows(summary, rule, share)
                return
        yield ByMethod(method, problem, share, broken)

    def pairs(self, rule: Rule, limit: int | None = None) -> Iterator[tuple[Rows, Rows | None]]:
        """The violations in chunks of row numbers; the second array is None for a rule about one row."""
        compiled = self.compiled(rule)
        if compiled.rows is not None:
            yield compiled.rows[:limit], None
        elif compiled.problem is not None:
            yield from self._run().pairs(compiled.problem, self.share, limit)

    def partners(self, rule: Rule) -> PartnerCounts:
        """Each row's number of partners, without listing pairs. A row that breaks a one-row rule has one, as `s`."""
        compiled = self.compiled(rule)
        n = self.relation.n_rows
        as_s = np.zeros(n, dtype=np.int64)
        as_t = np.zeros(n, dtype=np.int64)
        if compiled.rows is not None:
            as_s[compiled.rows] = 1
        elif compiled.problem is not None:
            problem = compiled.problem
            s_counts, t_counts = self._run().partners(problem, self.share)
            as_s[slice(None) if problem.s.rows is None else problem.s.rows] = s_counts
            as_t[slice(None) if problem.t.rows is None else problem.t.rows] = t_counts
        return PartnerCounts(as_s, as_t)

    def measure(self, rule: Rule, *, counts: bool = True) -> Finding:
        """The verdict, and with `counts` the exact numbers. A rule that holds costs no more than verifying it."""
        verdict = self.verify(rule)
        compiled = self.compiled(rule)
        method = "scan" if compiled.problem is None else self.method.value
        violations: int | None = 0
        rows: int | None = 0
        if not verdict.holds:
            violations = rows = None
            if counts:
                violations, rows = self._extent(rule)
        return Finding(verdict.holds, violations, rows, compiled.skipped_nulls, verdict.witness, method)

    def compiled(self, rule: Rule) -> Compiled:
        """The rule over all rows of this table, prepared once."""
        key = (rule.constraint, rule.nulls, rule.where)
        return self._compiled.get(key, lambda: compile_rule(self.relation, rule, threads=self.share.threads))

    def _prefix(self, size: int) -> Detector:
        """The detector of the first rows, which all rules share."""
        listening = apart(self.share, in_first_rows(size))
        if listening is not None:
            return Detector(self.relation.head(size), method=self._method, listener=listening.listener)
        return self.relation.shared(
            ("prefix", size, self._method), lambda: Detector(self.relation.head(size), method=self._method)
        )

    def _extent(self, rule: Rule) -> tuple[int, int]:
        """The number of violations and of rows in some violation; from distinct rows alone where these are few."""
        problem = self.compiled(rule).problem
        by_distinct = None if problem is None else self._by_distinct(rule, problem)
        if by_distinct is not None:
            weighted = by_distinct.partners()
            return weighted.violations, weighted.rows
        if problem is None or self.method is not MethodName.SWEEP:
            partners = self.partners(rule)
            return partners.violations, int(np.count_nonzero(partners.in_violation))
        violations, s_flags, t_flags = sweep().involved(problem, self.share)
        flags = np.zeros(self.relation.n_rows, dtype=np.bool_)
        flags[slice(None) if problem.s.rows is None else problem.s.rows] = s_flags
        flags[slice(None) if problem.t.rows is None else problem.t.rows] |= t_flags
        return violations, int(np.count_nonzero(flags))

    def extent_steps(self, rule: Rule) -> Iterator[Step]:
        """What `measure` does besides for a two-row rule that is broken: all is prepared, and nothing searched."""
        problem = self.compiled(rule).problem
        assert problem is not None
        by_distinct = self._by_distinct(rule, problem)
        if by_distinct is not None:
            return by_distinct.steps()
        if self.method is not MethodName.SWEEP:
            return self._run().partners_steps(problem, self.share)
        return sweep().involved_steps(problem, self.share)

    def _by_distinct(self, rule: Rule, problem: Problem) -> ByDistinctRows | None:
        summary = None if _takes_one_pass(problem) else self._summary(rule, self._summaries.few_repeats)
        return None if summary is None else ByDistinctRows(summary, rule, self.share)

    def _summary(self, rule: Rule, repeats: int) -> Summary | None:
        """The distinct rows, where these repeat that often, can answer the rule, and no method is forced."""
        problem = self.compiled(rule).problem
        if self._method is not MethodName.AUTO or problem is None or not can_weigh(problem):
            return None
        if self.relation.n_rows < self._summaries.least_rows:
            return None
        return Summary.of(self.relation, rule, repeats)

    @property
    def method(self) -> MethodName:
        """The method that answers."""
        return self._method.chosen

    def _run(self) -> Method:
        return method_of(self.method)


def _takes_one_pass(problem: Problem) -> bool:
    """Whether group sizes answer the problem, so neither a summary nor a search for a first pair saves work."""
    return not problem.order and len(problem.differ) <= 1


def _counts_as_it_verifies(problem: Problem) -> bool:
    """Whether counting costs about what a search for a first pair costs where there is none."""
    return len(problem.order) <= 2 and not problem.differ
