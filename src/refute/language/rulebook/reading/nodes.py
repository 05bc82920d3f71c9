"""A rule file as a tree of values that remember their lines, whether it came as YAML text or as plain Python data."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as YamlNode
from ruamel.yaml.reader import ReaderError

from refute.errors import RuleError
from refute.language.predicate import HALF_A_CHARACTER, MAX_DIGITS, TOO_MANY_DIGITS, beyond_floats
from refute.language.rulebook.reading.problems import ProblemLog
from refute.language.rulebook.reading.yaml_words import explained

_LEADING_ZERO = re.compile(r"[-+]?0[\d_]+")
_MAX_DEPTH = 50
_TOO_DEEP = f"This is nested deeper than {_MAX_DEPTH} levels."
_MAX_GROWTH = 10
_ALWAYS_ALLOWED = 10_000
_KINDS = {"int": "whole number", "float": "number", "bool": "boolean", "timestamp": "date", "binary": "text in base 64"}


@dataclass(frozen=True, slots=True)
class BookNode:
    """A value at a line: a scalar, a list of nodes, or a mapping of nodes with the line of each key."""

    value: object
    line: int | None
    key_lines: Mapping[str, int | None] | None = None

    def line_of(self, key: str) -> int | None:
        """The line a key of this mapping stands on."""
        return (self.key_lines or {}).get(key, self.line)

    @property
    def items(self) -> dict[str, BookNode]:
        """The nodes of a mapping by key; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def elements(self) -> list[BookNode]:
        """The nodes of a list; empty for anything else."""
        return self.value if isinstance(self.value, list) else []

    @property
    def kind(self) -> str:
        """What it is, in a word for a message."""
        if isinstance(self.value, dict):
            return "a mapping" if self.value else "an empty mapping"
        if isinstance(self.value, list):
            return "a list" if self.value else "an empty list"
        if isinstance(self.value, dt.date):
            return f"the date {self.value}"
        return "nothing" if self.value is None else f"{self.value!r}"


def read_yaml(text: str, log: ProblemLog) -> BookNode | None:
    """The tree of a YAML document; None, with the problem in `log`, when it is not YAML or empty."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _ShallowComposer
    yaml.composer.warn_double_anchors = False
    try:
        root = yaml.compose(text)
        return None if root is None else _Reader(text, yaml, log).node(root)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        log.add(f"This is not valid {_written_as(text)}: {explained(error, text)}", line)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        log.add(f"This is not valid {_written_as(text)}: {explained(error, text)}", line)
    except YAMLError as error:
        log.add(f"This is not valid {_written_as(text)}: {explained(error, text)}")
    return None


def _written_as(text: str) -> str:
    """What whoever wrote the text took it for."""
    return "JSON or YAML" if text.lstrip("\ufeff \t\r\n").startswith("{") else "YAML"


def from_plain(data: object) -> BookNode:
    """The tree of plain Python data, without lines; raises RuleError for what no file could hold."""
    return _from_plain(data, 0, {})


def _from_plain(data: object, depth: int, read: dict[int, BookNode]) -> BookNode:
    if depth > _MAX_DEPTH:
        raise RuleError(_TOO_DEEP, most=_MAX_DEPTH)
    if _is_too_long(data):
        raise RuleError(TOO_MANY_DIGITS, most=MAX_DIGITS)
    if isinstance(data, str):
        whole = joined_halves(data)
        if whole is None:
            raise RuleError(HALF_A_CHARACTER, text=data)
        return BookNode(whole, None)
    if not isinstance(data, Mapping | Sequence) or isinstance(data, bytes):
        return BookNode(data, None)
    if id(data) not in read:
        if isinstance(data, Mapping):
            read[id(data)] = BookNode(
                {str(key): _from_plain(value, depth + 1, read) for key, value in data.items()}, None
            )
        else:
            read[id(data)] = BookNode([_from_plain(value, depth + 1, read) for value in data], None)
    return read[id(data)]


class _ShallowComposer(Composer):
    """Ruamel's own, which calls itself for each level, up to a depth that no rule file has."""

    _depth = 0

    def compose_node(self, parent: object, index: object) -> Any:
        if self._depth > _MAX_DEPTH:
            raise ComposerError(None, None, _TOO_DEEP, self.loader.parser.peek_event().start_mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


class _Reader:
    """Turns YAML nodes into ours. Duplicate keys are noted, not merged; an alias inside itself is cut off.

    A text with a comma inside curly brackets, `{description: One zip, one city.}`, is to YAML a text and a key without
    a value. Nobody means that, so the key is read as the rest of the text.
    """

    def __init__(self, text: str, yaml: YAML, log: ProblemLog) -> None:
        self._text = text
        self._constructor = yaml.constructor
        self._log = log
        self._open: set[int] = set()
        self._read: dict[int, BookNode] = {}  # by node: an alias is the node it stands for, and is read once
        self._sizes: dict[int, int] = {}

    def node(self, node: YamlNode) -> BookNode:
        line = node.start_mark.line + 1
        if id(node) in self._open:
            self._log.add("This alias contains itself.", line)
            return BookNode(None, line)
        if id(node) not in self._read:
            self._open.add(id(node))
            self._read[id(node)] = self._convert(node, line)
            self._open.discard(id(node))
            self._sizes[id(node)] = self._size(node)
        return self._read[id(node)]

    def _size(self, node: YamlNode) -> int:
        """How long the node would be with all aliases written out; raises an error when that is beyond measure."""
        parts = chain.from_iterable(node.value) if isinstance(node, MappingNode) else node.value
        if isinstance(node, ScalarNode):
            return 1 + len(node.value)
        found = 1 + sum(self._sizes.get(id(part), 1) for part in parts)
        if found > _MAX_GROWTH * len(self._text) + _ALWAYS_ALLOWED:
            problem = f"The aliases here expand to more than {_MAX_GROWTH} times the size of the file."
            raise ComposerError(None, None, problem, node.start_mark)
        return found

    def _convert(self, node: YamlNode, line: int) -> BookNode:
        if isinstance(node, MappingNode):
            return self._mapping(node, line)
        if isinstance(node, SequenceNode):
            return BookNode([self.node(child) for child in node.value], line)
        assert isinstance(node, ScalarNode)
        return BookNode(self._scalar(node, line), line)

    def _scalar(self, node: ScalarNode, line: int) -> object:
        """The value of a word or number; a text where it is not what it is said or seems to be."""
        try:
            value = self._constructor.construct_object(node)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):  # each scalar type has its own
            kind = _KINDS.get(str(node.tag).rpartition(":")[2], "value of its type")
            if len(node.value) > MAX_DIGITS:
                self._log.add(TOO_MANY_DIGITS, line)
            else:
                self._log.add(f"{node.value!r} is not a {kind}: put it in quotes if it is text.", line)
            return node.value
        if _is_too_long(value):
            self._log.add(TOO_MANY_DIGITS, line)
            return node.value
        if isinstance(value, int) and _LEADING_ZERO.fullmatch(node.value):
            self._log.add(f"{node.value} would lose its leading zero as a number: put it in quotes.", line)
        if isinstance(value, float) and math.isinf(value) and "inf" not in node.value.lower():
            self._log.add(beyond_floats(node.value), line)
        return self._whole(value, line) if isinstance(value, str) else value

    def _whole(self, text: str, line: int) -> str:
        """The text with characters that are spelled as two halves, as in JSON, put together."""
        found = joined_halves(text)
        if found is None:
            self._log.add(HALF_A_CHARACTER, line)
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return found

    def _mapping(self, node: MappingNode, line: int) -> BookNode:
        items: dict[str, BookNode] = {}
        lines: dict[str, int | None] = {}
        last: tuple[str, YamlNode] | None = None
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self._log.add("A key must be a plain word.", key_line)
                continue
            key = self._whole(str(key_node.value), key_line)
            if last is not None and node.flow_style and self._continues(last[1], key_node, value_node):
                whole = self._text[last[1].start_mark.index : key_node.end_mark.index]
                items[last[0]] = BookNode(" ".join(whole.split()), items[last[0]].line)
                continue
            last = key, value_node
            if key in items:
                self._log.add(f"The key {key!r} is written twice, first on line {lines[key]}.", key_line)
                continue
            items[key] = self.node(value_node)
            lines[key] = key_line
        return BookNode(items, line, lines)

    def _continues(self, before: YamlNode, key: ScalarNode, value: YamlNode) -> bool:
        """Whether a key without a colon follows a text without quotes."""
        plain = (
            isinstance(before, ScalarNode) and before.style is None and before.start_mark.index < key.start_mark.index
        )
        bare = isinstance(value, ScalarNode) and value.value == "" and value.style is None and key.style is None
        whole = not key.value.endswith(":")
        return plain and bare and whole and ":" not in self._text[key.end_mark.index : value.end_mark.index]


def joined_halves(text: str) -> str | None:
    """The text with each character that is spelled as two halves put together; None where a half is alone."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return None


def _is_too_long(value: object) -> bool:
    """Whether Python could not even show it."""
    return isinstance(value, int) and abs(value) >= 10**MAX_DIGITS
