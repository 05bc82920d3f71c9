"""The in-process detector: one table, any number of rules, encodings and sorts shared between them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.detect.methods import Method, method_of, sweep
from refute.detect.results import Finding, Verdict, Witness
from refute.detect.summary import FEW_REPEATS, MANY_REPEATS, Summary
from refute.detect.weighted import WeightedPartners
from refute.language.rulebook import Rule
from refute.plan.compile import Compiled, compile_rule
from refute.plan.method import MethodName
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share
from refute.relation import Relation

FIRST_PREFIX = 1024
FEW_ROWS = 1 << 18  # rows of which distinct ones are not worth looking for where a count is simple
PREFIX_GROWTH = 32  # prefixes of n/32 and n/1024 and ... rows cost a small part of a full pass together


@dataclass(frozen=True, slots=True)
class PartnerCounts:
    """For every row of the table, its number of partners as `s` and as `t`."""

    as_s: NDArray[np.int64]
    as_t: NDArray[np.int64]

    @property
    def violations(self) -> int:
        """The number of ordered pairs."""
        return _exact_sum(self.as_s)

    @property
    def in_violation(self) -> NDArray[np.bool_]:
        """Which rows take part in some violation."""
        return (self.as_s > 0) | (self.as_t > 0)


class Detector:
    """Answers questions about one table. Row ids are row numbers; thread-safe."""

    def __init__(self, relation: Relation, *, method: MethodName = MethodName.AUTO, threads: int = 1) -> None:
        self.relation = relation
        self._method = method
        self._share = Share(threads=threads)
        self._compiled: dict[tuple[object, ...], Compiled] = {}
        self._lock = threading.Lock()

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds. Growing prefixes are looked at first, so that a broken rule costs little."""
        for size in prefix_sizes(self.relation.n_rows):
            verdict = self._prefix(size).verify_all(rule)
            if not verdict.holds:
                return verdict
        return self.verify_all(rule)

    def verify_all(self, rule: Rule) -> Verdict:
        """The same without a look at prefixes first."""
        compiled = self.compiled(rule)
        if compiled.rows is not None:
            found = compiled.rows
            return Verdict(True) if len(found) == 0 else Verdict(False, Witness(int(found[0])))
        if compiled.problem is None:
            return Verdict(True)
        pair = self._run().exists(compiled.problem, self._share)
        return Verdict(True) if pair is None else Verdict(False, Witness(*pair))

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""
        compiled = self.compiled(rule)
        if compiled.rows is not None:
            return len(compiled.rows)
        if compiled.problem is None:
            return 0
        simple = _counts_as_it_verifies(compiled.problem)
        if simple and self.relation.n_rows < FEW_ROWS:
            return self._run().count(compiled.problem, self._share)
        weighted = self._weighted(rule, MANY_REPEATS)
        if weighted is None and not _takes_one_pass(compiled.problem):
            if not simple:
                if self._run().exists(compiled.problem, self._share) is None:
                    return 0
            weighted = self._weighted(rule, FEW_REPEATS)
        if weighted is not None:
            return weighted.violations
        return self._run().count(compiled.problem, self._share)

    def pairs(self, rule: Rule, limit: int | None = None) -> Iterator[tuple[Rows, Rows | None]]:
        """The violations in chunks of row numbers; the second array is None for a rule about one row."""
        compiled = self.compiled(rule)
        if compiled.rows is not None:
            yield compiled.rows[:limit], None
        elif compiled.problem is not None:
            yield from self._run().pairs(compiled.problem, self._share, limit)

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
            s_counts, t_counts = self._run().partners(problem, self._share)
            as_s[slice(None) if problem.s_rows is None else problem.s_rows] = s_counts
            as_t[slice(None) if problem.t_rows is None else problem.t_rows] = t_counts
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
        """The rule over all rows of this table, made ready once."""
        key = (rule.constraint, rule.nulls, rule.where)
        with self._lock:
            known = self._compiled.get(key)
        if known is None:
            threads = self._share.threads
            known = compile_rule(self.relation, rule.constraint, rule.nulls, rule.where, threads=threads)
            with self._lock:
                self._compiled[key] = known
        return known

    def _prefix(self, size: int) -> Detector:
        """The detector of the first rows, which all rules share."""
        return self.relation.shared(
            ("prefix", size, self._method), lambda: Detector(self.relation.head(size), method=self._method)
        )

    def _extent(self, rule: Rule) -> tuple[int, int]:
        """The number of violations and of rows in some violation; from distinct rows alone where these are few."""
        weighted = self._weighted(rule, FEW_REPEATS)
        if weighted is not None:
            return weighted.violations, weighted.rows
        problem = self.compiled(rule).problem
        if problem is None or self.method is not MethodName.SWEEP:
            partners = self.partners(rule)
            return partners.violations, int(np.count_nonzero(partners.in_violation))
        violations, s_flags, t_flags = sweep().involved(problem, self._share)
        flags = np.zeros(self.relation.n_rows, dtype=np.bool_)
        flags[slice(None) if problem.s_rows is None else problem.s_rows] = s_flags
        flags[slice(None) if problem.t_rows is None else problem.t_rows] |= t_flags
        return violations, int(np.count_nonzero(flags))

    def _weighted(self, rule: Rule, repeats: int) -> WeightedPartners | None:
        """The partners of the distinct rows, where these repeat that often and no method is forced."""
        problem = self.compiled(rule).problem
        if self._method is not MethodName.AUTO or problem is None:
            return None
        if _takes_one_pass(problem):
            return None
        summary = Summary.of(self.relation, rule, repeats)
        return None if summary is None else summary.partners(rule)

    @property
    def method(self) -> MethodName:
        """The method that answers."""
        return self._method.chosen

    def _run(self) -> Method:
        return method_of(self.method)


def prefix_sizes(n_rows: int) -> list[int]:
    """The prefixes that verification looks at before all rows, smallest first."""
    sizes = []
    size = FIRST_PREFIX
    while size * 8 <= n_rows:
        sizes.append(size)
        size *= PREFIX_GROWTH
    return sizes


def _takes_one_pass(problem: Problem) -> bool:
    """Whether group sizes answer the problem, so that neither a summary nor a search for a first pair saves work."""
    return not problem.order and len(problem.differ) <= 1


def _counts_as_it_verifies(problem: Problem) -> bool:
    """Whether counting costs about what a search for a first pair costs where there is none."""
    return len(problem.order) <= 2 and not problem.differ


def _exact_sum(counts: NDArray[np.int64]) -> int:
    """The sum as a Python int, beyond 64 bits where needed."""
    low = int((counts & 0xFFFFFFFF).sum(dtype=np.int64)) if len(counts) else 0
    high = int((counts >> 32).sum(dtype=np.int64)) if len(counts) else 0
    return (high << 32) + low
