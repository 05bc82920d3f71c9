"""What every engine answers about a table and its rules, wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from refute.detect.results import Timed, Verdict
from refute.detect.shown.scenes import Scene, ValueTally
from refute.language.rulebook import Rule
from refute.plan.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from refute.detect.shown.excerpts import Excerpt


class ClashingRow(NamedTuple):
    """One row of a listed violation: `s` or `t`, the row's id, and the values of the columns that the rule reads."""

    role: str
    row_id: Any
    values: dict[str, Any]


class FileForm(Enum):
    """How listed violations are written. In CSV the values of a key of several columns have slashes between."""

    PARQUET = "parquet"
    CSV = "csv"


class ClashListing(Protocol):
    """The violations of one rule, listed when they are asked for, with the columns of `schema`."""

    @property
    def schema(self) -> pa.Schema:
        """The columns `s` and `t` (only `s` for a rule about one row), then for each side its key and those that were
        asked for, named `s_city` and `t_city`."""

    def pairs(self) -> Iterator[pa.RecordBatch]:
        """The violations in bounded batches, with the columns `s` and `t` alone."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The violations in bounded batches, made as they are read."""

    def table(self) -> pa.Table:
        """All violations in this process."""

    def rows(self) -> list[tuple[ClashingRow, ...]]:
        """The rows of each violation, all of them in this process."""

    def frame(self) -> DataFrame | None:
        """The violations as a DataFrame of the table's own Spark session; None where it has none."""

    def write(self, path: str, form: FileForm) -> None:
        """Write the violations in place of what is there: to a file, or a folder of Spark's."""

    def close(self) -> None:
        """Release what is kept of the table for them."""


class SuspectListing(Protocol):
    """The rows to blame for the violations of some rules, which are found; `n_suspects` of the table's `n_rows`."""

    n_rows: int
    n_suspects: int
    key: tuple[str, ...]  # the columns that `row` stands for; none where it is a position
    bound: int  # no fewer rows will do
    blamed: dict[str, int]  # how many of the suspects each rule blames
    notes: tuple[str, ...]  # how they were found, where that is worth a word

    def table(self) -> pa.Table:
        """One line for each row and rule that blames it, with a column `row` of ids, all in this process."""

    def split(self) -> tuple[Any, Any]:
        """The rows that stay, and the suspects with one more column: a list of why each is one."""


class Engine(Protocol):
    """A table that answers rules. Rules are asked about as `fitted` gives them."""

    name: str  # `local` where this process answers, else `spark`
    is_here: bool  # whether the rows are in this process, so a look at them costs little

    @property
    def identifies(self) -> bool:
        """Whether rows have ids, so that they can be listed."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns that rules can read."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row; none where rows are known by their positions."""

    @property
    def own_columns(self) -> list[str]:
        """The names of the table's columns: those that can be read, without fields inside them."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    def fitted(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules with the table's own spelling of column names."""

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds, with the ids of two clashing rows where it does not."""

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""

    def measure(
        self, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None = None
    ) -> list[Timed]:
        """A finding for each rule, in order; without `counts` only verdicts. `progress` hears of each rule in turn."""

    def clashes(self, rule: Rule, limit: int | None, shown: Sequence[str] = ()) -> ClashListing:
        """The violations of a rule, at most `limit` of them, with these columns of both rows."""

    def tally(self, rule: Rule, limit: int, *, counts: bool = True) -> ValueTally | None:
        """The values in the `limit` groups with the most violations of a dependency or a key; None for other rules.

        Without `counts`, how many groups there are may be left open.
        """

    def scene(self, rule: Rule, limit: int) -> Scene | None:
        """A clashing pair, with at most `limit` rows of its group around it; None where there is none, or the rows are
        not in this process."""

    def excerpt(self, rule: Rule, clash: Sequence[ClashingRow], rows: int, most: int) -> Excerpt | None:
        """At most `most` clashes, and a scene, among about `rows` rows around a known clash, by one job; None where the
        rows are in this process, so that `clashes` and `scene` cost little."""

    def marked(self, rules: Sequence[Rule]) -> Any:
        """The table with one more column: per row, the rules it breaks, in which role, with how many partners."""

    def split(self, marked: Any) -> tuple[Any, Any]:
        """Marked rows split into those that break no rule and those that break one, without the added column."""

    def suspects(self, rules: Sequence[Rule]) -> SuspectListing:
        """A small set of rows whose removal leaves a table that obeys all of these rules."""

    def blamed(self, rule: Rule) -> int:
        """How many rows `suspects` blames for one rule alone."""

    def holds(self, rules: Sequence[Rule]) -> bool:
        """Whether all that these rules read is in this process, with the ids of rows."""

    def explain(self, rules: Sequence[Rule]) -> Plan:
        """How the rules would be answered."""

    def close(self) -> None:
        """Release what is kept of the table; questions can still be asked."""
