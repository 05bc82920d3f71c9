"""What a change of rows did to the rules that a table obeys."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from refute.faults import needing
from refute.language.constraint import DenialConstraint
from refute.language.predicate import Predicate
from refute.language.render import render_english, render_text

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class _Changed:
    """A rule that came or went."""

    constraint: DenialConstraint

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return render_text(self.constraint)

    @property
    def sentence(self) -> str:
        """The rule in English."""
        return render_english(self.constraint)


@dataclass(frozen=True, slots=True)
class AddedRule(_Changed):
    """A rule that holds now and was none before.

    `refines` is the rule in whose place it came: that one was broken, and this asks for more. `generalises` are the
    rules that it makes superfluous: they asked for more than is needed now. Where a rule was not listed because it
    followed from others, both are empty.
    """

    refines: DenialConstraint | None = None
    generalises: tuple[DenialConstraint, ...] = ()

    def __str__(self) -> str:
        because = ""
        if self.refines is not None:
            because = f", which refines {render_text(self.refines)}"
        elif self.generalises:
            because = f", which generalises {'; '.join(map(render_text, self.generalises))}"
        return f"now holds: {self.text}{because}"


class WhyGone(Enum):
    """Why a rule is no longer listed."""

    BROKEN = "broken"
    FOLLOWS = "follows from others"
    TOO_FEW_ROWS = "fewer than two rows"  # of which every rule is true, and so none is one
    NOT_ASKED = "no longer asked"  # by the predicates that `refit()` chose


@dataclass(frozen=True, slots=True)
class RemovedRule(_Changed):
    """A rule that is no longer one, and `why`.

    `pair` are the keys of the rows s and t that broke it, or their numbers where rows have no key. It is None for a
    rule that still `holds`, but says nothing beside others: `follows` is one that it follows from, if that is known.
    It is None, too, where rows went and an error that is allowed is exceeded by pairs that were there before.
    `held` is the number of batches for which it held, the rows of the start included.
    """

    pair: tuple[Any, Any] | None = None
    follows: DenialConstraint | None = None
    held: int | None = None
    why: WhyGone = WhyGone.FOLLOWS

    @property
    def holds(self) -> bool:
        """Whether no rows break it, or no more than the error allows."""
        return self.why is not WhyGone.BROKEN

    def __str__(self) -> str:
        if self.why is WhyGone.TOO_FEW_ROWS:
            return f"no longer a rule, as there are fewer than two rows: {self.text}"
        if self.why is WhyGone.NOT_ASKED:
            return f"no longer asked: {self.text}"
        if self.pair is not None:
            return f"broken: {self.text}, by rows {self.pair[0]!r} and {self.pair[1]!r}"
        if not self.holds:
            return f"broken: {self.text}, by more pairs than the error allows"
        because = "" if self.follows is None else f" from {render_text(self.follows)}"
        return f"now follows{because or ' from others'}: {self.text}"


class RowCounts(NamedTuple):
    """How many rows a change inserted, deleted, and put in the place of others."""

    inserted: int = 0
    deleted: int = 0
    updated: int = 0


Told = tuple[list[AddedRule], list[RemovedRule]]
_SHOWN = 20  # rules in a notebook


class RuleChanges:
    """The rules that a change of rows added and removed, and what else there is to say.

    Rules are put into words when they are first asked for: there may be thousands, of which most are never read.
    `rows` says how many rows the change inserted, deleted and updated.
    """

    rows = RowCounts()

    def __init__(self, n_added: int, n_removed: int, told: Callable[[], Told], notes: Sequence[str] = ()) -> None:
        self.n_added = n_added
        self.n_removed = n_removed
        self.notes = tuple(notes)
        self._make = told

    @classmethod
    def of(
        cls, added: Sequence[AddedRule] = (), removed: Sequence[RemovedRule] = (), notes: Sequence[str] = ()
    ) -> RuleChanges:
        """Changes that are known in words."""
        return cls(len(added), len(removed), lambda: (list(added), list(removed)), notes)

    @classmethod
    def between(
        cls,
        before: Mapping[str, DenialConstraint],
        after: Mapping[str, DenialConstraint],
        asked: Container[Predicate],
        notes: Sequence[str],
    ) -> RuleChanges:
        """How two sets of rules of the same rows differ, by what they say; `asked` are the predicates of `after`."""
        added = [AddedRule(rule) for text, rule in after.items() if text not in before]
        gone = [rule for text, rule in before.items() if text not in after]
        whys = [WhyGone.FOLLOWS if all(one in asked for one in rule.predicates) else WhyGone.NOT_ASKED for rule in gone]
        return cls.of(added, [RemovedRule(rule, why=why) for rule, why in zip(gone, whys, strict=True)], notes)

    @cached_property
    def _told(self) -> Told:
        return self._make()

    @property
    def added(self) -> list[AddedRule]:
        """The rules that are new."""
        return self._told[0]

    @property
    def removed(self) -> list[RemovedRule]:
        """The rules that are no longer listed."""
        return self._told[1]

    @property
    def broken(self) -> list[RemovedRule]:
        """The rules that no longer hold."""
        return [rule for rule in self.removed if not rule.holds]

    def __iter__(self) -> Iterator[RemovedRule | AddedRule]:
        return iter([*self.removed, *self.added])

    def __bool__(self) -> bool:
        return bool(self.n_added or self.n_removed)

    def __str__(self) -> str:
        told = [*map(str, self.removed), *map(str, self.added), *self.notes]
        return "\n".join(told) or "No rule changed."

    def __repr__(self) -> str:
        return f"RuleChanges(+{self.n_added:,} -{self.n_removed:,})"

    def _repr_html_(self) -> str:
        from refute.display.markup import table_part

        changed = list(self)
        rows = [str(one).partition(": ")[::2] for one in changed[:_SHOWN]]
        return table_part(repr(self), ("change", "rule"), rows, more=max(len(changed) - _SHOWN, 0))

    def to_arrow(self) -> pa.Table:
        """One row per rule that came or went: what happened, the rule, its sentence, and the rows that broke it."""
        import pyarrow as pa

        pairs = [one.pair if isinstance(one, RemovedRule) else None for one in self]
        columns = {
            "change": ["added" if isinstance(one, AddedRule) else one.why.value for one in self],
            "rule": [one.text for one in self],
            "sentence": [one.sentence for one in self],
            "s": [None if pair is None else str(pair[0]) for pair in pairs],
            "t": [None if pair is None else str(pair[1]) for pair in pairs],
        }
        return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})

    def to_pandas(self) -> pandas.DataFrame:
        """What `to_arrow` gives, as a pandas DataFrame."""
        with needing("to_pandas()"):
            return self.to_arrow().to_pandas()
