"""What a discovery returns: rules, best first, and what was not searched."""

from __future__ import annotations

import datetime as dt
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
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

    from refute.language.rulebook import RuleBook, Tolerance


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
    def remarks(self, n: int | None = None) -> list[list[str]]:
        """What is said above each entry of the book of the n best rules (all of them by default)."""

    def to_yaml(self, path: str | os.PathLike[str] | None = None, n: int | None = None) -> str:
        """The n best rules (all of them by default) as a rule file, each with `status: proposed`.

        Each has the tolerance that lets today's rows pass, and no more. Comments say what to do with the file.
        """
        return self.written(self.headline, path=path, n=n)

    @property
    def headline(self) -> str:
        """What the rules are, for the head of their file."""
        found = "1 rule" if len(self) == 1 else f"{len(self):,} rules"
        return f"{found} found by refute."

    def written(self, *head: str, path: str | os.PathLike[str] | None = None, n: int | None = None) -> str:
        """The same with these lines at its head."""
        from refute.language.rulebook.commented import ABOUT_PROPOSALS, commented_yaml

        text = commented_yaml(self.book(n), [*head, *ABOUT_PROPOSALS], self.remarks(n))
        if path is not None:
            write_text(local_path(path), text)
        return text

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
        masks = self.space.masks(self.boxes[:n])
        groups = self.groups
        found = []
        for k, row in enumerate(masks.tolist()):
            constraint = self.space.constraint(row)
            found.append(
                Discovered(
                    constraint=constraint,
                    sort=sort_of(constraint),
                    violations=int(self.violations[k]),
                    error=float(self.errors[k]),
                    score=float(self.ranks.score[k]),
                    succinctness=float(self.ranks.succinctness[k]),
                    coverage=float(self.ranks.coverage[k]),
                    surprise=float(self.ranks.surprise[k]),
                    group=int(groups[k]),
                    _table=self.table,
                    _nulls=self.options.nulls,
                )
            )
        return found

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """A number per rule; rules over the same columns have the same one, numbered in order of their best rule."""
        return groups_of(self.space, self.boxes)

    def book(self, n: int | None = None) -> RuleBook:
        """The n best rules as a rule book of proposed rules; all of them and those that few pairs break by default.

        Each has the tolerance that lets today's rows pass, and no more. Rules over the same columns stand together.
        """
        from refute.language.rulebook import Dataset, Entry, Rule, RuleBook, Status, suggest_name
        from refute.language.rulebook.naming import distinct

        chosen = self._written(n)
        names = distinct(suggest_name(rule.constraint) for rule in chosen)
        rules = tuple(
            Rule(
                name=name,
                constraint=rule.constraint,
                tolerance=self.tolerance(rule),
                nulls=self.options.nulls,
                description=rule.sentence,
                status=Status.PROPOSED,
            )
            for name, rule in zip(names, chosen, strict=True)
        )
        entries = tuple(Entry.of(rule, default_nulls=self.options.nulls) for rule in rules)
        book = RuleBook(rules, entries, Dataset(nulls=self.options.nulls))
        return book if self.where is None else book.only_where(self.where, self.table.n_rows)

    def remarks(self, n: int | None = None) -> list[list[str]]:
        """What is said above each entry of the book."""
        chosen = self._written(n)
        found: list[list[str]] = []
        before: Discovered | None = None
        for rule in chosen:
            remark = []
            if rule.blame is not None and (before is None or before.blame is None):
                remark.append("Rules that only a few pairs of rows break:")
            elif before is None or before.group != rule.group:
                remark.append(f"About {', '.join(rule.constraint.columns)}:")
            broken = f"{rule.violations:,} violation{'s'[: rule.violations != 1]}"
            if rule.blame is not None:
                remark.append(f"{rule.blame:,} row{'s'[: rule.blame != 1]} to blame, {broken}")
            elif rule.violations:
                remark.append(f"{broken}; {self.options.measure.value} is {rule.error:.4%}")
            found.append(remark)
            before = rule
        return found

    def _written(self, n: int | None) -> list[Discovered]:
        """The rules of a book, those of one group together in the order of their best, then those that few break."""
        chosen = sorted(self.rules if n is None else self.top(n), key=lambda rule: rule.group)
        return chosen if n is not None else [*chosen, *self.almost]

    def tolerance(self, rule: Discovered) -> Tolerance:
        """What lets today's rows pass, and no more."""
        from refute.language.rulebook import Limit, Tolerance

        n = self.table.n_rows
        if rule.pairs:
            return Tolerance(rows=Limit.share(len({row for pair in rule.pairs for row in pair}), n))
        if rule.violations:
            every = n if rule.constraint.is_single_row else n * (n - 1)
            return Tolerance(violations=Limit.share(rule.violations, every))
        return Tolerance()

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
