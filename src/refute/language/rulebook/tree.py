"""A rule file as a tree of values that remember their lines, whether it came as YAML text or as plain Python data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as YamlNode

from refute.language.rulebook.problems import ProblemLog


@dataclass(frozen=True, slots=True)
class Node:
    """A value at a line: a scalar, a list of nodes, or a mapping of nodes with the line of each key."""

    value: object
    line: int | None
    key_lines: Mapping[str, int | None] | None = None

    def line_of(self, key: str) -> int | None:
        """The line a key of this mapping stands on."""
        return (self.key_lines or {}).get(key, self.line)

    @property
    def items(self) -> dict[str, Node]:
        """The nodes of a mapping by key; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def elements(self) -> list[Node]:
        """The nodes of a list; empty for anything else."""
        return self.value if isinstance(self.value, list) else []

    @property
    def kind(self) -> str:
        """What it is, in a word for a message."""
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return "a list"
        return "nothing" if self.value is None else f"{self.value!r}"


def read_yaml(text: str, log: ProblemLog) -> Node | None:
    """The tree of a YAML document; None, with the problem in `log`, when it is no YAML or empty."""
    yaml = YAML(typ="safe", pure=True)
    try:
        root = yaml.compose(text)
        return None if root is None else _Reader(text, yaml, log).node(root)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.context, error.problem) if part)
        log.add(f"not valid YAML: {message}", None if mark is None else mark.line + 1)
    except YAMLError as error:
        log.add(f"not valid YAML: {error}")
    return None


def from_plain(data: object) -> Node:
    """The tree of plain Python data, without lines."""
    if isinstance(data, Mapping):
        return Node({str(key): from_plain(value) for key, value in data.items()}, None)
    if isinstance(data, Sequence) and not isinstance(data, str):
        return Node([from_plain(value) for value in data], None)
    return Node(data, None)


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

    def node(self, node: YamlNode) -> Node:
        line = node.start_mark.line + 1
        if id(node) in self._open:
            self._log.add("this alias contains itself", line)
            return Node(None, line)
        self._open.add(id(node))
        try:
            return self._convert(node, line)
        finally:
            self._open.discard(id(node))

    def _convert(self, node: YamlNode, line: int) -> Node:
        if isinstance(node, MappingNode):
            return self._mapping(node, line)
        if isinstance(node, SequenceNode):
            return Node([self.node(child) for child in node.value], line)
        assert isinstance(node, ScalarNode)
        return Node(self._constructor.construct_object(node), line)

    def _mapping(self, node: MappingNode, line: int) -> Node:
        items: dict[str, Node] = {}
        lines: dict[str, int | None] = {}
        last: tuple[str, YamlNode] | None = None
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self._log.add("a key is a plain word", key_line)
                continue
            key = str(key_node.value)
            if last is not None and node.flow_style and self._continues(last[1], key_node, value_node):
                whole = self._text[last[1].start_mark.index : key_node.end_mark.index]
                items[last[0]] = Node(" ".join(whole.split()), items[last[0]].line)
                continue
            last = key, value_node
            if key in items:
                self._log.add(f"the key {key!r} is written twice, first on line {lines[key]}", key_line)
                continue
            items[key] = self.node(value_node)
            lines[key] = key_line
        return Node(items, line, lines)

    def _continues(self, before: YamlNode, key: ScalarNode, value: YamlNode) -> bool:
        """Whether a key without a colon follows a text without quotes."""
        plain = (
            isinstance(before, ScalarNode) and before.style is None and before.start_mark.index < key.start_mark.index
        )
        bare = isinstance(value, ScalarNode) and value.value == "" and value.style is None and key.style is None
        whole = not key.value.endswith(":")
        return plain and bare and whole and ":" not in self._text[key.end_mark.index : value.end_mark.index]
