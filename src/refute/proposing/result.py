"""Proposals as users see them: rules in words, with the rows to blame beside those that chance would blame."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from refute.discovery.result.discovery import Discovered, Discovery
from refute.display.markup import table_part
from refute.language.constraint import DenialConstraint
from refute.language.rulebook import Dataset, Entry, Rule, RuleBook, Status, Tolerance
from refute.language.rulebook.commented import Remarked
from refute.language.rulebook.naming import DistinctNames
from refute.proposing.candidates import Candidate
from refute.proposing.following import Head
from refute.proposing.scores import Figures
from refute.proposing.search import Heads

_MOST_TOGETHER = 100  # columns in one condition


class ProposedTable(Protocol):
    """The table of proposals, for what is asked of it later."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    def tolerance(self, rules: Sequence[Rule]) -> Tolerance:
        """The tolerance with which each of these rules passes, and no more."""

    def suspects(self, rules: Sequence[Rule]) -> Any:
        """The rows to blame, as `refute.suspects` gives them."""


@dataclass(frozen=True, slots=True, repr=False)
class Proposal:
    """One rule that the data speaks for: `blame` of its `support` rows would have to go, `chance` by chance.

    `members` are rules that say much the same, or follow from it. `tendency` tells that too much speaks against it to
    call it a rule.
    """

    candidate: Candidate
    members: tuple[Proposal, ...]
    tendency: bool
    rank: float
    _table: ProposedTable = field(repr=False, compare=False)

    @property
    def constraint(self) -> DenialConstraint:
        """The rule itself; the first one, where it stands for several."""
        return self.candidate.constraints[0]

    @property
    def kind(self) -> str:
        """Its shape in words: `key`, `functional dependency`, `order rule` and so on."""
        return self.candidate.shape.value

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return str(self.candidate)

    @property
    def sentence(self) -> str:
        """The rule in English."""
        return self.candidate.sentence

    @property
    def evidence(self) -> str:
        """What speaks for it: `33 of 966 rows break it, by chance 848 would`."""
        figures = self.candidate.figures
        blame = f"{figures.blame:,}" if figures.blame else "None"
        distinct = "distinct " if figures.distinct else ""
        rows = f"{blame} of {figures.rows:,} {distinct}rows break{'s' if figures.blame == 1 else ''} it"
        return rows if figures.chance is None else f"{rows}, by chance {round(figures.chance):,} would"

    @property
    def figures(self) -> Figures:
        """What was counted for it."""
        return self.candidate.figures

    @property
    def support(self) -> int:
        """How many rows meet its premise."""
        return self.figures.rows

    @property
    def blame(self) -> int:
        """The fewest rows to remove so that it holds."""
        return self.figures.blame

    @property
    def chance(self) -> float | None:
        """How many rows would have to go by chance; None where there is no chance to compare with."""
        return self.figures.chance

    @property
    def error(self) -> float:
        """The share of rows to blame."""
        return self.figures.error

    @property
    def score(self) -> float:
        """How sure it is that more than chance speaks for it, between 0 and 1."""
        return self.figures.score

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules it stands for, as `refute.check` takes them."""
        return self.candidate.entry("proposed").rules()

    @property
    def suspects(self) -> Any:
        """The rows to blame, with the values that they should have; found when asked for."""
        return self._table.suspects(self.rules)

    def __repr__(self) -> str:
        return f"Proposal({self.text!r}: {self.evidence})"

    def _repr_html_(self) -> str:
        return table_part(
            repr(self), ("rule", "says", "kind", "evidence"), [(self.text, self.sentence, self.kind, self.evidence)]
        )

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Proposals(Discovery):
    """The rules that the data speaks for, best first; `tendencies` are weaker: too many rows break them."""

    heads: Heads = field(repr=False)
    table: ProposedTable = field(repr=False)
    method: str = "propose"
    almost: tuple[Discovered, ...] = ()
    where: str | None = None
    name: str | None = None
    time: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC), compare=False)

    @property
    def n_rows(self) -> int:
        """How many rows were searched."""
        return self.table.n_rows

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether the search came to its end."""
        return self.heads.complete

    @property
    def seconds(self) -> float:  # type: ignore[override]
        """How long the search took."""
        return self.heads.seconds

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What was not searched, or counted otherwise."""
        return self.heads.notes

    @cached_property
    def rules(self) -> list[Proposal]:
        """The rules, best first."""
        return [self._proposal(head, tendency=False) for head in self.heads.rules]

    @cached_property
    def tendencies(self) -> list[Proposal]:
        """What holds more often than by chance, and is broken too often to be a rule; best first."""
        return [self._proposal(head, tendency=True) for head in self.heads.tendencies]

    def top(self, n: int) -> list[Proposal]:
        """The n best rules."""
        return self.rules[:n]

    def each(self, n: int | None = None) -> Iterator[Proposal]:
        """The n best rules (all of them by default)."""
        return iter(self.rules[:n])

    def __len__(self) -> int:
        return len(self.heads.rules)

    def __repr__(self) -> str:
        return f"Proposals({len(self)} rules, {len(self.heads.tendencies)} tendencies)"

    def book(self, n: int | None = None) -> RuleBook:
        """The n best rules (all by default), each with the tolerance that lets today's rows pass, and no more."""
        written = tuple(entry for _, several in self.written(n) for entry, _ in several)
        return RuleBook(tuple(rule for entry in written for rule in entry.rules()), written, self.dataset)

    @property
    def dataset(self) -> Dataset:
        """The settings of the book of its rules."""
        return Dataset()

    def written(self, n: int | None = None, *, as_ranked: bool = True) -> Iterator[tuple[Proposal, list[Remarked]]]:
        """The rules with their entries in the book, made as they are asked for: above each what speaks for it, and the
        rules that stand under it, of which the most general one is written."""
        names = DistinctNames()
        for rule in self.each(n):
            under = () if _together(rule) else tuple(f"with it: {one.text}" for one in rule.members)
            remarks = [f"When proposed: {rule.evidence}.", *under]
            entries = [self._written(part, names.of(part.name), others) for part, others in self._parts(rule)]
            yield rule, [(entry, remarks) for entry in entries]

    def _written(self, part: Candidate, name: str, others: Sequence[str]) -> Entry:
        """The entry as it is written, which says the same of other columns. Several rules in one entry have sentences
        of their own."""
        entry = part.entry(name, others)
        rules = entry.rules()
        said = part.sentence if len(rules) == 1 else ""
        entry = replace(entry, tolerance=self.table.tolerance(rules), description=said, status=Status.PROPOSED)
        return entry if self.where is None else entry.only_where(self.where, self.table.n_rows)

    def _parts(self, proposal: Proposal) -> list[tuple[Candidate, tuple[str, ...]]]:
        """The candidate with the columns that its entry also names; or what it stands for, where each part must be
        given a tolerance of its own, or the columns are more than one condition may name."""
        one = proposal.candidate
        together = _together(proposal)
        if one.condition is not None and len(together) >= _MOST_TOGETHER:
            every = [one, *(member.candidate for member in proposal.members)]
            batches = (every[first : first + _MOST_TOGETHER] for first in range(0, len(every), _MOST_TOGETHER))
            return [(batch[0], tuple(other.right[0] for other in batch[1:])) for batch in batches]
        parts = one.parts
        if len(parts) > 1 and len({self.table.tolerance(part.entry("").rules()) for part in parts}) > 1:
            return [(part, together) for part in parts]
        return [(one, together)]

    def to_arrow(self, n: int | None = None) -> pa.Table:
        """The n best rules (all by default), one per row; without `n`, tendencies after them."""
        chosen = [*self.rules, *self.tendencies] if n is None else self.top(n)
        return pa.table({name: pa.array([read(one) for one in chosen], kind) for name, kind, read in _COLUMNS})

    def _proposal(self, head: Head, *, tendency: bool) -> Proposal:
        members = tuple(Proposal(one, (), tendency, head.rank, self.table) for one in head.members)
        return Proposal(head.candidate, members, tendency, head.rank, self.table)


def _together(proposal: Proposal) -> tuple[str, ...]:
    """The columns that are written in one entry with the first one, as each says little alone."""
    return tuple(one.candidate.right[0] for one in proposal.members) if proposal.candidate.is_plain else ()


_COLUMNS: Sequence[tuple[str, pa.DataType, Callable[[Proposal], object]]] = (
    ("rule", pa.string(), lambda one: one.text),
    ("kind", pa.string(), lambda one: one.kind),
    ("sentence", pa.string(), lambda one: one.sentence),
    ("support", pa.int64(), lambda one: one.support),
    ("blame", pa.int64(), lambda one: one.blame),
    ("chance", pa.float64(), lambda one: one.chance),
    ("error", pa.float64(), lambda one: one.error),
    ("score", pa.float64(), lambda one: one.score),
    ("tendency", pa.bool_(), lambda one: one.tendency),
    ("members", pa.list_(pa.string()), lambda one: [member.text for member in one.members]),
)
