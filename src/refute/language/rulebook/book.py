"""A rule book: named rules over one table, in the order they were written."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from refute.display import in_one_line
from refute.display.plurals import plural
from refute.errors import OptionError, RuleError
from refute.faults import needing, unknown_choice, unknown_rule
from refute.language.addresses import local_path
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.parsing.parser import RuleKind
from refute.language.rulebook.dumping import yaml_text
from refute.language.rulebook.entry import Entry
from refute.language.rulebook.expand import classify
from refute.language.rulebook.naming import distinct, slug, suggest_name
from refute.language.rulebook.reading.fields import VERSION
from refute.language.rulebook.rule import Rule, nulls_of
from refute.writing import write_text

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

_NAMED, _SHOWN = 5, 50  # rules in one line, and in a notebook


@dataclass(frozen=True, slots=True)
class Dataset:
    """Settings for the whole table: the columns that identify a row, and how nulls compare."""

    key: tuple[str, ...] = ()
    nulls: Nulls = Nulls.SQL


@dataclass(frozen=True, slots=True, repr=False)
class RuleBook:
    """Rules under distinct names. `entries` are the lines as written; one may stand for several rules."""

    rules: tuple[Rule, ...]
    entries: tuple[Entry, ...]
    dataset: Dataset = Dataset()
    version: int = VERSION

    def __post_init__(self) -> None:
        if len({rule.name for rule in self.rules}) < len(self.rules):
            twice = sorted(name for name, uses in Counter(self.names).items() if uses > 1)
            raise RuleError(f"Two rules have the same name: {', '.join(map(repr, twice))}.", rules=tuple(twice))

    @classmethod
    def of(cls, rules: object, *, taken: Collection[str] = ()) -> RuleBook:
        """The rule book of a rule's text, a constraint, a rule, the path of a rule file, or a list of these.

        Rules without a name get one that says what they are about and is not taken yet.
        """
        if isinstance(rules, RuleBook):
            return rules
        if isinstance(rules, os.PathLike | Mapping) or (isinstance(rules, str) and is_file_like(rules)):
            from refute.language.rulebook.reading.load import (
                load_rules,  # it knows every format, and these know rule books
            )

            return load_rules(rules)
        if isinstance(rules, str):
            return _of_items((rules,), taken) if taken else _of_text(rules)
        return _of_items(rules if isinstance(rules, Iterable) else (rules,), taken)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str | int) -> Rule:
        if isinstance(name, int):
            return self.rules[name]
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(str(unknown_rule(name, self.names, "rule book")))

    def __contains__(self, name: object) -> bool:
        return any(name in (rule.name, rule) for rule in self.rules)

    def __repr__(self) -> str:
        names = ", ".join(map(in_one_line, self.names[:_NAMED]))
        more = f" and {len(self) - _NAMED:,} more" if len(self) > _NAMED else ""
        return f"RuleBook({plural(len(self), 'rule')}: {names}{more})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"  {in_one_line(f'{rule.name}: {rule.sentence}')}" for rule in self)])

    def _repr_html_(self) -> str:
        from refute.display.markup import table_part

        rows = [(rule.name, rule.sentence, rule.severity.value, str(rule.tolerance)) for rule in self.rules[:_SHOWN]]
        return table_part(repr(self), ("rule", "says", "severity", "tolerance"), rows, max(len(self) - _SHOWN, 0))

    def to_arrow(self) -> pa.Table:
        """One row per rule."""
        import pyarrow as pa

        columns = {
            "rule": [rule.name for rule in self],
            "kind": [rule.kind.value for rule in self],
            "sentence": [rule.sentence for rule in self],
            "constraint": [rule.text for rule in self],
            "severity": [rule.severity.value for rule in self],
            "tolerance": [str(rule.tolerance) if rule.tolerance else None for rule in self],
            "status": [rule.status.value for rule in self],
            "description": [rule.description for rule in self],
        }
        plain = {name: pa.array(values, pa.string()) for name, values in columns.items()}
        return pa.table({**plain, "tags": pa.array([list(rule.tags) for rule in self], pa.list_(pa.string()))})

    def to_pandas(self) -> pandas.DataFrame:
        """What `to_arrow` gives, as a pandas DataFrame."""
        with needing("to_pandas()"):
            return self.to_arrow().to_pandas()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules, in order."""
        return tuple(rule.name for rule in self.rules)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row; empty if the book names none."""
        return self.dataset.key

    def with_nulls(self, nulls: Nulls) -> RuleBook:
        """The book with every rule read in this null mode, whatever the rules say themselves."""
        rules = tuple(replace(rule, nulls=nulls_of(rule.kind) or nulls) for rule in self.rules)
        entries = tuple(replace(entry, nulls=None) for entry in self.entries)
        return RuleBook(rules, entries, replace(self.dataset, nulls=nulls), self.version)

    def select(self, names: Collection[str] = (), tags: Collection[str] = ()) -> RuleBook:
        """The rules with one of these names, theirs or their entry's, and with one of these tags; without any, all.

        Raises OptionError for a name or a tag that no rule has, and where no rule has both.
        """
        own = self._names_of_entries()
        owners = {name: entry.name for entry, names in zip(self.entries, own, strict=True) for name in names}
        known = dict.fromkeys((*owners.values(), *self.names))
        for name in names:
            if name not in known:
                raise unknown_rule(name, list(known), "rule book")
        tagged = dict.fromkeys(tag for rule in self.rules for tag in rule.tags)
        for tag in tags:
            if not tagged:
                raise OptionError(f"No rule has a tag, so none has {tag!r}.", option="tags", value=tag)
            if tag not in tagged:
                raise unknown_choice("tags", tag, tagged)
        chosen = tuple(
            rule
            for rule in self.rules
            if (not names or rule.name in names or owners.get(rule.name) in names)
            and (not tags or not set(tags).isdisjoint(rule.tags))
        )
        if not chosen:
            raise OptionError("No rule has one of the names and one of the tags.", rules=self.names)
        if len(chosen) == len(self.rules):
            return self
        names_left = {rule.name for rule in chosen}
        entries: list[Entry] = []
        for entry, names_of_entry in zip(self.entries, own, strict=True):
            if names_left.issuperset(names_of_entry):
                entries.append(entry)
            elif not names_left.isdisjoint(names_of_entry):
                kept = [rule for rule in entry.rules(self.dataset.nulls) if rule.name in names_left]
                entries += [Entry.of(rule, default_nulls=self.dataset.nulls) for rule in kept]
        return replace(self, rules=chosen, entries=tuple(entries))

    def _names_of_entries(self) -> list[tuple[str, ...]]:
        """The names of the rules of each entry; only the text of one that stands for several is read again."""
        known = set(self.names)
        return [
            (entry.name,) if entry.name in known else tuple(rule.name for rule in entry.rules(self.dataset.nulls))
            for entry in self.entries
        ]

    def within(self, folder: str) -> RuleBook:
        """The book that looks for the tables its rules name in a folder: that of the file it was read from."""
        if not any(entry.kind is RuleKind.REFERENCES for entry in self.entries):
            return self
        entries = tuple(replace(entry, folder=folder) for entry in self.entries)
        rules = tuple(rule for entry in entries for rule in entry.rules(self.dataset.nulls))
        return replace(self, rules=rules, entries=entries)

    def to_plain(self) -> dict[str, object]:
        """The book as plain mappings and lists, in the shape of its YAML."""
        dataset: dict[str, object] = {}
        if self.dataset.key:
            dataset["key"] = list(self.dataset.key)
        if self.dataset.nulls is not Nulls.SQL:
            dataset["nulls"] = self.dataset.nulls.value
        head: dict[str, object] = {"version": self.version, **({"dataset": dataset} if dataset else {})}
        return {**head, "rules": [entry.plain() for entry in self.entries]}

    def to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """The book as YAML text, also written to `path` if given."""
        text = yaml_text(self.to_plain())
        if path is not None:
            write_text(local_path(path), text)
        return text


def is_file_like(text: str) -> bool:
    """Whether a text is meant as a path: one line with the suffix of a rule file or table, or the name of a file."""
    if "\n" in text or len(text) > _LONGEST_PATH or text.startswith(_RULE_STARTS):
        return False
    return text.endswith(_SUFFIXES) or os.path.exists(text) or (names_table(text) and len(text.split()) == 1)


def names_table(text: str) -> bool:
    """Whether a path is that of a table; with .json, which rules have too, what the file holds decides."""
    return _OF_TABLES.search(text) is not None


@dataclass(frozen=True, slots=True)
class _NamelessRule:
    """A rule to be, whose name may still change."""

    name: str
    named: bool
    make: Callable[[str], tuple[Entry, tuple[Rule, ...]]]


def _drafts(item: object) -> list[_NamelessRule]:
    if isinstance(item, Rule):
        return [_NamelessRule(item.name, True, lambda _: (Entry.of(item), (item,)))]
    if isinstance(item, DenialConstraint):
        return [_NamelessRule(suggest_name(item), False, lambda name: _of_constraint(item, name))]
    if isinstance(item, str) and not is_file_like(item):
        kind, source = classify(item)
        entry = Entry(name="rule", kind=kind, source=source)
        rules = entry.rules()
        if len(rules) > 1 and not kind.adds:
            return [draft for rule in rules for draft in _drafts(rule.constraint)]
        columns = dict.fromkeys(name for rule in rules for name in rule.constraint.columns)
        name = slug((*columns, kind.value)) if kind.adds else suggest_name(rules[0].constraint)
        return [_NamelessRule(name, False, lambda name: _of_entry(replace(entry, name=name)))]
    if isinstance(item, RuleBook | str | os.PathLike | Mapping):
        book = RuleBook.of(item)
        return [_NamelessRule(entry.name, True, _keep(entry, book.dataset.nulls)) for entry in book.entries]
    raise RuleError(f"Expected a rule, its text or a rule file, not {type(item).__name__}.", type=type(item).__name__)


def _of_constraint(constraint: DenialConstraint, name: str) -> tuple[Entry, tuple[Rule, ...]]:
    entry = Entry.of(Rule(name=name, constraint=constraint))
    return entry, (Rule(name=name, constraint=constraint, kind=entry.kind, source=entry.source),)


def _of_entry(entry: Entry, nulls: Nulls = Nulls.SQL) -> tuple[Entry, tuple[Rule, ...]]:
    return entry, entry.rules(nulls)


def _keep(entry: Entry, nulls: Nulls) -> Callable[[str], tuple[Entry, tuple[Rule, ...]]]:
    explicit = replace(entry, nulls=entry.nulls or nulls) if nulls is not Nulls.SQL else entry
    return lambda _: _of_entry(explicit)


_LONGEST_PATH = 1000
_RULE_STARTS = ("not (", "not(")
_OF_TABLES = re.compile(
    r"\.(csv|tsv|jsonl|ndjson|parquet|orc|arrow|feather|xlsx?)(\.(gz|bz2|zst|lz4))?$", re.IGNORECASE
)
_SUFFIXES = (".yaml", ".yml", ".json", ".txt", ".dc", ".rules")


@lru_cache(maxsize=256)
def _of_text(text: str) -> RuleBook:
    return _of_items((text,))


def _of_items(items: Iterable[object], others: Iterable[str] = ()) -> RuleBook:
    drafts = [draft for item in items for draft in _drafts(item)]
    if not drafts:
        raise RuleError("There are no rules.")
    taken = {draft.name for draft in drafts if draft.named}.union(others)
    renamed = iter(distinct((draft.name for draft in drafts if not draft.named), taken))
    made = [draft.make(draft.name if draft.named else next(renamed)) for draft in drafts]
    return RuleBook(tuple(rule for _, part in made for rule in part), tuple(entry for entry, _ in made))
