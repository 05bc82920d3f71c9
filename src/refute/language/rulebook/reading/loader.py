"""Rule files: from a tree of values with lines to a rule book, with every mistake reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refute.errors import RuleError, nearest
from refute.language.parsing.parser import RuleKind, parse_condition
from refute.language.parsing.syntax import RuleSyntaxError
from refute.language.rulebook.book import Dataset, RuleBook
from refute.language.rulebook.entry import Entry
from refute.language.rulebook.reading.fields import BOOK_FIELDS, KIND_FIELDS, RULE_FIELDS, read_mapping
from refute.language.rulebook.reading.nodes import BookNode, from_plain, read_yaml
from refute.language.rulebook.reading.problems import ProblemLog
from refute.language.rulebook.rule import Rule

_Read = tuple[Entry, tuple[Rule, ...]]
_KINDS = tuple(field.key for field in KIND_FIELDS)


def book_from_yaml(text: str, source: str | None = None) -> RuleBook:
    """The rule book of a YAML text; `source` is the file's name for messages."""
    log = ProblemLog()
    root = read_yaml(text, log)
    if root is None and not log:
        log.add("The file is empty: it has no rules.")
    return _book(root, log, source)


def book_from_plain(data: Mapping[str, object], source: str | None = None) -> RuleBook:
    """The rule book of plain mappings and lists in the shape of the YAML file."""
    return _book(from_plain(data), ProblemLog(), source)


def _book(root: BookNode | None, log: ProblemLog, source: str | None) -> RuleBook:
    if root is None:
        log.raise_if_any(source)
        raise AssertionError("a tree is missing only with a problem")
    if _may_be_a_table(root):
        log.add("This is not a file of rules: it has neither `rules` nor a rule in each line.", root.line)
        log.raise_if_any(source)
    values = read_mapping(root, BOOK_FIELDS, log, "The rule file")
    dataset = Dataset(**_known(values.get("dataset")))
    nodes = values.get("rules", ())
    assert isinstance(nodes, list | tuple)
    if not nodes and isinstance(root.value, dict) and ("rules" in values or "rules" not in root.items):
        log.add("There are no rules: list them under `rules`.", root.line_of("rules"))
    read = [pair for number, node in enumerate(nodes, start=1) if (pair := _entry(node, number, log, dataset))]
    _check_names(nodes, log)
    if not log:
        _check_expanded(read, log)
    log.raise_if_any(source)
    return RuleBook(tuple(rule for _, rules in read for rule in rules), tuple(entry for entry, _ in read), dataset)


def _may_be_a_table(root: BookNode) -> bool:
    """Whether nothing at the top is what a rule file has, nor close to it: then nothing of it is shown."""
    if not isinstance(root.value, dict):
        return not isinstance(root.value, list)
    known = [field.key for field in BOOK_FIELDS]
    return bool(root.items) and not any(nearest(str(key), known) for key in root.items)


def _entry(node: BookNode, number: int, log: ProblemLog, dataset: Dataset) -> _Read | None:
    """The entry of one list item with its rules, or None with its problems noted."""
    name = node.items["name"].value if "name" in node.items else None
    owner = f"Rule {name!r}" if isinstance(name, str) and name.strip() else f"Rule number {number}"
    values = read_mapping(node, RULE_FIELDS, log, owner, inner=log.within(owner))
    if not isinstance(node.value, dict):
        return None
    if name is None:
        log.add(f"{owner} has no name.", node.line)
    written = [key for key in _KINDS if key in node.items]
    if len(written) != 1:
        found = f"It has {' and '.join(written)}." if written else "It has none."
        line = node.line_of(written[1]) if written else node.line
        log.add(f"{owner} needs exactly one of {', '.join(_KINDS)}. {found}", line)
        return None
    if written[0] not in values:
        return None
    options: dict[str, Any] = {key: value for key, value in values.items() if key not in _KINDS}
    entry = Entry(**{"name": "", **options}, kind=RuleKind(written[0]), source=str(values[written[0]]), line=node.line)
    try:
        return entry, entry.rules(dataset.nulls)
    except RuleError as error:
        is_where = isinstance(error, RuleSyntaxError) and error.text == entry.where != entry.source
        _note(error, owner, "where" if is_where else written[0], node, log)
    if entry.where is not None and not is_where:
        try:
            parse_condition(entry.where)
        except RuleError as error:
            _note(error, owner, "where", node, log)
    return None


def _note(error: RuleError, owner: str, key: str, node: BookNode, log: ProblemLog) -> None:
    """Notes what is wrong with the text of a key."""
    said = f"{key}: {error.problem}\n{error.excerpt}" if isinstance(error, RuleSyntaxError) else str(error)
    log.add(f"{owner}: {said}", node.line_of(key))


def _check_names(nodes: list[BookNode] | tuple[BookNode, ...], log: ProblemLog) -> None:
    first: dict[str, int | None] = {}
    for node in nodes:
        name = node.items["name"].value if "name" in node.items else None
        if not isinstance(name, str):
            continue
        if name in first:
            where = f", first on line {first[name]}" if first[name] is not None else ""
            log.add(f"The name {name!r} is used twice{where}.", node.line_of("name"))
        else:
            first[name] = node.line_of("name")


def _check_expanded(read: list[_Read], log: ProblemLog) -> None:
    """Notes names that two entries make: `a[b]` as written, and as the part of an entry `a` about column `b`."""
    taken: set[str] = set()
    for entry, rules in read:
        for rule in rules:
            if rule.name in taken:
                log.add(f"Rule {entry.name!r} expands to a rule {rule.name!r}, which already exists.", entry.line)
            taken.add(rule.name)


def _known(values: object) -> dict[str, Any]:
    return values if isinstance(values, dict) else {}
