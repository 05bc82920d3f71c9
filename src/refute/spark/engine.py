"""The Spark engine: the same questions as in process, answered where the data is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import Any, TypeVar

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from refute.detect.engine import ClashingRow
from refute.detect.results import Timed, Verdict
from refute.detect.shown.excerpts import Excerpt
from refute.detect.shown.scenes import Scene, ValueTally
from refute.errors import SchemaError
from refute.faults import naming_rule, no_row_ids
from refute.language.arithmetic import refuse_formulas
from refute.language.conditions import Condition, InTable
from refute.language.form import Form
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.plan.plan import Plan
from refute.relation import Relation
from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.spark.answer.bound import BoundRule
from refute.spark.answer.checking import measure
from refute.spark.answer.choice import note_on
from refute.spark.answer.fetching.gathering import Gathering
from refute.spark.answer.native.single import chosen_rows
from refute.spark.answer.referring import OtherTables, refuse_references
from refute.spark.answer.rule import SparkRule
from refute.spark.blame.alike import all_columns_read
from refute.spark.blame.fewest import fewest_here, fewest_of_groups
from refute.spark.blame.suspect_listing import SparkSuspects
from refute.spark.budget import SparkBudget
from refute.spark.grid.answers import Answers, Work
from refute.spark.grid.packing import Blocks
from refute.spark.session import is_connect
from refute.spark.session.failures import CUTS_TRIED, LayoutChangedError, plain_failures
from refute.spark.session.jobs import stoppable
from refute.spark.shown.clashes import SparkClashes
from refute.spark.shown.excerpts import excerpt_of
from refute.spark.shown.marking import marked, split_by_marks
from refute.spark.shown.scenes import tally_of
from refute.spark.source.files import shares_files
from refute.spark.source.keeping import Kept, forgotten_at_exit, kept
from refute.spark.source.opening import open_source, session_of
from refute.spark.source.renaming import by_code_point, plain_names, renamed
from refute.spark.source.source import SparkSource
from refute.spark.source.types import bind, empty_relation
from refute.spark.workers.worker import ROW_COLUMN

Answer = TypeVar("Answer")


class SparkEngine:
    """Answers rules about one Spark table. What comes to the driver is bounded by the budget, never by the data."""

    name = "spark"
    is_here = False

    source: SparkSource
    types: Relation
    names: dict[str, str]
    plain_types: Relation
    gathering: Gathering

    def __init__(
        self,
        table: Any,
        *,
        key: Sequence[str] = (),
        method: MethodName = MethodName.AUTO,
        session: Any = None,
        schema: Any = None,
        csv: CsvOptions = USUAL,
        budget: SparkBudget | None = None,
        persist: bool = False,
        reads: Sequence[Rule] | None = None,
    ) -> None:
        """With `persist` the table is kept on the executors until `close`; where only the rules `reads` will be asked
        about, the columns that these read, and the key."""
        self.budget = budget or SparkBudget()
        self.method = method
        self.key: tuple[str, ...] = ()
        self._place = Kept()
        self._session = session_of(table, session)
        self.others = OtherTables(self._session)
        if is_connect(self._session):
            forgotten_at_exit(self)

        def opened() -> None:
            source = open_source(table, key=key, session=self._session, schema=schema, csv=csv)
            refuse_formulas(source.own_columns)
            needed = source.needed(reads)
            self.source = source.kept(self._place, needed) if persist else source.settled(needed)
            self.key = self.source.key
            self._know_columns()
            self.source.check_key()

        try:
            with plain_failures():
                stoppable(self._session, "open the table", opened)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go what was kept on the executors; questions can still be asked, and then evaluate the table again."""
        self._place.release()

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _know_columns(self, wider: Gathering | None = None) -> None:
        """Take note of the columns that the source has now; it may be a part of a table of which something is known."""
        self.types = empty_relation(self.source.frame)
        self.names = plain_names(self.source.frame.columns)
        self.plain_types = Relation.of(self.types.arrow.rename_columns(list(self.names.values())))
        self.gathering = Gathering(self.source, self.types, self.budget, self.method, wider)
        self.__dict__.pop("plain", None)  # which has the columns of before

    def fitted(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules with the table's own spelling of names; fields of structs that they name become columns."""
        with plain_failures(self.source.name):
            known = len(self.source.frame.columns)
            names = {name: self.source.spelled(name) for rule in rules for name in rule.read}
            if len(self.source.frame.columns) > known:
                self._know_columns()
        changed = {name for name, spelled in names.items() if name != spelled}
        return [renamed(rule, names) if changed.intersection(rule.read) else rule for rule in rules]

    @property
    def columns(self) -> list[str]:
        """The names of the columns that rules can read: the table's own, and the fields inside them named so far."""
        return [name for name in self.source.frame.columns if name not in self.source.computed]

    @property
    def own_columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(self.source.own_columns)

    @property
    def identifies(self) -> bool:
        """Whether rows have ids: a key, or positions in files."""
        return self.source.has_identity

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        if self.source.is_counted:
            return self.source.n_rows()
        return self._answered("count the rows", self.source.n_rows)

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds, with a witness by row id. The first rows are looked at first."""

        def ask() -> Verdict:
            with self._evaluated_once([rule], named=True) as engine:
                return engine.prepared(rule).verify()

        return self._answered(rule.name, ask)

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""

        def ask() -> int:
            with self._evaluated_once([rule], named=False) as engine:
                return engine.prepared(rule).count()

        return self._answered(rule.name, ask)

    def clashes(self, rule: Rule, limit: int | None, shown: Sequence[str] = ()) -> SparkClashes:
        """The violations of a rule, at most `limit` of them, with these columns of both rows."""

        def fitted() -> Rule:
            found = self.prepared(rule).rule
            self.require_identity("Listing violations")
            return found

        chosen = self.asked(rule.name, fitted)
        return self._answered(rule.name, lambda: SparkClashes(self, chosen, limit, shown))

    def tally(self, rule: Rule, limit: int, *, counts: bool = True) -> ValueTally | None:
        """The values in the `limit` groups with the most violations of a dependency or a key; None for other rules."""
        return self._answered(rule.name, lambda: tally_of(self, self.prepared(rule), limit, counts=counts))

    def scene(self, rule: Rule, limit: int) -> Scene | None:
        """A clashing pair, with at most `limit` rows of its group around it; None where the rows are not here."""
        (fitted,) = self.fitted([rule])
        here = self.gathering.here(self.prepared(fitted).columns)
        return None if here is None else here.scene(fitted, limit)

    def excerpt(self, rule: Rule, clash: Sequence[ClashingRow], rows: int, most: int) -> Excerpt | None:
        """At most `most` clashes, and a scene, among some rows around a known clash; None where all rows are here."""
        prepared = self.prepared(rule)
        if self.gathering.here(prepared.columns) is not None:
            return None
        return self._answered(rule.name, lambda: excerpt_of(self, prepared, clash, rows, most))

    def measure(
        self, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None = None
    ) -> list[Timed]:
        """A finding for each rule, in order. Jobs of several rules run side by side."""

        def ask() -> list[Timed]:
            with self._evaluated_once(rules, named=True) as engine:
                return measure(engine, engine.fitted(rules), counts=counts, progress=progress)

        return self._answered("check", ask)

    def marked(self, rules: Sequence[Rule]) -> DataFrame:
        """The table with one more column: per row, the rules it breaks, in which role, with how many partners."""
        return self.asked("mark the rows that break rules", lambda: marked(self, rules))

    def split(self, marked: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Marked rows split into those that break no rule and those that break one, without the added column."""
        return split_by_marks(marked)

    def suspects(self, rules: Sequence[Rule]) -> SparkSuspects:
        """A small set of rows whose removal leaves a table that obeys all of these rules."""
        here = SparkSuspects.here(self, rules, all_columns_read(rules))
        if here is not None:
            return here

        def ask() -> SparkSuspects:
            refuse_references(rules)
            self.require_identity("Finding suspects")
            fitted = self.fitted(rules)
            names = all_columns_read(fitted)
            found = SparkSuspects.fetched(self, fitted, names) or SparkSuspects.decided(self, fitted, names)
            if found is None:
                with self._evaluated_once(fitted, named=True) as engine:
                    found = SparkSuspects.of(self, engine, fitted)
            return found

        return self._answered("find suspects", ask)

    def blamed(self, rule: Rule) -> int:
        """How many rows `suspects` blames for one rule alone."""

        def ask() -> int | None:
            (fitted,) = self.fitted([rule])
            if (here := fewest_here(self, fitted)) is not None:
                return here
            with self._evaluated_once([fitted], named=False) as engine:
                return fewest_of_groups(engine, fitted)

        found = self._answered(rule.name, ask)
        return self.suspects([rule]).n_suspects if found is None else found

    def holds(self, rules: Sequence[Rule]) -> bool:
        """Whether all that these rules read came to this process before, with the ids of rows."""
        if not self.source.has_identity:
            return False
        return self.gathering.known(all_columns_read(rules)) is not None

    def explain(self, rules: Sequence[Rule]) -> Plan:
        """How the rules would be answered; nothing but a count of the rows is run."""

        def plan() -> Plan:
            rows = self.source.n_rows()
            plans = tuple(self.prepared(rule).plan(rows) for rule in rules)
            return Plan(plans, (note_on(self.budget.driver_bytes),))

        return self.asked("explain", plan)

    def task_rows(self, rule: Rule) -> list[int]:
        """How many rows each task gets where the rule is answered by tasks: how even they are."""
        return self._answered(rule.name, lambda: self.prepared(rule).task_rows())

    def answers(self, form: Form, blocks: Blocks) -> Answers:
        """The answers of tasks to a rule over blocks of its rows."""
        rows, budget = self.source.most_rows(), self.budget
        widest = budget.sample_bytes / max(self.gathering.row_bytes(self._originals(blocks.names)), 1)
        work = Work(rows, self.tasks, budget.task_rows, min(budget.plan_rows, int(widest) + 1), self.method)
        return Answers(form, blocks, work)

    def blocks(self, rules: Sequence[BoundRule], *, named: bool) -> Blocks:
        """The columns that some rules read, in blocks that are made when they are asked."""
        forms = [rule.pairing.form for rule in rules if rule.pairing is not None]
        names = dict.fromkeys(self.names[name] for rule in rules for name in rule.columns)
        frame = self.with_rows() if named else self.plain
        return Blocks(frame, self.plain_types, forms, names, named=named)

    @contextmanager
    def kept_blocks(self, rules: Sequence[BoundRule], *, named: bool) -> Iterator[Blocks]:
        """The same, made once and kept meanwhile on the executors.

        Rows that have no ids are numbered where they are packed, or sent by their turn. An executor that is lost would
        take these with it, and others would be made in their place: then nothing is made again, but the job fails.
        """
        blocks = self.blocks(rules, named=named)
        if not blocks.identified and not shares_files(blocks.frame.sparkSession):
            yield blocks.held(lambda frame: frame.localCheckpoint())
            return
        with kept() as place:
            # Cells of megabytes fill a heap before Spark sees that they do not fit.
            yield blocks.held(lambda frame: place.keep(frame, StorageLevel.DISK_ONLY))

    @contextmanager
    def _evaluated_once(self, rules: Sequence[Rule], *, named: bool) -> Iterator[SparkEngine]:
        """This engine, or one over the columns that the rules read, which are evaluated once and kept meanwhile.

        That is for tables of which each evaluation costs more than reading some columns, and for rules that evaluate
        them often. With `named`, positions in files are kept beside.
        """
        fitted = self.fitted(rules)
        if not self.source.is_costly and not any(self._reads_often(rule) for rule in fitted):
            yield self
            return
        with kept() as place:
            narrow = self.over(self.source.kept(place, self.source.needed(fitted), named=named))
            try:
                yield narrow
            finally:
                if narrow.source.is_counted:
                    self.source.learn_rows(narrow.source.n_rows())

    def over(self, source: SparkSource) -> SparkEngine:
        """The same engine over some rows or columns of its table."""
        narrow = copy(self)
        narrow.source = source
        narrow._know_columns(self.gathering)
        return narrow

    def _reads_often(self, rule: Rule) -> bool:
        try:
            prepared = self.prepared(rule)
        except SchemaError:  # reported where the rule is asked about, together with others
            return False
        return prepared.reads_often and not prepared.comes_here

    def _originals(self, plain: Iterable[str]) -> list[str]:
        """The table's own names of plain columns."""
        wanted = set(plain)
        return [name for name, other in self.names.items() if other in wanted]

    def with_rows(self) -> DataFrame:
        """The plain frame with the table's ids as `__row`; without them where it has none."""
        if not self.source.has_identity:
            return self.plain
        identified = by_code_point(self.source.identified(), self.source.frame.schema)
        return identified.toDF(*self.names.values(), ROW_COLUMN)

    def filtered(self, where: Condition) -> DataFrame:
        """The rows of the plain frame that a condition selects."""
        return chosen_rows(self.plain, self.plain_types, where)

    @cached_property
    def plain(self) -> DataFrame:
        """The table under names that need no care, with texts that compare by code point."""
        return by_code_point(self.source.frame, self.source.frame.schema).toDF(*self.names.values())

    @cached_property
    def tasks(self) -> int:
        """The number of tasks that shuffled rows go to."""
        return self.budget.tasks(self.source.frame.sparkSession, self.source.most_rows())

    def prepared(self, rule: Rule) -> SparkRule:
        """The rule bound to this table."""
        (fitted,) = self.fitted([rule])
        bind(self.types, fitted)
        if isinstance(fitted.added, InTable):
            with naming_rule(fitted.name):
                self.others.check(fitted.added, self.types)
        return SparkRule(self, fitted, renamed(fitted, self.names))

    def asked(self, what: str, ask: Callable[[], Answer]) -> Answer:
        """The answer of jobs that are the caller's, end on Ctrl-C, and say what they are for."""
        with plain_failures(self.source.name):
            return stoppable(self._session, what, ask)

    def _answered(self, what: str, ask: Callable[[], Answer]) -> Answer:
        """The answer; asked for again where Spark meanwhile cut the files into other tasks, as it does when it loses
        or wins executors: positions are the same for any cut, only learnt by one."""
        for _ in range(CUTS_TRIED - 1):
            try:
                return self.asked(what, ask)
            except LayoutChangedError:
                self.forget_layout()
        return self.asked(what, ask)

    def forget_layout(self) -> None:
        """Learn again where rows are in their files when that is next needed."""
        self.source.forget_layout()
        self.gathering.forget()

    def require_identity(self, what: str) -> None:
        """Raise DataError where rows have no ids."""
        if not self.source.has_identity:
            raise no_row_ids(what, self.source.name)
