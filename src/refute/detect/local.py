"""The in-process engine: a table in memory, answered by the kernels of this process. No JVM is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from refute.detect.detector import Detector, PartnerCounts
from refute.detect.explaining import plan_rules
from refute.detect.identity import Identity
from refute.detect.methods import sweep
from refute.detect.results import Finding, Timed, Verdict, Witness
from refute.detect.shown.clashes import LocalClashes
from refute.detect.shown.marking import marks_of, split_by_marks, with_marks
from refute.detect.shown.scenes import Scene, ValueTally, scene_of, tally_of
from refute.detect.shown.suspecting import LocalSuspects
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.plan.plan import Plan
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share
from refute.relation import Relation
from refute.relation.binding import check_rules
from refute.runtime.compiling import Stopwatch
from refute.runtime.threads import chosen_threads, together

if TYPE_CHECKING:
    from refute.blame.lines import SuspectFinding
    from refute.blame.rows import Blame
    from refute.detect.engine import ClashingRow


class LocalEngine:
    """Answers rules about one in-memory table."""

    name = "local"
    is_here = True
    identifies = True

    def __init__(
        self,
        table: Any,
        *,
        key: Sequence[str] = (),
        method: MethodName = MethodName.AUTO,
        threads: int | None = None,
    ) -> None:
        self._table = table
        self.relation = Relation.of(table)
        self.identity = Identity(self.relation, key)
        self._method = method
        self._threads = chosen_threads(threads)
        self._detector = Detector(self.relation, method=method, threads=self._threads)

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        return self.relation.n_rows

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(self.relation.names)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self.identity.key

    @property
    def own_columns(self) -> list[str]:
        """The same: a table in memory has no columns but its own."""
        return self.columns

    def fitted(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules as they are: names mean columns of just this spelling."""
        return list(rules)

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds, with a witness by row id."""
        verdict = self._detector.verify(rule)
        return verdict if verdict.witness is None else Verdict(False, self._named(verdict.witness))

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""
        return self._detector.count(rule)

    def clashes(self, rule: Rule, limit: int | None, shown: Sequence[str] = ()) -> LocalClashes:
        """The violations of a rule, at most `limit` of them, with these columns of both rows."""
        check_rules(self.relation, [rule])  # now, though violations are computed when they are read
        return LocalClashes(self._detector, self.identity, rule, limit, shown)

    def tally(self, rule: Rule, limit: int, *, counts: bool = True) -> ValueTally | None:
        """The values in the `limit` groups with the most violations of a dependency or a key; None for other rules."""
        return tally_of(self.relation, rule, limit, self.identity.one)

    def scene(self, rule: Rule, limit: int) -> Scene | None:
        """A clashing pair, with at most `limit` rows of its group around it; None where there is none."""
        if rule.constraint.computes:  # which has no axes to draw
            return None
        for pair in self.clashes(rule, 1).row_pairs():
            if len(pair[0]):
                first = [int(side[0]) for side in pair]
                return scene_of(self.relation, rule, first, limit, rule.constraint.columns)
        return None

    def excerpt(self, rule: Rule, clash: Sequence[ClashingRow], rows: int, most: int) -> None:
        """None: all rows are here."""

    def measure(
        self, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None = None
    ) -> list[Timed]:
        """A finding for each rule, in order. Rules run on all cores and share encodings, groupings and sorts."""

        def run(rule: Rule) -> Timed:
            watch = Stopwatch()
            finding = self._detector.measure(rule, counts=counts)
            named = None if finding.witness is None else self._named(finding.witness)
            values = None if finding.witness is None else self._values(rule, finding.witness)
            seconds = watch.seconds
            if progress is not None:
                progress(rule)
            return Timed(_with_witness(finding, named), values, seconds)

        check_rules(self.relation, rules)
        return together(self._threads, [partial(run, rule) for rule in rules])

    def partners(self, rule: Rule) -> PartnerCounts:
        """How many partners each row has in each role."""
        return self._detector.partners(rule)

    def marked(self, rules: Sequence[Rule]) -> Any:
        """The table with one more column: per row, the rules it breaks, in which role, with how many partners."""
        counts = [self.partners(rule) for rule in rules]
        return with_marks(self._table, self.relation, marks_of(self.n_rows, rules, counts))

    def split(self, marked: Any) -> tuple[Any, Any]:
        """Marked rows split into those that break no rule and those that break one, without the added column."""
        return split_by_marks(marked)

    def suspects(self, rules: Sequence[Rule]) -> LocalSuspects:
        """A small set of rows whose removal leaves a table that obeys all of these rules."""
        return LocalSuspects(self._table, self.identity, self.suspect_finding(rules))

    def holds(self, rules: Sequence[Rule]) -> bool:
        """Whether all that these rules read is in this process."""
        return True

    def suspect_finding(self, rules: Sequence[Rule], **known: Any) -> SuspectFinding:
        """The same by row numbers; what is known of rows that stand for others is as `SuspectFinding.of` takes it."""
        from refute.blame.lines import SuspectFinding  # which loads kernels that few questions need

        check_rules(self.relation, rules)
        return SuspectFinding.of(self.relation, rules, self._partners_of, threads=self._threads, **known)

    def blame(self, rules: Sequence[Rule], **known: Any) -> Blame:
        """The rows alone, without their cells."""
        from refute.blame.rows import find_blame  # which loads kernels that few questions need

        check_rules(self.relation, rules)
        return find_blame(self.relation, rules, self._partners_of, threads=self._threads, **known)

    def blamed(self, rule: Rule) -> int:
        """How many rows `suspects` blames for one rule alone."""
        from refute.blame.rows import fewest_to_blame  # which loads kernels that few questions need

        check_rules(self.relation, [rule])
        return fewest_to_blame(self.relation, rule, self._partners_of)

    def explain(self, rules: Sequence[Rule]) -> Plan:
        """How the rules would be answered: all is prepared as for an answer, and nothing is searched."""
        check_rules(self.relation, rules)
        return plan_rules(self._detector, rules)

    def close(self) -> None:
        """Nothing is kept but the table itself."""

    def _partners_of(self, problem: Problem) -> tuple[Rows, Rows]:
        return sweep().partners(problem, Share(threads=self._threads))

    def _named(self, witness: Witness) -> Witness:
        return Witness(*(None if row is None else self.identity.one(row) for row in witness))

    def _values(self, rule: Rule, witness: Witness) -> dict[str, dict[str, Any] | None]:
        """The keys of the witness rows, and the columns that the rule reads."""
        names = tuple(dict.fromkeys((*self.identity.key, *rule.columns)))
        return {
            side: None if row is None else self.identity.values(row, names)
            for side, row in zip(("s", "t"), witness, strict=True)
        }


def _with_witness(finding: Finding, witness: Witness | None) -> Finding:
    return Finding(finding.holds, finding.violations, finding.rows, finding.skipped_nulls, witness, finding.method)
