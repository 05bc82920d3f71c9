"""What a discovery returns: rules, best first, and what was not searched."""

from __future__ import annotations

import datetime as dt
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.discovery.options import Options
from refute.discovery.result.kinds import RuleSort, sort_of
from refute.discovery.result.rank import Ranks
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.table import SearchedTable
from refute.display import in_one_line
from refute.display.markup import table_part
from refute.display.plurals import plural
from refute.faults import needing
from refute.language.addresses import local_path
from refute.language.constraint import DenialConstraint
from refute.language.form import Form
from refute.language.nulls import Nulls
from refute.language.render import render_english, render_text
from refute.writing import write_text

if TYPE_CHECKING:
    import pandas as pd

    from refute.language.rulebook import Dataset, RuleBook, Tolerance
    from refute.language.rulebook.commented import Remarked, RuleFile

_SHOWN = 20  # rules that print


class FoundRule(Protocol):
    """What every rule that was found has, however it was searched."""

    @property
    def constraint(self) -> DenialConstraint:
        """The rule itself; the first one, where it stands for several."""

    @property
    def text(self) -> str:
        """The rule as it is written."""

    @property
    def sentence(self) -> str:
        """The rule in English."""

    @property
    def kind(self) -> str:
        """Its shape in words: `key`, `functional dependency`, `order rule` and so on."""

    @property
    def error(self) -> float:
        """How far it is broken, by the measure of the search."""


@dataclass(frozen=True, slots=True, repr=False)
class Discovered:
    """One rule that the data obeys, or nearly so.

    `violations` are ordered pairs (rows, for a rule about one row), exact on all rows; `error` is by the chosen
    measure. `group` numbers rules over the same columns, from the best one on. `pairs` are the violations of an
    almost-rule, and `blame` is how many rows are to blame for them.
    """

    constraint: DenialConstraint
    sort: RuleSort
    violations: int
    error: float
    score: float
    succinctness: float
    coverage: float
    surprise: float
    group: int
    blame: int | None = None
    pairs: tuple[tuple[int, ...], ...] = ()
    _table: SearchedTable | None = field(default=None, repr=False, compare=False)
    _nulls: Nulls = field(default=Nulls.SQL, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return render_text(self.constraint)

    @property
    def sentence(self) -> str:
        """The rule in English."""
        return render_english(self.constraint)

    @property
    def kind(self) -> str:
        """Its sort in words."""
        return self.sort.value

    @property
    def support(self) -> int:
        """How many rows have a partner to which the rule applies; counted on all rows on first use."""
        from refute.language.rulebook import Rule

        assert self._table is not None
        return self._table.support(Form.of(Rule(name="", constraint=self.constraint, nulls=self._nulls)))

    def __repr__(self) -> str:
        return f"Discovered({self.text!r}, violations={self.violations:,})"

    def _repr_html_(self) -> str:
        rows = [(self.text, self.sentence, self.kind, self.violations)]
        return table_part(repr(self), ("rule", "says", "kind", "violations"), rows)

    def __str__(self) -> str:
        return self.text


class Discovery(ABC):
    """The rules of a table, best first.

    `complete` is False when the search was stopped early: then `rules` are those verified on all rows so far. `notes`
    say what was not searched. `where` is the condition on the rows that were searched. `almost` are rules that only a
    few pairs break, with those pairs, the fewest rows to blame first. `name` is the path of the table, None in memory.
    """

    complete: bool
    method: str
    seconds: float
    notes: tuple[str, ...]
    almost: tuple[Discovered, ...]
    where: str | None
    name: str | None
    time: dt.datetime

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows were searched."""

    @property
    @abstractmethod
    def rules(self) -> Sequence[FoundRule]:
        """All rules, best first."""

    @abstractmethod
    def top(self, n: int) -> Sequence[FoundRule]:
        """The n best rules."""

    @abstractmethod
    def book(self, n: int | None = None) -> RuleBook:
        """The n best rules (all of them by default) as a rule book of proposed rules."""

    @abstractmethod
    def to_arrow(self, n: int | None = None) -> pa.Table:
        """The n best rules (all of them by default), one per row."""

    @abstractmethod
    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[FoundRule]:
        return iter(self.rules)

    @property
    def partial(self) -> bool:
        """Whether the search was stopped before it was complete."""
        return not self.complete

    @abstractmethod
    def each(self, n: int | None = None) -> Iterator[FoundRule]:
        """The n best rules (all of them by default), each made as it is asked for."""

    @abstractmethod
    def written(self, n: int | None = None, *, as_ranked: bool = False) -> Iterator[tuple[FoundRule, list[Remarked]]]:
        """The n best rules (all of them by default) with their entries in the book, each with what is said above it,
        made as they are asked for: in the order of the book, or `as_ranked`, best first."""

    def to_yaml(self, path: str | os.PathLike[str] | None = None, n: int | None = None) -> str:
        """The n best rules (all of them by default) as a rule file, each with `status: proposed`.

        Each has the tolerance that lets today's rows pass, and no more. Comments say what to do with the file.
        """
        text = self.rule_file(*self.headline, n=n).text
        if path is not None:
            write_text(local_path(path), text)
        return text

    @property
    def headline(self) -> list[str]:
        """What the rules are, for the head of their file, and why some are missing."""
        notes = self.notes if self.partial else ()
        return [f"{plural(len(self), 'rule')} found by refute.", *(f"Note: {note}" for note in notes)]

    def rule_file(self, *head: str, n: int | None = None, is_time_up: Callable[[], bool] = lambda: False) -> RuleFile:
        """The same with these lines at its head; from when time is up, no rule is added."""
        from refute.language.rulebook.commented import ABOUT_PROPOSALS, commented_yaml

        entries = (entry for _, several in self.written(n) for entry in several)
        return commented_yaml(self.dataset, [*head, *ABOUT_PROPOSALS], entries, is_time_up)

    @property
    @abstractmethod
    def dataset(self) -> Dataset:
        """The settings of the book of its rules."""

    def to_html(
        self, path: str | os.PathLike[str] | None = None, n: int | None = None, *, name: str | None = None
    ) -> str:
        """The n best rules (by default 500) as a self-contained HTML page, written to `path` if given: each with its
        evidence, and with its text for a rule file to copy. `name` is what the page calls the table, by default its
        path."""
        from refute.discovery.result.as_html import MOST, render

        text = render(self, MOST if n is None else n, self.name if name is None else name)
        if path is not None:
            write_text(local_path(path), text)
        return text

    def _repr_html_(self) -> str:
        from refute.discovery.result.as_html import render_part

        return render_part(self)

    def __str__(self) -> str:
        lines = [repr(self), *(f"  {in_one_line(rule.text)}" for rule in self.top(_SHOWN))]
        return "\n".join([*lines, *([f"  and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else [])])

    def to_pandas(self, n: int | None = None) -> pd.DataFrame:
        """The n best rules (all of them by default), one per row."""
        with needing("to_pandas()"):
            return self.to_arrow(n).to_pandas()


@dataclass(frozen=True, repr=False)
class CompleteDiscovery(Discovery):
    """Every minimal rule of a table, as boxes in a predicate space; they are rendered as text only when needed."""

    table: SearchedTable
    space: PredicateSpace
    options: Options
    boxes: Words = field(repr=False)
    ranks: Ranks = field(repr=False)
    violations: NDArray[np.int64] = field(repr=False)
    errors: NDArray[np.float64] = field(repr=False)
    complete: bool
    method: str
    evidences: int
    seconds: float
    notes: tuple[str, ...] = ()
    almost: tuple[Discovered, ...] = ()
    where: str | None = None
    name: str | None = None
    time: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC), compare=False)

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def n_rows(self) -> int:
        """How many rows were searched."""
        return self.table.n_rows

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", stopped before the end"
        almost = f", {len(self.almost):,} that few pairs break" if self.almost else ""
        return f"Discovery({plural(len(self), 'rule')}{almost} in {self.seconds:.1f} s{stopped})"

    @cached_property
    def rules(self) -> list[Discovered]:
        """All rules, best first."""
        return self.top(len(self.boxes))

    def top(self, n: int) -> list[Discovered]:
        """The n best rules."""
        return list(self.each(n))

    def each(self, n: int | None = None) -> Iterator[Discovered]:
        """The n best rules (all of them by default), each made as it is asked for."""
        return self._at(range(len(self.boxes[:n])))

    def grouped(self, n: int | None = None) -> Iterator[Discovered]:
        """The same, those over the same columns together, in the order of their best."""
        return self._at(np.argsort(self.groups[:n], kind="stable").tolist())

    def _at(self, places: Iterable[int]) -> Iterator[Discovered]:
        """The rules at these places."""
        masks, groups, scores = self.space.masks(self.boxes), self.groups, self.ranks.score
        for place in places:
            constraint = self.space.constraint(masks[place].tolist())
            yield Discovered(
                constraint=constraint,
                sort=sort_of(constraint),
                violations=int(self.violations[place]),
                error=float(self.errors[place]),
                score=float(scores[place]),
                succinctness=float(self.ranks.succinctness[place]),
                coverage=float(self.ranks.coverage[place]),
                surprise=float(self.ranks.surprise[place]),
                group=int(groups[place]),
                _table=self.table,
                _nulls=self.options.nulls,
            )

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """A number per rule; rules over the same columns have the same one, numbered in order of their best rule."""
        return groups_of(self.space, self.boxes)

    def book(self, n: int | None = None) -> RuleBook:
        """The n best rules as a rule book of proposed rules; all of them and those that few pairs break by default.

        Each has the tolerance that lets today's rows pass, and no more. Rules over the same columns stand together.
        """
        from refute.discovery.result.as_entries import drafts
        from refute.language.rulebook import RuleBook

        written = list(drafts(self, n))
        return RuleBook(tuple(rule for _, rule, _ in written), tuple(entry for *_, entry in written), self.dataset)

    @property
    def dataset(self) -> Dataset:
        """The settings of the book of its rules."""
        from refute.language.rulebook import Dataset

        return Dataset(nulls=self.options.nulls)

    def written(self, n: int | None = None, *, as_ranked: bool = False) -> Iterator[tuple[Discovered, list[Remarked]]]:
        """The rules with their entries in the book, each with what is said above it, made as they are asked for."""
        from refute.discovery.result.as_entries import drafts, with_remarks

        return with_remarks(self, drafts(self, n, as_ranked=as_ranked))

    def tolerance(self, rule: Discovered) -> Tolerance:
        """What lets today's rows pass, and no more."""
        from refute.discovery.result.as_entries import tolerance_of

        return tolerance_of(self, rule)

    def to_arrow(self, n: int | None = None) -> pa.Table:
        """The n best rules (all of them by default), one per row."""
        chosen = self.rules if n is None else self.top(n)
        return pa.table({name: pa.array([read(rule) for rule in chosen], kind) for name, kind, read in _COLUMNS})


def groups_of(space: PredicateSpace, boxes: Words) -> NDArray[np.int64]:
    """A number per box; boxes over the same columns have the same one, numbered in order of their first."""
    names = sorted({name for slot in space.slots for name in slot.columns})
    used = space.masks(boxes) != np.array([slot.kind.full for slot in space.slots], np.uint8)
    reads = np.zeros((len(boxes), len(names)), np.bool_)
    for k, slot in enumerate(space.slots):
        for name in slot.columns:
            reads[:, names.index(name)] |= used[:, k]
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in reads], np.int64)


_COLUMNS: Sequence[tuple[str, pa.DataType, Callable[[Discovered], object]]] = (
    ("rule", pa.string(), lambda rule: rule.text),
    ("kind", pa.string(), lambda rule: rule.sort.value),
    ("sentence", pa.string(), lambda rule: rule.sentence),
    ("violations", pa.int64(), lambda rule: rule.violations),
    ("error", pa.float64(), lambda rule: rule.error),
    ("support", pa.int64(), lambda rule: rule.support),
    ("score", pa.float64(), lambda rule: rule.score),
    ("succinctness", pa.float64(), lambda rule: rule.succinctness),
    ("coverage", pa.float64(), lambda rule: rule.coverage),
    ("surprise", pa.float64(), lambda rule: rule.surprise),
    ("group", pa.int64(), lambda rule: rule.group),
)
